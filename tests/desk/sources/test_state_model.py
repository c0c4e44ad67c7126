"""Tests for source state after random events, compared with a small model."""

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
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    open_desk_at,
    query_db,
)
from sampling import sample_size

HOURS = (1, 30, 24 * 16, 24 * 70)
event_strategy = st.tuples(
    st.sampled_from(
        ["news", "news", "same", "empty", "404", "410", "500", "429", "cut", "html", "delete", "move", "off"]
    ),
    st.sampled_from(["run", "run", "due"]),
    st.sampled_from(HOURS),
    st.integers(0, 3),
)


class SourceModel:
    """The expected state of a source."""

    def __init__(self, created_at: datetime) -> None:
        self.items: set[str] = set()
        self.since = created_at
        self.forget()

    def forget(self) -> None:
        """Reset the fetch state, as after a change of URL."""
        self.last_fetch: datetime | None = None
        self.last_new: datetime | None = None
        self.ok = False
        self.fails = 0
        self.kind: str | None = None

    def fetched(self, kind: str, now: datetime, fresh: set[str]) -> None:
        """Record a fetch that ended with `kind` at `now`; `fresh` holds the ids in its feed."""
        self.last_fetch = now
        if kind in {"news", "same", "empty"}:
            self.ok, self.fails, self.kind = True, 0, None
            self.last_new = now if fresh - self.items else self.last_new
            self.items |= fresh
            return
        self.kind = kind
        self.fails += kind != "429"

    def health(self, home: Path, source_id: str, now: datetime) -> Health:
        """Return the health that the interface documents, computed independently of the code."""
        if self.kind in {"404", "410"} or self.fails >= 3:
            return Health.ERROR
        if self.kind is not None:
            return Health.DEGRADED
        if not self.ok:
            return Health.UNKNOWN
        assert self.last_fetch is not None
        result = query_db(
            home, "SELECT published FROM item WHERE source_id = ? ORDER BY published DESC LIMIT 50", source_id
        )
        times = [int(str(row[0])) / 1e6 for row in result]
        median_gap = median(next_time - time for next_time, time in pairwise(times)) if len(times) > 1 else 0
        silence = (self.last_fetch - (self.last_new or self.since)).total_seconds()
        return Health.STALE if silence > max(4 * median_gap, 14 * 86_400) else Health.HEALTHY


class SourceSimulation:
    """A source under test at ONE and a working one at TWO."""

    def __init__(self, home: Path) -> None:
        self.home, self.web, self.watch = home, FakeWeb(), Watch()
        self.published: list[tuple[int, datetime]] = []
        self.web.put(URL_TWO, feed(entry(9_000)))
        self.url = URL_ONE

    async def run(self, steps: list[Any]) -> None:
        async with open_desk_at(self.home, self.web, self.watch) as desk:
            await create_source(desk, URL_TWO)
            source = await create_source(desk, self.url)
            model = SourceModel(self.watch.now)
            for event, trigger, hours, count in steps:
                self.watch.advance(hours * 3600)
                if event == "delete":
                    await desk.sources.delete(source.id)
                    assert query_db(self.home, "SELECT 1 FROM item WHERE source_id = ?", source.id) == []
                    source, model = await create_source(desk, self.url), SourceModel(self.watch.now)
                elif event == "move":
                    # Otherwise the old feed would be discovered when the new address has a page.
                    self.web.fail(self.url, 404)
                    self.url = self.url + "1"
                    await desk.sources.update(source.id, {"url": self.url}, test=False)
                    model.forget()
                    model.since = self.watch.now
                elif event == "off":
                    self.delete_item(source, model)
                else:
                    await self.fetch(desk, model, event, trigger, count)
                stored = await desk.sources.get(source.id)
                self.check(stored, model)

    def delete_item(self, source: Source, model: SourceModel) -> None:
        """Delete one of the source's items directly in the database."""
        for (ident,) in query_db(self.home, "SELECT ident FROM item WHERE source_id = ? LIMIT 1", source.id):
            execute_sql(self.home, "DELETE FROM item WHERE source_id = ? AND ident = ?", source.id, ident)
            model.items.discard(str(ident))

    async def fetch(self, desk: Desk, model: SourceModel, event: str, trigger: str, count: int) -> None:
        fresh = self.set_response(event, count)
        before = self.web.requested_urls.count(self.url)
        await desk.pipeline.run(None if trigger == "run" else RunRequest(due=True))
        if self.web.requested_urls.count(self.url) > before:
            model.fetched(event, self.watch.now, fresh)

    def set_response(self, event: str, count: int) -> set[str]:
        """Set the next response; return the ids of the entries in it."""
        now = self.watch.now
        if event == "news":
            self.published += [(len(self.published) + number, now) for number in range(count)]
        if event in {"news", "same"}:
            entries = [entry(number, now=published_at, hours=1) for number, published_at in self.published]
            self.web.put(self.url, feed(*entries))
            return {f"story-{number}" for number, _ in self.published}
        if event == "empty":
            self.web.put(self.url, feed())
        elif event == "cut":
            self.web.disconnect(self.url)
        elif event == "html":
            self.web.put(self.url, "<html><body/></html>")
        elif event == "429":
            self.web.fail(self.url, 429, retry_after="60")
        else:
            self.web.fail(self.url, int(event))
        return set()

    def check(self, source: Source, model: SourceModel) -> None:
        ((count,),) = query_db(self.home, "SELECT count(*) FROM item WHERE source_id = ?", source.id)
        assert source.item_count == count == len(model.items)
        assert source.last_fetch == model.last_fetch
        assert source.fail_count == model.fails
        assert (source.last_error is None) == (model.kind is None)
        if model.kind is None or model.last_fetch is not None:
            assert source.health == model.health(self.home, source.id, self.watch.now)


@hypothesis_settings(max_examples=sample_size(25), deadline=None)
@given(st.lists(event_strategy, max_size=10))
@example([("news", "run", 24 * 16, 1), ("news", "run", 24 * 16, 1), ("same", "run", 24 * 60, 0)])
@example([("news", "run", 24 * 16, 1), ("news", "run", 24 * 16, 1), ("same", "run", 24 * 70, 0)])
@example([("500", "run", 30, 0), ("cut", "run", 30, 0), ("429", "run", 30, 0), ("html", "run", 30, 0)])
def test_state_matches_model_after_random_events(steps: list[Any]) -> None:
    async def simulate() -> None:
        with TemporaryDirectory() as folder:
            await SourceSimulation(Path(folder)).run(steps)

    asyncio.run(simulate())


async def test_unfetched_source_is_not_stale(tmp_path: Path) -> None:
    # Only a fetch can tell that nothing is new: health is that of the last fetch, whose time is shown next to it.
    web, watch = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, watch) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        watch.advance(40 * 86_400)
        before_fetch = await desk.sources.get(source.id)
        await desk.pipeline.run()
        after_fetch = await desk.sources.get(source.id)

    assert (before_fetch.health, before_fetch.last_fetch) == (Health.HEALTHY, NOW)
    assert (after_fetch.health, after_fetch.last_fetch) == (Health.STALE, NOW + timedelta(days=40))


async def test_source_without_items_becomes_stale(tmp_path: Path) -> None:
    web, watch, healths = FakeWeb(), Watch(), []
    web.put(URL_ONE, feed())
    async with open_desk_at(tmp_path, web, watch) as desk:
        source = await create_source(desk)
        for days in (0, 14, 1):
            watch.advance(days * 86_400)
            await desk.pipeline.run()
            healths.append((await desk.sources.get(source.id)).health)

    assert healths == [Health.HEALTHY, Health.HEALTHY, Health.STALE]
