"""A page of drafts and an approval, served by a bare ASGI application on sqlite3 under uvicorn.

It runs the statements of the service's page, its look for the token included, and returns the same JSON. It checks no
token, knows no other request, and writes nothing but the one UPDATE.
"""

import asyncio
import socket
import sqlite3
import sys
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
import uvicorn

from copydesk.model.filters import Filters
from copydesk.model.page import encode_cursor
from copydesk.model.serialization import format_iso
from copydesk.store.column_types import to_microseconds
from copydesk.store.database import _PRAGMAS
from copydesk.store.draft_queries import _page_sql, page_parameters, page_shape
from copydesk.store.draft_rows import DRAFT_COLUMNS, _among, _images_sql, _items_sql, _tags_sql, _variants_sql
from copydesk.store.tokens import _ACCESS

PAGE = 25
TIMES = {"scheduled_at", "posted_at", "created_at", "updated_at", "archived_at"}
STORED_AS_JSON = {"target_platforms", "checks", "sentences", "score", "agent"}
APPROVE = "UPDATE draft SET status = 'approved', version = version + 1, updated_at = ? WHERE id = ? AND user_id = ?"


class BareService:
    """The ASGI application."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        # As durable as an approval by the service.
        self._connection.executescript(f"{_PRAGMAS} PRAGMA synchronous = FULL;")
        self._user = self._connection.execute("SELECT min(id) FROM user").fetchone()[0]
        self._filters = Filters()
        self._page = _page_sql(page_shape(self._filters, None))

    async def __call__(self, scope, receive, send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        if scope["method"] == "GET":
            body = self._read_page(headers[b"authorization"])
        else:
            await receive()
            body = self._approve(scope["path"].rpartition("/")[2])
        length = str(len(body)).encode()
        start = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": start})
        await send({"type": "http.response.body", "body": body})

    def _read_page(self, authorization: bytes) -> bytes:
        execute = self._connection.execute
        execute(_ACCESS, (sha256(authorization[len(b"Bearer ") :]).digest(),)).fetchone()
        rows = execute(self._page, page_parameters(self._user, self._filters, PAGE + 1, None)).fetchall()[:PAGE]
        among, ids = _among(self._connection, [row[0] for row in rows])
        parameters = (self._user, *ids)
        images: dict[tuple[str, bool], list[object]] = {}
        for draft_id, proposed, image_id, url, alt, position, source, agency in execute(_images_sql(among), parameters):
            image = {"id": image_id, "url": url, "alt": alt, "position": position, "source": source}
            if agency is not None:
                image["agency"] = agency
            images.setdefault((draft_id, bool(proposed)), []).append(image)
        tags: dict[str, list[str]] = {}
        for draft_id, name in execute(_tags_sql(among), parameters):
            tags.setdefault(draft_id, []).append(name)
        if any(row[2] == "BLOG" for row in rows):
            execute(_items_sql(among), parameters).fetchall()
        execute(_variants_sql(among), parameters).fetchall()
        drafts = [
            _to_json(row, images.get((row[0], False), []), images.get((row[0], True), []), tags.get(row[0], []))
            for row in rows
        ]
        cursor = encode_cursor(rows[-1][0], "drafts", self._user, self._filters)
        return msgspec.json.encode({"drafts": drafts, "nextCursor": cursor})

    def _approve(self, draft_id: str) -> bytes:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(APPROVE, (to_microseconds(datetime.now(UTC)), draft_id, self._user))
        self._connection.execute("COMMIT")
        return b'{"status":"approved"}'


def _to_json(row, images, proposed_images, tags) -> dict[str, object]:
    draft = {}
    for name, value in zip(DRAFT_COLUMNS, row, strict=False):
        if name in TIMES:
            draft[_CAMEL[name]] = None if value is None else format_iso(datetime.fromtimestamp(value / 1e6, UTC))
        elif name == "confidence_known":
            draft[_CAMEL[name]] = bool(value)
        else:
            is_json = name in STORED_AS_JSON and value is not None
            draft[_CAMEL[name]] = msgspec.Raw(value.encode()) if is_json else value
    title, source_type, published = row[-3:]
    published_at = format_iso(datetime.fromtimestamp(published / 1e6, UTC))
    item = {"id": draft["itemId"], "title": title, "sourceType": source_type, "published": published_at}
    others = {"tags": tags, "images": images, "proposedImages": proposed_images, "variants": [], "items": []}
    return draft | others | {"item": item}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_CAMEL = {name: _camel(name) for name in DRAFT_COLUMNS}


async def main(path: str) -> None:
    """Serve on a free port, which is printed."""
    config = uvicorn.Config(BareService(path), log_config=None, access_log=False, lifespan="off")
    # With the protocol, as the service does it: asyncio sets TCP_NODELAY only then.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
