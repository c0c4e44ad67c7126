"""substack: the feed of a publication, under its own domain or Substack's. Paid posts are previews there."""

import re
from urllib.parse import SplitResult

from copydesk.errors import NeedsLoginError
from copydesk.ingest.address import refuse, split
from copydesk.ingest.visit import FEEDS, Reading, Visit, get_body
from copydesk.model.source import SourceConfig

EXPECTED = "the publication's address, such as https://NAME.substack.com"
_NAME = re.compile(r"/pub/([a-z0-9-]{1,63})(?:/|\Z)", re.IGNORECASE)
_BLOCKED = (
    "Substack's protection (Cloudflare) lets in no programs from here: it often refuses servers, VPNs and cloud"
    " machines. Try from another network."
)


def normalise(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """The feed of the publication that an address belongs to, a post's as well. Raises InvalidError."""
    parts = split(url, expected=EXPECTED)
    return f"{_origin(parts)}/feed"


async def read(visit: Visit) -> Reading:
    """The posts of the publication. Raises FetchError."""
    url = normalise(visit.spec.url, visit.spec.config)
    try:
        body = await get_body(visit, url, accept=FEEDS)
    except NeedsLoginError as error:
        raise NeedsLoginError(error.message, hint=_BLOCKED, retry_after=error.retry_after) from error
    if body.unchanged:
        return body.reading()
    feed = await body.feed()
    return body.reading(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


def _origin(parts: SplitResult) -> str:
    """Scheme and host of the publication."""
    host = parts.hostname or ""
    if host == "open.substack.com" and (named := _NAME.match(parts.path)):
        return f"https://{named[1].lower()}.substack.com"
    if host in {"substack.com", "www.substack.com", "open.substack.com"}:
        refuse("url", f"is Substack itself, not a publication; give {EXPECTED}")
    return f"{parts.scheme}://{parts.netloc}"
