"""Looks for a post on its own account, by what it says and what it answers."""

import html
import re
import unicodedata
from collections.abc import AsyncIterator
from datetime import datetime
from urllib.parse import quote, urlencode

from copydesk.posting.mastodon.answers import Source, Status
from copydesk.posting.mastodon.server import Server
from copydesk.posting.platform import UnknownOutcomeError
from copydesk.text.links import MENTION

PAGE = 40
"""Statuses that are asked for at once; Mastodon gives no more."""
MOST_PAGES = 25
_LINE_END = re.compile(r"<(?:br|/?(?:p|div|li|blockquote))\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


async def found(server: Server, account: str, text: str, parent: str | None, since: datetime) -> Status | None:
    """The latest status of an account since then that says `text` and answers `parent`; None where there is none."""
    wanted = likeness(text)
    async for status in _since(server, account, since):
        if status.in_reply_to_id == parent and wanted == likeness(await _text(server, status)):
            return status
    return None


async def _since(server: Server, account: str, since: datetime) -> AsyncIterator[Status]:
    """What an account wrote since then, latest first; UnknownOutcomeError where it does not come to an end."""
    query = {"limit": str(PAGE), "exclude_reblogs": "true"}
    for _ in range(MOST_PAGES):
        path = f"/api/v1/accounts/{quote(account, safe='')}/statuses?{urlencode(query)}"
        page = await server.read(path, list[Status])
        for status in page:
            if status.created_at >= since and status.reblog is None:
                yield status
        # Pinned ones may come first on some servers, however old they are: only the end of a page tells.
        if not page or page[-1].created_at < since:
            return
        if page[-1].id == query.get("max_id"):
            break
        query["max_id"] = page[-1].id
    raise UnknownOutcomeError(f"There are more posts on {server.host} since then than can be looked through.")


async def _text(server: Server, status: Status) -> str:
    """What the author wrote: as the list has it, else its source, else what is left of the HTML."""
    if status.text:
        return status.text
    source = await server.read_if_there(f"/api/v1/statuses/{status.id}/source", Source)
    return source.text if source else plain(status.content)


def plain(content: str) -> str:
    """The text of a status's HTML. Links are there whole, in pieces that are shown or not."""
    return html.unescape(_TAG.sub("", _LINE_END.sub("\n", content)))


def likeness(text: str) -> str:
    """`text` reduced to what no server changes: without white space, and mentions as names without a server.

    Mastodon takes white space off the ends and writes mentions as it knows them; HTML has lines as elements.
    """
    named = MENTION.sub(lambda match: "@" + match[0].split("@")[1].lower(), unicodedata.normalize("NFC", text))
    return "".join(named.split())
