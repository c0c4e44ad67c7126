"""A list of feeds becomes sources, each after it has shown that it can be read."""

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
"""Feeds that are tested at the same time."""
Identity = tuple[object, ...]


class KnownSourceError(InvalidError):
    """It is a source already."""


class Outcome(StrEnum):
    """What became of a feed of the list."""

    ADDED = "added"
    KNOWN = "known"
    """It is a source already."""
    FAILED = "failed"


class TriedFeed(Struct, frozen=True):
    """One feed of the list."""

    feed: Outline
    outcome: Outcome
    why: str = ""
    """Where it failed."""


async def add_each(
    sources: "Sources", feeds: Sequence[Outline], hear: Callable[[TriedFeed], None], *, test: bool
) -> None:
    """Add every feed; `hear` is told of each when it is settled, in whichever order they answer.

    With `test` only those that can be read. Where this is cancelled, what was added stays.
    """
    known = {identity(source.type, source.url, source.config) for source in await sources.list()}
    free = asyncio.Semaphore(AT_ONCE)

    async def one(feed: Outline) -> None:
        async with free:
            hear(await _tried(sources, feed, known, test=test))

    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(one(feed))


async def _tried(sources: "Sources", feed: Outline, known: Collection[Identity], *, test: bool) -> TriedFeed:
    config = msgspec.to_builtins(feed.config) if feed.config else None
    try:
        spec = await candidates.check(feed.type, feed.url, config)
        if identity(spec.type, spec.url, spec.config) in known:
            return TriedFeed(feed=feed, outcome=Outcome.KNOWN)
        await sources.create(feed.type, feed.url, name=feed.name, config=config, test=test)
    except KnownSourceError:
        # The feed of a site may be there under its own address.
        return TriedFeed(feed=feed, outcome=Outcome.KNOWN)
    except CopydeskError as error:
        return TriedFeed(feed=feed, outcome=Outcome.FAILED, why=str(error))
    return TriedFeed(feed=feed, outcome=Outcome.ADDED)


def identity(type: str, url: str | None, config: SourceConfig | None) -> Identity:
    """What makes it another source: a second one would count as a second teller of every story."""
    return type, url, (config or SourceConfig()).query
