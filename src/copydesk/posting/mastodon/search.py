"""Find a post on its own account by its text and the post it replies to."""

import html
import re
import unicodedata
from collections.abc import AsyncIterator
from datetime import datetime
from urllib.parse import quote, urlencode

from copydesk.posting.mastodon.answers import Status, StatusSource
from copydesk.posting.mastodon.server import Server
from copydesk.posting.platform import UnknownOutcomeError
from copydesk.text.links import MENTION

PAGE_SIZE = 40
"""Statuses per request; Mastodon's maximum."""
MAX_PAGES = 25
_LINE_END = re.compile(r"<(?:br|/?(?:p|div|li|blockquote))\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


async def find_status(server: Server, account: str, text: str, parent: str | None, since: datetime) -> Status | None:
    """Return the account's latest status since `since` with this text and parent; None if there is none."""
    expected = normalize_text(text)
    async for status in _statuses_since(server, account, since):
        if status.in_reply_to_id == parent and expected == normalize_text(await _source_text(server, status)):
            return status
    return None


async def _statuses_since(server: Server, account: str, since: datetime) -> AsyncIterator[Status]:
    """Yield the account's statuses since `since`, latest first. Raise `UnknownOutcomeError` if there are too many."""
    query = {"limit": str(PAGE_SIZE), "exclude_reblogs": "true"}
    for _ in range(MAX_PAGES):
        path = f"/api/v1/accounts/{quote(account, safe='')}/statuses?{urlencode(query)}"
        page = await server.get_json(path, list[Status])
        for status in page:
            if status.created_at >= since and status.reblog is None:
                yield status
        # Some servers list pinned statuses first, however old: only the last one of a page tells its age.
        if not page or page[-1].created_at < since:
            return
        # A server that ignores `max_id` would return the same page for ever.
        if page[-1].id == query.get("max_id"):
            break
        query["max_id"] = page[-1].id
    raise UnknownOutcomeError(f"There are more posts on {server.host} since then than can be looked through.")


async def _source_text(server: Server, status: Status) -> str:
    """Return the author's text: from the list, else the status source, else the HTML content."""
    if status.text:
        return status.text
    source = await server.get_json_or_none(f"/api/v1/statuses/{status.id}/source", StatusSource)
    return source.text if source else html_to_text(status.content)


def html_to_text(content: str) -> str:
    """Return the text of a status's HTML. Links are complete in it, although partly in invisible elements."""
    return html.unescape(_TAG.sub("", _LINE_END.sub("\n", content)))


def normalize_text(text: str) -> str:
    """Return `text` reduced to what no server changes: no white space, and mentions without their server.

    Mastodon strips white space and rewrites mentions; in HTML, lines are elements.
    """
    short_mentions = MENTION.sub(lambda match: "@" + match[0].split("@")[1].lower(), unicodedata.normalize("NFC", text))
    return "".join(short_mentions.split())
