"""Tests for the whole pipeline over 29 real feeds, captured on one day and served locally."""

import asyncio
import io
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from copydesk.desk import Desk, open_desk
from copydesk.model.draft import ListedDraft, Severity
from copydesk.model.run import Run, RunRequest, RunStatus
from copydesk.model.source import Source
from desk_fixtures import Watch, add, damage, drafts_of, rows, settings_at
from feed_server import FeedServer
from feeds_for_tests import real_feeds

CAPTURED = datetime(2026, 2, 17, 18, 0, tzinfo=UTC)
JACKSON = {"abc-au-top", "japantoday-world", "elpais-english", "aljazeera", "bbc-world"}
REPATRIATION = {"japantoday-world", "npr-world", "abcnews-international"}
GUIDING_PRINCIPLES = {"ndtv", "aljazeera", "bbc-world"}


class FirstRun(NamedTuple):
    """A desk after its first run, and the results of that run."""

    home: Path
    server: FeedServer
    run: Run
    sources: tuple[Source, ...]
    drafts: list[ListedDraft]


def serve(server: FeedServer, *, etag: bool = True, gzip: bool = True) -> None:
    for name, body in real_feeds().items():
        server.serve(f"/{name}", body, etag=etag, gzip=gzip, content_type="text/xml")


async def furnish(desk: Desk, server: FeedServer) -> None:
    """Add every feed as a source, each on a host of its own as in production."""
    for number, name in enumerate(real_feeds(), 2):
        await add(desk, server.url(f"/{name}", f"127.0.0.{number}"), name=name)


def open_at(home: Path, later: float = 0):
    clock = Watch(CAPTURED)
    clock.forward(later)
    return open_desk(settings_at(home, network__allow_private="true"), clock=clock)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """Draft everything that can be drafted, once for all tests."""
    home = tmp_path_factory.mktemp("desk")

    async def work(server: FeedServer) -> FirstRun:
        async with open_at(home) as desk:
            await furnish(desk, server)
            run = await desk.pipeline.run(RunRequest(max_drafts=1000))
            return FirstRun(home, server, run, await desk.sources.list(), await drafts_of(desk))

    with FeedServer("0.0.0.0") as server:
        serve(server)
        yield asyncio.run(work(server))


@pytest.fixture
def later(first, tmp_path) -> Path:
    """Return a copy of the desk after its first run."""
    shutil.copytree(first.home, tmp_path / "copy")
    return tmp_path / "copy"


async def run_again(home: Path) -> Run:
    async with open_at(home, 600) as desk:
        return await desk.pipeline.run(RunRequest(max_drafts=1000))


def test_item_counts_match_feedparser(first):
    feedparser = pytest.importorskip("feedparser")
    expected = {name: len(feedparser.parse(io.BytesIO(body)).entries) for name, body in real_feeds().items()}

    assert {source.name: source.item_count for source in first.sources} == expected
    assert [source.name for source in first.sources if source.last_error or source.fail_count] == []
    assert {source.health for source in first.sources} == {"healthy"}
    assert (first.run.status, first.run.stats.sources_fetched) == (RunStatus.SUCCEEDED, len(expected))
    assert first.run.stats.items_new == sum(expected.values())
    assert damage(first.home) == []


def test_hosts_get_one_request_at_a_time(first):
    assert len(first.server.most_at_once) == len(first.sources)
    assert set(first.server.most_at_once.values()) == {1}


def test_recent_stories_are_drafted_and_pass_checks(first):
    stats = first.run.stats
    assert stats.items_filtered == stats.items_ranked == stats.drafts_created + stats.drafts_failed > 300
    assert stats.drafts_failed <= stats.items_ranked // 50
    for draft in first.drafts:
        errors = [finding for finding in draft.checks.findings if finding.severity is Severity.ERROR]
        assert errors == [], draft.text
        assert draft.checks.ran > 10
    old = rows(first.home, "SELECT count(*) FROM item WHERE state = 'history'")
    assert old > [(400,)]


def stories(home: Path) -> list[set[str]]:
    """Return the names of the sources of each story that several items tell."""
    query = "SELECT story_id, source.name FROM item JOIN source ON source.id = source_id WHERE story_id != ''"
    names_by_story: dict[object, list[str]] = {}
    for story, name in rows(home, query):
        names_by_story.setdefault(story, []).append(str(name))
    return [set(names) for names in names_by_story.values() if len(names) > 1]


def test_multi_source_stories_become_one_draft(first):
    merged = stories(first.home)

    for story in (JACKSON, REPATRIATION, GUIDING_PRINCIPLES):
        assert story in merged
    source_names = [{source.name for source in draft.score.sources} for draft in first.drafts if draft.score]
    assert [source_names.count(story) for story in (JACKSON, REPATRIATION, GUIDING_PRINCIPLES)] == [1, 1, 1]
    assert sum(len(names) > 1 for names in source_names) == len(merged)


def test_source_entries_are_not_merged_by_title(first):
    twice = rows(
        first.home,
        "SELECT count(*), count(DISTINCT canonical) FROM item WHERE story_id != ''"
        " GROUP BY story_id, source_id HAVING count(*) > 1",
    )
    assert [pages for _, pages in twice if pages != 1] == []
    assert 5 <= len(stories(first.home)) <= 20


async def test_second_run_sends_validators_and_parses_nothing(first, later, monkeypatch):
    monkeypatch.setattr("copydesk.ingest.visit.parse_feed", None)
    before = len(first.server.requests)
    run = await run_again(later)

    stats = run.stats
    assert (stats.sources_fetched, stats.sources_unchanged, stats.sources_failed) == (29, 29, 0)
    assert (stats.items_new, stats.drafts_created) == (0, 0)
    assert all("if-none-match" in request.headers for request in first.server.requests[before:])


async def test_unchanged_body_is_recognised_without_validators(first, later, monkeypatch):
    monkeypatch.setattr("copydesk.ingest.visit.parse_feed", None)
    serve(first.server, etag=False)
    try:
        run = await run_again(later)
    finally:
        serve(first.server)

    assert (run.stats.sources_unchanged, run.stats.items_new, run.stats.sources_failed) == (29, 0, 0)


async def test_uncompressed_body_is_the_same(first, later, monkeypatch):
    """The first run fetched the feeds with gzip."""
    assert "gzip" in first.server.requests[0].headers["accept-encoding"]
    monkeypatch.setattr("copydesk.ingest.visit.parse_feed", None)
    serve(first.server, etag=False, gzip=False)
    try:
        run = await run_again(later)
    finally:
        serve(first.server)

    assert (run.stats.sources_unchanged, run.stats.sources_failed) == (29, 0)


async def test_changed_feed_adds_one_item(first, later):
    body = real_feeds()["bbc-world"]
    start, end = body.index(b"<item>"), body.index(b"</item>") + len(b"</item>")
    fresh = b"<item><title>Ferry line to open in Port Ellery</title><link>https://bbc.example/new</link></item>"
    first.server.serve("/bbc-world", body[:start] + fresh + body[end:], content_type="text/xml")
    try:
        run = await run_again(later)
    finally:
        serve(first.server)

    assert (run.stats.sources_unchanged, run.stats.items_new, run.stats.drafts_created) == (28, 1, 1)
