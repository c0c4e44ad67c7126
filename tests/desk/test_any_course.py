"""Whatever happens to sources and runs, in whatever order: nothing is lost, nothing is made twice."""

import asyncio
import random
from itertools import pairwise

import pytest

from copydesk.model.run import Run, RunRequest, RunStatus
from desk_fixtures import ONE, THREE, TWO, Watch, Web, add, damage, entry, feed, open_at, rows, title

ADDRESSES = (ONE, TWO, THREE)
EVENTS = ("publish", "publish", "publish", "withdraw", "edit", "rename", "fail", "recover", "throttle", "move")


class World:
    """Three sites that publish, change their mind and break down, some telling what another one told."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.web = Web()
        self.clock = Watch()
        self.published: dict[str, dict[int, dict[str, str]]] = {url: {} for url in ADDRESSES}
        self.told: set[int] = set()
        self.broken: set[str] = set()
        for url in ADDRESSES:
            self.show(url)

    def show(self, url: str) -> None:
        """Put the site's feed where it can be read."""
        stories = reversed(self.published[url].items())
        body = feed(*(entry(number, hours=self.age(), **told) for number, told in stories), title=url)
        self.web.put(url, body, etag=self.rng.random() < 0.5)

    def age(self) -> float:
        """What was published now, in hours before the day on which the clock began."""
        return -(self.clock() - Watch()()).total_seconds() / 3600

    def happen(self) -> None:
        """One thing happens to one site."""
        url, event = self.rng.choice(ADDRESSES), self.rng.choice(EVENTS)
        mine = self.published[url]
        if event == "publish":
            for _ in range(self.rng.randrange(1, 5)):
                self.publish(url)
        elif event == "withdraw" and mine:
            del mine[self.rng.choice(list(mine))]
        elif event == "edit" and mine:
            mine[self.rng.choice(list(mine))]["text"] = f"Now it is {self.rng.random()}. It was otherwise."
        elif event == "rename":
            for number, told in mine.items():
                told |= {"guid": f"https://{number}.example/x", "link": f"https://{number}.example/x"}
        elif event in {"fail", "throttle"}:
            self.broken.add(url)
            self.web.fail(url, 500 if event == "fail" else 429, **({} if event == "fail" else {"retry_after": "100"}))
            return
        self.broken.discard(url)
        self.show(url)

    def publish(self, url: str) -> None:
        """A new story, or one that another site told."""
        number = self.rng.randrange(40)
        if number not in self.published[url]:
            self.published[url][number] = {"guid": f"http://{number}.example/x", "link": f"http://{number}.example/x"}
            self.told.add(number)


def assert_funnel(run: Run) -> None:
    stats = run.stats
    figures = [stats.items_ingested, stats.items_filtered, stats.items_ranked, stats.drafts_created]
    assert all(more >= fewer for more, fewer in pairwise(figures)), figures


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_lost_and_nothing_is_made_twice(tmp_path, seed):
    world = World(seed)
    seen: set[int] = set()
    async with open_at(tmp_path, world.web, world.clock) as desk:
        for url in ADDRESSES:
            await add(desk, url)
        for _ in range(14):
            for _ in range(world.rng.randrange(3)):
                world.happen()
            world.clock.forward(world.rng.randrange(1, 900))
            work = asyncio.create_task(desk.pipeline.run(RunRequest(max_drafts=world.rng.randrange(4))))
            if world.rng.random() < 0.3:
                await asyncio.sleep(world.rng.random() / 50)
                work.cancel()
            await asyncio.wait([work])
            if not work.cancelled():
                assert_funnel(work.result())
        for url in ADDRESSES:
            world.show(url)
        world.clock.forward(1000)
        last = await desk.pipeline.run(RunRequest(max_drafts=1000))
        quiet = await desk.pipeline.run(RunRequest(max_drafts=1000))
        seen |= {number for stories in world.published.values() for number in stories}

    assert (last.status, quiet.stats.drafts_created, quiet.stats.items_ingested) == (RunStatus.SUCCEEDED, 0, 0)
    assert damage(tmp_path) == []
    # Every story that was to be read at the end is drafted, each one once; of each source each entry is there once.
    drafted = [str(name) for (name,) in rows(tmp_path, "SELECT item.title FROM draft JOIN item ON item_id = item.id")]
    assert {title(number) for number in seen} <= set(drafted) <= {title(number) for number in world.told}
    assert len(drafted) == len(set(drafted))
    assert rows(tmp_path, "SELECT source_id, title FROM item GROUP BY 1, 2 HAVING count(*) > 1") == []
    assert rows(tmp_path, "SELECT count(*) FROM item WHERE state NOT IN ('drafted', 'duplicate')") == [(0,)]
    assert rows(
        tmp_path,
        "SELECT count(*) FROM source WHERE item_count != (SELECT count(*) FROM item WHERE source_id = source.id)",
    ) == [(0,)]
