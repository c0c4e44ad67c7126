"""Source type substack: the feed of a publication, on its own domain or Substack's. Paid posts are previews there."""

import re
from urllib.parse import SplitResult

from copydesk.errors import LoginRequiredError
from copydesk.ingest.fetch_context import ACCEPT_FEEDS, FetchContext, FetchResult, fetch_body
from copydesk.ingest.urls import parse_source_url, raise_invalid
from copydesk.model.source import SourceConfig

EXPECTED_URL = "the publication's address, such as https://NAME.substack.com"
_PUBLICATION_PATH = re.compile(r"/pub/([a-z0-9-]{1,63})(?:/|\Z)", re.IGNORECASE)
_BLOCKED_HINT = (
    "Substack's protection (Cloudflare) blocks programs from this network, as it often does for servers and VPNs."
    " Try another network."
)


def normalize_url(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """Return the feed URL of the publication that the URL, or the post it leads to, belongs to. Raise InvalidError."""
    parts = parse_source_url(url, expected=EXPECTED_URL)
    return f"{_origin(parts)}/feed"


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the posts of the publication. Raise FetchError."""
    url = normalize_url(ctx.spec.url, ctx.spec.config)
    try:
        body = await fetch_body(ctx, url, accept=ACCEPT_FEEDS)
    except LoginRequiredError as error:
        raise LoginRequiredError(error.message, hint=_BLOCKED_HINT, retry_after=error.retry_after) from error
    if body.unchanged:
        return body.to_result()
    feed = await body.parse()
    return body.to_result(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


def _origin(parts: SplitResult) -> str:
    """Return scheme and host of the publication."""
    host = parts.hostname or ""
    if host == "open.substack.com" and (match := _PUBLICATION_PATH.match(parts.path)):
        return f"https://{match[1].lower()}.substack.com"
    if host in {"substack.com", "www.substack.com", "open.substack.com"}:
        raise_invalid("url", f"is Substack itself, not a publication; use {EXPECTED_URL}")
    return f"{parts.scheme}://{parts.netloc}"
