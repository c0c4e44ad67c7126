"""Tests for runs over sources that publish, change and fail in random order: no story is lost or drafted twice."""

import asyncio
import random
from itertools import pairwise

import pytest

from copydesk.model.run import Run, RunRequest, RunStatus
from desk_fixtures import (
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    integrity_errors,
    open_desk_at,
    query_db,
    story_title,
)

FEED_URLS = (URL_ONE, URL_TWO, URL_THREE)
EVENTS = ("publish", "publish", "publish", "withdraw", "edit", "rename", "fail", "recover", "throttle", "move")


class RandomSites:
    """Three sites that publish, edit, move and fail at random; they often publish the same story."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.web = FakeWeb()
        self.clock = Watch()
        self.published: dict[str, dict[int, dict[str, str]]] = {url: {} for url in FEED_URLS}
        self.all_stories: set[int] = set()
        self.broken: set[str] = set()
        for url in FEED_URLS:
            self.serve_feed(url)

    def serve_feed(self, url: str) -> None:
        """Serve the site's feed."""
        stories = reversed(self.published[url].items())
        body = feed(
            *(entry(number, hours=self.hours_before_start(), **fields) for number, fields in stories), title=url
        )
        self.web.put(url, body, etag=self.rng.random() < 0.5)

    def hours_before_start(self) -> float:
        """Return the age of a story published now, in hours before the clock's start; so it is negative or zero."""
        return -(self.clock() - Watch()()).total_seconds() / 3600

    def apply_random_event(self) -> None:
        """Apply one random event to one site."""
        url, event = self.rng.choice(FEED_URLS), self.rng.choice(EVENTS)
        stories = self.published[url]
        if event == "publish":
            for _ in range(self.rng.randrange(1, 5)):
                self.publish(url)
        elif event == "withdraw" and stories:
            del stories[self.rng.choice(list(stories))]
        elif event == "edit" and stories:
            stories[self.rng.choice(list(stories))]["text"] = f"Now it is {self.rng.random()}. It was otherwise."
        elif event == "rename":
            for number, fields in stories.items():
                fields |= {"guid": f"https://{number}.example/x", "link": f"https://{number}.example/x"}
        elif event in {"fail", "throttle"}:
            self.broken.add(url)
            self.web.fail(url, 500 if event == "fail" else 429, **({} if event == "fail" else {"retry_after": "100"}))
            return
        self.broken.discard(url)
        self.serve_feed(url)

    def publish(self, url: str) -> None:
        """Add a new story, or one that another site may have published."""
        number = self.rng.randrange(40)
        if number not in self.published[url]:
            self.published[url][number] = {"guid": f"http://{number}.example/x", "link": f"http://{number}.example/x"}
            self.all_stories.add(number)


def assert_funnel(run: Run) -> None:
    stats = run.stats
    counts = [stats.items_considered, stats.items_filtered, stats.items_ranked, stats.drafts_created]
    assert all(larger >= smaller for larger, smaller in pairwise(counts)), counts


@pytest.mark.parametrize("seed", range(6))
async def test_no_story_is_lost_or_drafted_twice(tmp_path, seed):
    world = RandomSites(seed)
    published: set[int] = set()
    async with open_desk_at(tmp_path, world.web, world.clock) as desk:
        for url in FEED_URLS:
            await create_source(desk, url)
        for _ in range(14):
            for _ in range(world.rng.randrange(3)):
                world.apply_random_event()
            world.clock.advance(world.rng.randrange(1, 900))
            run_task = asyncio.create_task(desk.pipeline.run(RunRequest(max_drafts=world.rng.randrange(4))))
            if world.rng.random() < 0.3:
                await asyncio.sleep(world.rng.random() / 50)
                run_task.cancel()
            await asyncio.wait([run_task])
            if not run_task.cancelled():
                assert_funnel(run_task.result())
        for url in FEED_URLS:
            world.serve_feed(url)
        world.clock.advance(1000)
        final_run = await desk.pipeline.run(RunRequest(max_drafts=1000))
        idle_run = await desk.pipeline.run(RunRequest(max_drafts=1000))
        published |= {number for stories in world.published.values() for number in stories}

    assert (final_run.status, idle_run.stats.drafts_created, idle_run.stats.items_considered) == (
        RunStatus.SUCCEEDED,
        0,
        0,
    )
    assert integrity_errors(tmp_path) == []
    # Every story readable at the end has one draft, and each source has each entry once.
    drafted = [
        str(name) for (name,) in query_db(tmp_path, "SELECT item.title FROM draft JOIN item ON item_id = item.id")
    ]
    assert (
        {story_title(number) for number in published}
        <= set(drafted)
        <= {story_title(number) for number in world.all_stories}
    )
    assert len(drafted) == len(set(drafted))
    assert query_db(tmp_path, "SELECT source_id, title FROM item GROUP BY 1, 2 HAVING count(*) > 1") == []
    assert query_db(tmp_path, "SELECT count(*) FROM item WHERE state NOT IN ('drafted', 'duplicate')") == [(0,)]
    assert query_db(
        tmp_path,
        "SELECT count(*) FROM source WHERE item_count != (SELECT count(*) FROM item WHERE source_id = source.id)",
    ) == [(0,)]
