"""Import an OPML list: each feed becomes a source after a test fetch has shown that it can be read."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from copydesk.desk import candidates
from copydesk.desk.opml import Outline
from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.source import SourceConfig
from copydesk.model.wire import Struct

if TYPE_CHECKING:
    from copydesk.desk.sources import Sources

AT_ONCE = 8
"""Feeds tested at the same time."""
Identity = tuple[object, ...]


class KnownSourceError(InvalidError):
    """It is a source already."""


class Outcome(StrEnum):
    """The outcome of one feed of the list."""

    ADDED = "added"
    KNOWN = "known"
    """There is such a source already."""
    FAILED = "failed"


class TriedFeed(Struct, frozen=True):
    """One feed of the list with its outcome."""

    feed: Outline
    outcome: Outcome
    why: str = ""
    """The error message if it failed."""


async def add_each(
    sources: "Sources", feeds: Sequence[Outline], hear: Callable[[TriedFeed], None], *, test: bool
) -> None:
    """Add every feed; `on_result` is called with each result as it settles, in any order.

    With `test` only feeds that can be read are added. If this is cancelled, sources added before stay.
    """
    existing = {identity(source.type, source.url, source.config) for source in await sources.list()}
    semaphore = asyncio.Semaphore(AT_ONCE)

    async def import_one(feed: Outline) -> None:
        async with semaphore:
            hear(await _import_feed(sources, feed, existing, test=test))

    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(import_one(feed))


async def _import_feed(sources: "Sources", feed: Outline, existing: Collection[Identity], *, test: bool) -> TriedFeed:
    config = msgspec.to_builtins(feed.config) if feed.config else None
    try:
        spec = await candidates.check(feed.type, feed.url, config)
        # Before the test fetch: importing the same list twice should not fetch it all again.
        if identity(spec.type, spec.url, spec.config) in existing:
            return TriedFeed(feed=feed, outcome=Outcome.KNOWN)
        await sources.create(feed.type, feed.url, name=feed.name, config=config, test=test)
    except KnownSourceError:
        # The test fetch of a site may end at a feed that is a source already.
        return TriedFeed(feed=feed, outcome=Outcome.KNOWN)
    except CopydeskError as error:
        return TriedFeed(feed=feed, outcome=Outcome.FAILED, why=str(error))
    return TriedFeed(feed=feed, outcome=Outcome.ADDED)


def identity(type: str, url: str | None, config: SourceConfig | None) -> Identity:
    """Return the key by which sources count as the same: a second one would count twice in every story."""
    return type, url, (config or SourceConfig()).query
