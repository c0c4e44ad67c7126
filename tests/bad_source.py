"""Run the pipeline on a broken source next to a good one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copydesk.desk import open_desk
from copydesk.model.draft import ListedDraft
from copydesk.model.run import RunStatus
from copydesk.model.source import Source
from desk_fixtures import Watch, add, damage, drafts_of, entry, feed, rows, settings_at, title
from feed_server import FeedServer

GOOD = 7
"""Number of the good source's story."""


@contextmanager
def serve_a_good_one() -> Iterator[FeedServer]:
    """Yield a real server with the good source. Every address of 127.0.0.0/8 counts as a host of its own."""
    with FeedServer("0.0.0.0") as server:
        server.serve("/good", feed(entry(GOOD)))
        yield server


async def beside_a_good_one(
    home: Path, server: FeedServer, path: str = "/bad", **named: str
) -> tuple[Source, list[ListedDraft]]:
    """Run the pipeline once; return the source at `path` and the drafts made from it.

    Asserts that the good source is drafted all the same and that the database is intact.
    """
    named = {"network__allow_private": "true", "network__timeout": "60"} | named
    async with open_desk(settings_at(home, **named), clock=Watch()) as desk:
        bad = await add(desk, server.url(path), name="Bad")
        good = await add(desk, server.url("/good", "127.0.0.2"), name="Good")
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        drafts = await drafts_of(desk)
        assert [draft.item.title for draft in drafts if draft.item.id in _items_of(home, good)] == [title(GOOD)]
        assert damage(home) == []
        return await desk.sources.get(bad.id), [draft for draft in drafts if draft.item.id in _items_of(home, bad)]


def _items_of(home: Path, source: Source) -> set[object]:
    return {item_id for (item_id,) in rows(home, "SELECT id FROM item WHERE source_id = ?", source.id)}


async def refused(home: Path, server: FeedServer, **named: str) -> str:
    """Return the broken source's error message; assert that nothing of it is stored."""
    source, drafts = await beside_a_good_one(home, server, **named)
    assert (source.item_count, source.fail_count, drafts) == (0, 1, [])
    return str(source.last_error)


def whole_database(home: Path) -> bytes:
    """Return all bytes of the desk's folder."""
    return b"".join(path.read_bytes() for path in home.iterdir())
