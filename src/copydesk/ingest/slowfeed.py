"""Repair feeds that the strict parser refuses, with feedparser in a subprocess that is killed at its deadline."""

import re

import msgspec

from copydesk.errors import FetchTimeoutError, NotAFeedError
from copydesk.ingest.apart import run_in_subprocess
from copydesk.ingest.raw import RawFeed

REPAIR_TIMEOUT = 2.0
"""Seconds for one feed, after feedparser is imported."""
MAX_TAG_ATTRIBUTES = 1_000
"""Per tag: feedparser's time grows with their square."""

_LONG_TAG = re.compile(rb"<[^<>]{4000,}")


async def parse_with_feedparser(body: bytes, max_entries: int) -> RawFeed:
    """Parse a damaged feed in UTF-8.

    Raise TooSlowError at the deadline, NotAFeedError if it is not a feed or the subprocess fails.
    """
    if any(tag.count(b"=") > MAX_TAG_ATTRIBUTES for tag in _LONG_TAG.findall(body)):
        raise NotAFeedError(f"The feed is damaged: it has a tag with more than {MAX_TAG_ATTRIBUTES} attributes.")
    try:
        output = await run_in_subprocess("copydesk.ingest.looseparser", body, str(max_entries), timeout=REPAIR_TIMEOUT)
    except TimeoutError:
        raise FetchTimeoutError("The feed is damaged, and repairing it took too long.") from None
    feed = msgspec.msgpack.decode(output, type=RawFeed | None) if output else None
    if feed is None:
        raise NotAFeedError("The answer is not a feed, or too damaged to be read as one.")
    return feed
