"""What a source says of itself is true after whatever happened to it: held against a small model of it."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from copydesk.desk import Desk
from copydesk.model.run import RunRequest
from copydesk.model.source import Health, Source
from desk_fixtures import NOW, ONE, TWO, Watch, Web, add, change, entry, feed, open_at, rows

HOURS = (1, 30, 24 * 16, 24 * 70)
happening = st.tuples(
    st.sampled_from(
        ["news", "news", "same", "empty", "404", "410", "500", "429", "cut", "html", "delete", "move", "off"]
    ),
    st.sampled_from(["run", "run", "due"]),
    st.sampled_from(HOURS),
    st.integers(0, 3),
)


class Modelled:
    """What should be known of a source."""

    def __init__(self, made: datetime) -> None:
        self.items: set[str] = set()
        self.since = made
        self.forget()

    def forget(self) -> None:
        """It is read from the start."""
        self.last_fetch: datetime | None = None
        self.last_new: datetime | None = None
        self.ok = False
        self.fails = 0
        self.kind: str | None = None

    def fetched(self, kind: str, now: datetime, fresh: set[str]) -> None:
        """A fetch ended like this."""
        self.last_fetch = now
        if kind in {"news", "same", "empty"}:
            self.ok, self.fails, self.kind = True, 0, None
            self.last_new = now if fresh - self.items else self.last_new
            self.items |= fresh
            return
        self.kind = kind
        self.fails += kind != "429"

    def health(self, home: Path, source_id: str, now: datetime) -> Health:
        """As decisions say: the words of the interface, not those of the code."""
        if self.kind in {"404", "410"} or self.fails >= 3:
            return Health.ERROR
        if self.kind is not None:
            return Health.DEGRADED
        if not self.ok:
            return Health.UNKNOWN
        assert self.last_fetch is not None
        found = rows(home, "SELECT published FROM item WHERE source_id = ? ORDER BY published DESC LIMIT 50", source_id)
        times = [int(str(row[0])) / 1e6 for row in found]
        gap = median(later - sooner for later, sooner in pairwise(times)) if len(times) > 1 else 0
        silent = (self.last_fetch - (self.last_new or self.since)).total_seconds()
        return Health.STALE if silent > max(4 * gap, 14 * 86_400) else Health.HEALTHY


class Life:
    """A source at ONE and a good one at TWO, and what happens to the first."""

    def __init__(self, home: Path) -> None:
        self.home, self.web, self.watch = home, Web(), Watch()
        self.told: list[tuple[int, datetime]] = []
        self.web.put(TWO, feed(entry(9_000)))
        self.url = ONE

    async def live(self, steps: list[Any]) -> None:
        async with open_at(self.home, self.web, self.watch) as desk:
            await add(desk, TWO)
            source = await add(desk, self.url)
            model = Modelled(self.watch.now)
            for what, how, hours, count in steps:
                self.watch.forward(hours * 3600)
                if what == "delete":
                    await desk.sources.delete(source.id)
                    assert rows(self.home, "SELECT 1 FROM item WHERE source_id = ?", source.id) == []
                    source, model = await add(desk, self.url), Modelled(self.watch.now)
                elif what == "move":
                    self.url = self.url + "1"
                    await desk.sources.update(source.id, {"url": self.url}, test=False)
                    model.forget()
                    model.since = self.watch.now
                elif what == "off":
                    self.lose_an_item(source, model)
                else:
                    await self.fetch(desk, model, what, how, count)
                found = await desk.sources.get(source.id)
                self.check(found, model)

    def lose_an_item(self, source: Source, model: Modelled) -> None:
        """Somebody deletes an item with a shell."""
        for (ident,) in rows(self.home, "SELECT ident FROM item WHERE source_id = ? LIMIT 1", source.id):
            change(self.home, "DELETE FROM item WHERE source_id = ? AND ident = ?", source.id, ident)
            model.items.discard(str(ident))

    async def fetch(self, desk: Desk, model: Modelled, what: str, how: str, count: int) -> None:
        fresh = self.answer(what, count)
        before = self.web.urls.count(self.url)
        await desk.pipeline.run(None if how == "run" else RunRequest(due=True))
        if self.web.urls.count(self.url) > before:
            model.fetched(what, self.watch.now, fresh)

    def answer(self, what: str, count: int) -> set[str]:
        """Put what the source answers; the ids of its entries."""
        now = self.watch.now
        if what == "news":
            self.told += [(len(self.told) + number, now) for number in range(count)]
        if what in {"news", "same"}:
            entries = [entry(number, now=when, hours=1) for number, when in self.told]
            self.web.put(self.url, feed(*entries))
            return {f"story-{number}" for number, _ in self.told}
        if what == "empty":
            self.web.put(self.url, feed())
        elif what == "cut":
            self.web.cut(self.url)
        elif what == "html":
            self.web.put(self.url, "<html><body/></html>")
        elif what == "429":
            self.web.fail(self.url, 429, retry_after="60")
        else:
            self.web.fail(self.url, int(what))
        return set()

    def check(self, found: Source, model: Modelled) -> None:
        ((count,),) = rows(self.home, "SELECT count(*) FROM item WHERE source_id = ?", found.id)
        assert found.item_count == count == len(model.items)
        assert found.last_fetch == model.last_fetch
        assert found.fail_count == model.fails
        assert (found.last_error is None) == (model.kind is None)
        if model.kind is None or model.last_fetch is not None:
            assert found.health == model.health(self.home, found.id, self.watch.now)


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.lists(happening, max_size=10))
@example([("news", "run", 24 * 16, 1), ("news", "run", 24 * 16, 1), ("same", "run", 24 * 60, 0)])
@example([("news", "run", 24 * 16, 1), ("news", "run", 24 * 16, 1), ("same", "run", 24 * 70, 0)])
@example([("500", "run", 30, 0), ("cut", "run", 30, 0), ("429", "run", 30, 0), ("html", "run", 30, 0)])
def test_its_figures_and_its_health_are_true_after_whatever_happened(steps: list[Any]) -> None:
    async def run() -> None:
        with TemporaryDirectory() as folder:
            await Life(Path(folder)).live(steps)

    asyncio.run(run())


async def test_a_source_that_nobody_looked_at_is_not_called_stale(tmp_path: Path) -> None:
    # That nothing new came is known only to whoever looked: health is that of the last fetch, which stands beside it.
    web, watch = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, watch) as desk:
        source = await add(desk)
        await desk.pipeline.run()
        watch.forward(40 * 86_400)
        unseen = await desk.sources.get(source.id)
        await desk.pipeline.run()
        seen = await desk.sources.get(source.id)

    assert (unseen.health, unseen.last_fetch) == (Health.HEALTHY, NOW)
    assert (seen.health, seen.last_fetch) == (Health.STALE, NOW + timedelta(days=40))


async def test_a_source_that_never_brought_anything_gets_stale_too(tmp_path: Path) -> None:
    web, watch, seen = Web(), Watch(), []
    web.put(ONE, feed())
    async with open_at(tmp_path, web, watch) as desk:
        source = await add(desk)
        for days in (0, 14, 1):
            watch.forward(days * 86_400)
            await desk.pipeline.run()
            seen.append((await desk.sources.get(source.id)).health)

    assert seen == [Health.HEALTHY, Health.HEALTHY, Health.STALE]
