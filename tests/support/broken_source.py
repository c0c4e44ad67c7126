"""Run the pipeline on a broken source next to a good one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copydesk.desk import open_desk
from copydesk.model.draft import ListedDraft
from copydesk.model.run import RunStatus
from copydesk.model.source import Source
from desk_fixtures import (
    Watch,
    create_source,
    entry,
    feed,
    integrity_errors,
    list_drafts,
    query_db,
    settings_at,
    story_title,
)
from feed_server import FeedServer

GOOD_STORY = 7
"""Number of the good source's story."""


@contextmanager
def serve_good_source() -> Iterator[FeedServer]:
    """Yield a real server with the good source. Every address of 127.0.0.0/8 counts as a host of its own."""
    with FeedServer("0.0.0.0") as server:
        server.serve("/good", feed(entry(GOOD_STORY)))
        yield server


async def run_with_good_source(
    home: Path, server: FeedServer, path: str = "/bad", **overrides: str
) -> tuple[Source, list[ListedDraft]]:
    """Run the pipeline once; return the source at `path` and the drafts made from it.

    Asserts that the good source is drafted all the same and that the database is intact.
    """
    overrides = {"network__allow_private": "true", "network__timeout": "60"} | overrides
    async with open_desk(settings_at(home, **overrides), clock=Watch()) as desk:
        bad = await create_source(desk, server.url(path), name="Bad")
        good = await create_source(desk, server.url("/good", "127.0.0.2"), name="Good")
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        drafts = await list_drafts(desk)
        assert [draft.item.title for draft in drafts if draft.item.id in _items_of(home, good)] == [
            story_title(GOOD_STORY)
        ]
        assert integrity_errors(home) == []
        return await desk.sources.get(bad.id), [draft for draft in drafts if draft.item.id in _items_of(home, bad)]


def _items_of(home: Path, source: Source) -> set[object]:
    return {item_id for (item_id,) in query_db(home, "SELECT id FROM item WHERE source_id = ?", source.id)}


async def rejected_source_error(home: Path, server: FeedServer, **overrides: str) -> str:
    """Return the broken source's error message; assert that nothing of it is stored."""
    source, drafts = await run_with_good_source(home, server, **overrides)
    assert (source.item_count, source.fail_count, drafts) == (0, 1, [])
    return str(source.last_error)


def database_bytes(home: Path) -> bytes:
    """Return all bytes of the desk's folder."""
    return b"".join(path.read_bytes() for path in home.iterdir())
