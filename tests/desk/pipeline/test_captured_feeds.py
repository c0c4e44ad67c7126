"""Tests for the whole pipeline over 29 real feeds, captured on one day and served locally."""

import asyncio
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from copydesk.desk import Desk, open_desk
from copydesk.model.draft import ListedDraft, Severity
from copydesk.model.run import Run, RunRequest, RunStatus
from copydesk.model.source import Source
from desk_fixtures import Watch, create_source, integrity_errors, list_drafts, query_db, settings_at
from feed_fixtures import load_real_feeds
from feed_server import FeedServer
from store_fixtures import copy_desk

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


def serve_feeds(server: FeedServer, *, etag: bool = True, gzip: bool = True) -> None:
    for name, body in load_real_feeds().items():
        server.serve(f"/{name}", body, etag=etag, gzip=gzip, content_type="text/xml")


async def add_sources(desk: Desk, server: FeedServer) -> None:
    """Add every feed as a source, each on a host of its own as in production."""
    for number, name in enumerate(load_real_feeds(), 2):
        await create_source(desk, server.url(f"/{name}", f"127.0.0.{number}"), name=name)


def open_at(home: Path, seconds_later: float = 0):
    clock = Watch(CAPTURED)
    clock.advance(seconds_later)
    return open_desk(settings_at(home, network__allow_private="true"), clock=clock)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """Draft everything that can be drafted, once for all tests."""
    home = tmp_path_factory.mktemp("desk")

    async def work(server: FeedServer) -> FirstRun:
        async with open_at(home) as desk:
            await add_sources(desk, server)
            run = await desk.pipeline.run(RunRequest(max_drafts=1000))
            return FirstRun(home, server, run, await desk.sources.list(), await list_drafts(desk))

    with FeedServer("0.0.0.0") as server:
        serve_feeds(server)
        yield asyncio.run(work(server))


@pytest.fixture
def desk_copy(first_run, tmp_path) -> Path:
    """Return a copy of the desk after its first run."""
    copy_desk(first_run.home, tmp_path / "copy")
    return tmp_path / "copy"


async def rerun(home: Path) -> Run:
    async with open_at(home, 600) as desk:
        return await desk.pipeline.run(RunRequest(max_drafts=1000))


def test_item_counts_match_feedparser(first_run):
    feedparser = pytest.importorskip("feedparser")
    expected = {name: len(feedparser.parse(io.BytesIO(body)).entries) for name, body in load_real_feeds().items()}

    assert {source.name: source.item_count for source in first_run.sources} == expected
    assert [source.name for source in first_run.sources if source.last_error or source.fail_count] == []
    assert {source.health for source in first_run.sources} == {"healthy"}
    assert (first_run.run.status, first_run.run.stats.sources_fetched) == (RunStatus.SUCCEEDED, len(expected))
    assert first_run.run.stats.items_new == sum(expected.values())
    assert integrity_errors(first_run.home) == []


def test_hosts_get_one_request_at_a_time(first_run):
    assert len(first_run.server.max_concurrent) == len(first_run.sources)
    assert set(first_run.server.max_concurrent.values()) == {1}


def test_recent_stories_are_drafted_and_pass_checks(first_run):
    stats = first_run.run.stats
    assert stats.items_filtered == stats.items_ranked > 300
    assert stats.items_ranked == stats.drafts_created + sum(stats.items_declined.values())
    assert stats.drafts_failed == 0
    assert stats.drafts_created > 0.8 * stats.items_ranked
    for draft in first_run.drafts:
        errors = [finding for finding in draft.checks.findings if finding.severity is Severity.ERROR]
        assert errors == [], draft.text
        assert draft.checks.ran > 10
    old = query_db(first_run.home, "SELECT count(*) FROM item WHERE state = 'history'")
    assert old > [(400,)]


def multi_source_stories(home: Path) -> list[set[str]]:
    """Return the names of the sources of each story that several items tell."""
    query = "SELECT story_id, source.name FROM item JOIN source ON source.id = source_id WHERE story_id != ''"
    names_by_story: dict[object, list[str]] = {}
    for story, name in query_db(home, query):
        names_by_story.setdefault(story, []).append(str(name))
    return [set(names) for names in names_by_story.values() if len(names) > 1]


def test_multi_source_stories_become_one_draft(first_run):
    merged = multi_source_stories(first_run.home)

    for story in (JACKSON, REPATRIATION, GUIDING_PRINCIPLES):
        assert any(story <= names for names in merged)
    source_names = [{source.name for source in draft.score.sources} for draft in first_run.drafts if draft.score]
    # The writer declines a few stories, of which no report has a sentence to quote.
    assert len(merged) - 2 <= sum(len(names) > 1 for names in source_names) <= len(merged)


def test_source_entries_are_not_merged_by_title(first_run):
    twice = query_db(
        first_run.home,
        "SELECT count(*), count(DISTINCT canonical) FROM item WHERE story_id != ''"
        " GROUP BY story_id, source_id HAVING count(*) > 1",
    )
    assert [pages for _, pages in twice if pages != 1] == []
    assert 5 <= len(multi_source_stories(first_run.home)) <= 30


async def test_second_run_sends_validators_and_parses_nothing(first_run, desk_copy, monkeypatch):
    monkeypatch.setattr("copydesk.ingest.fetch_context.parse_feed", None)
    before = len(first_run.server.requests)
    run = await rerun(desk_copy)

    stats = run.stats
    assert (stats.sources_fetched, stats.sources_unchanged, stats.sources_failed) == (29, 29, 0)
    assert (stats.items_new, stats.drafts_created) == (0, 0)
    assert all("if-none-match" in request.headers for request in first_run.server.requests[before:])


async def test_unchanged_body_is_recognised_without_validators(first_run, desk_copy, monkeypatch):
    monkeypatch.setattr("copydesk.ingest.fetch_context.parse_feed", None)
    serve_feeds(first_run.server, etag=False)
    try:
        run = await rerun(desk_copy)
    finally:
        serve_feeds(first_run.server)

    assert (run.stats.sources_unchanged, run.stats.items_new, run.stats.sources_failed) == (29, 0, 0)


async def test_uncompressed_body_is_the_same(first_run, desk_copy, monkeypatch):
    """The first run fetched the feeds with gzip."""
    assert "gzip" in first_run.server.requests[0].headers["accept-encoding"]
    monkeypatch.setattr("copydesk.ingest.fetch_context.parse_feed", None)
    serve_feeds(first_run.server, etag=False, gzip=False)
    try:
        run = await rerun(desk_copy)
    finally:
        serve_feeds(first_run.server)

    assert (run.stats.sources_unchanged, run.stats.sources_failed) == (29, 0)


async def test_changed_feed_adds_one_item(first_run, desk_copy):
    body = load_real_feeds()["bbc-world"]
    start, end = body.index(b"<item>"), body.index(b"</item>") + len(b"</item>")
    fresh = b"<item><title>Ferry line to open in Port Ellery</title><link>https://bbc.example/new</link></item>"
    first_run.server.serve("/bbc-world", body[:start] + fresh + body[end:], content_type="text/xml")
    try:
        run = await rerun(desk_copy)
    finally:
        serve_feeds(first_run.server)

    assert (run.stats.sources_unchanged, run.stats.items_new, run.stats.drafts_created) == (28, 1, 1)
