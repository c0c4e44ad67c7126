"""A web of a few pages for tests of the readers: what is at which address, and what was asked for.

web = SmallWeb()
web.put("https://blog.example/feed", RSS, etag='"1"')
reading = await web.read(spec(SourceType.RSS, "https://blog.example/feed"))
web.asked[0].url, web.asked[0].headers["accept"]

The real client asks; only its network is replaced.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec

from copydesk.ingest.answer import Answer
from copydesk.ingest.fetch import Fetcher
from copydesk.ingest.reading import Credentials, Reading, read_source
from copydesk.model.source import FetchState, SourceConfig, SourceSpec, SourceType

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NASTY = "\x1b[31m[red]Bold\u202e claim\x07[/red]"
"""A title that wants to command a terminal and to be markup."""


def spec(type: SourceType, url: str, **config: Any) -> SourceSpec:
    """What it takes to read a source; the settings as the interface has them."""
    return SourceSpec(type=type, url=url, config=msgspec.convert(config, SourceConfig))


def after(reading: Reading) -> FetchState:
    """What is remembered after a reading."""
    return FetchState(
        etag=reading.etag,
        last_modified=reading.last_modified,
        body_hash=reading.body_hash,
        cursor=reading.cursor,
    )


class SmallWeb:
    """Pages by their whole address. What is not there is 404."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.gaps: list[float] = []
        self._pages: dict[str, list[tuple[int, bytes, dict[str, str]]]] = {}
        self._fetcher = Fetcher(clock=lambda: NOW, transport=httpx.MockTransport(self._answer))

    def put(self, url: str, body: bytes | str | object, status: int = 200, **headers: str) -> None:
        """Put a page at `url`; another one put there is for the next time, and the last one stays."""
        raw = body.encode() if isinstance(body, str) else body
        raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._pages.setdefault(url, []).append((status, raw, named))

    @property
    def urls(self) -> list[str]:
        """What was asked for, in order."""
        return [str(request.url) for request in self.asked]

    async def read(
        self, spec: SourceSpec, state: FetchState | None = None, *, now: datetime = NOW, **credentials: Any
    ) -> Reading:
        """One look at a source of this web."""
        known = Credentials(**credentials)
        return await read_source(spec, state or FetchState(), self, credentials=known, now=now)

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = {},
        host_gap: float = 0,
    ) -> Answer:
        """The client's answer, without its pause between two requests to a host."""
        self.gaps.append(host_gap)
        return await self._fetcher.get(url, accept=accept, etag=etag, last_modified=last_modified, headers=headers)

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Answer:
        """The client's answer."""
        return await self._fetcher.post_form(url, data, headers)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        pages = self._pages.get(str(request.url))
        if not pages:
            return httpx.Response(404)
        status, body, headers = pages.pop(0) if len(pages) > 1 else pages[0]
        if status == 200 and "etag" in headers and request.headers.get("if-none-match") == headers["etag"]:
            return httpx.Response(304, headers=headers)
        return httpx.Response(status, content=body, headers=headers)
