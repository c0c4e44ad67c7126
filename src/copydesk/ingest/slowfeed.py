"""What the strict parser refuses -> what feedparser makes of it, in a process that is killed at its deadline."""

import re

import msgspec

from copydesk.errors import NotAFeedError, TooSlowError
from copydesk.ingest.apart import ask
from copydesk.ingest.raw import RawFeed

DEADLINE = 2.0
"""Seconds that feedparser has for one feed, once it is loaded."""
MAX_ATTRIBUTES = 1_000
"""Of one tag: the time that feedparser takes grows with their square."""

_LONG_TAG = re.compile(rb"<[^<>]{4000,}")


async def parse_slow(body: bytes, max_entries: int) -> RawFeed:
    """What feedparser makes of `body`, which is in UTF-8.

    Raises TooSlowError at the deadline, NotAFeedError for what is no feed or ends the process.
    """
    if any(tag.count(b"=") > MAX_ATTRIBUTES for tag in _LONG_TAG.findall(body)):
        raise NotAFeedError(f"The feed is damaged: it has a tag with more than {MAX_ATTRIBUTES} attributes.")
    try:
        answer = await ask("copydesk.ingest.looseparser", body, str(max_entries), seconds=DEADLINE)
    except TimeoutError:
        raise TooSlowError("The feed is damaged, and repairing it took too long.") from None
    feed = msgspec.msgpack.decode(answer, type=RawFeed | None) if answer else None
    if feed is None:
        raise NotAFeedError("The answer is not a feed, or too damaged to be read as one.")
    return feed
