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

MAX_CONCURRENT_FEEDS = 8
"""Feeds tested at the same time."""
Identity = tuple[object, ...]


class DuplicateSourceError(InvalidError):
    """It is a source already."""


class Outcome(StrEnum):
    """The outcome of one feed of the list."""

    ADDED = "added"
    DUPLICATE = "known"
    """There is such a source already."""
    FAILED = "failed"


class FeedImportResult(Struct, frozen=True):
    """One feed of the list with its outcome."""

    feed: Outline
    outcome: Outcome
    error: str = ""
    """The error message if it failed."""


async def import_feeds(
    sources: "Sources", feeds: Sequence[Outline], on_result: Callable[[FeedImportResult], None], *, test: bool
) -> None:
    """Add every feed; `on_result` is called with each result as it settles, in any order.

    With `test` only feeds that can be read are added. If this is cancelled, sources added before stay.
    """
    existing = {feed_identity(source.type, source.url, source.config) for source in await sources.list()}
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_FEEDS)

    async def import_one(feed: Outline) -> None:
        async with semaphore:
            on_result(await _import_feed(sources, feed, existing, test=test))

    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(import_one(feed))


async def _import_feed(
    sources: "Sources", feed: Outline, existing: Collection[Identity], *, test: bool
) -> FeedImportResult:
    config = msgspec.to_builtins(feed.config) if feed.config else None
    try:
        spec = await candidates.validate_source(feed.type, feed.url, config)
        # Before the test fetch: importing the same list twice should not fetch it all again.
        if feed_identity(spec.type, spec.url, spec.config) in existing:
            return FeedImportResult(feed=feed, outcome=Outcome.DUPLICATE)
        await sources.create(feed.type, feed.url, name=feed.name, config=config, test=test)
    except DuplicateSourceError:
        # The test fetch of a site may end at a feed that is a source already.
        return FeedImportResult(feed=feed, outcome=Outcome.DUPLICATE)
    except CopydeskError as error:
        return FeedImportResult(feed=feed, outcome=Outcome.FAILED, error=str(error))
    return FeedImportResult(feed=feed, outcome=Outcome.ADDED)


def feed_identity(type: str, url: str | None, config: SourceConfig | None) -> Identity:
    """Return the key by which sources count as the same: a second one would count twice in every story."""
    return type, url, (config or SourceConfig()).query
