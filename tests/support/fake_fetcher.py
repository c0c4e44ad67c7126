"""A fetcher for reader tests: pages by URL, and the requests made for them.

web = FakeFetcher()
web.put("https://blog.example/feed", RSS, etag='"1"')
result = await web.read(make_spec("rss", "https://blog.example/feed"))
web.requests[0].url, web.requests[0].headers["accept"]

It uses the real client; only the network is replaced.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec

from copydesk.ingest.fetch_context import Credentials, FetchResult
from copydesk.ingest.registry import fetch_source
from copydesk.model.source import FetchState, SourceConfig, SourceSpec
from copydesk.network.fetcher import Fetcher
from copydesk.network.response import Response

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOSTILE_TITLE = "\x1b[31m[red]Bold\u202e claim\x07[/red]"
"""A title with terminal commands and markup."""


def make_spec(type: str, url: str, **config: Any) -> SourceSpec:
    """Return a source specification. `config` has the shape of the HTTP interface."""
    return SourceSpec(type=type, url=url, config=msgspec.convert(config, SourceConfig))


def next_state(result: FetchResult) -> FetchState:
    """Return the fetch state stored after a fetch."""
    return FetchState(
        etag=result.etag,
        last_modified=result.last_modified,
        body_hash=result.body_hash,
        cursor=result.cursor,
    )


class FakeFetcher:
    """Pages by complete URL. Unknown URLs get 404."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.host_gaps: list[float] = []
        self._pages: dict[str, list[tuple[int, bytes, dict[str, str]]]] = {}
        self._fetcher = Fetcher(clock=lambda: NOW, transport=httpx.MockTransport(self._respond))

    def put(self, url: str, body: bytes | str | object, status: int = 200, **headers: str) -> None:
        """Put a page at `url`. Pages put at the same URL are served in turn; the last one stays."""
        raw = body.encode() if isinstance(body, str) else body
        raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        response_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self._pages.setdefault(url, []).append((status, raw, response_headers))

    @property
    def requested_urls(self) -> list[str]:
        """The requested URLs, in order."""
        return [str(request.url) for request in self.requests]

    async def read(
        self, spec: SourceSpec, state: FetchState | None = None, *, now: datetime = NOW, **credentials: Any
    ) -> FetchResult:
        """Fetch a source once."""
        source_credentials = Credentials(**credentials)
        return await fetch_source(spec, state or FetchState(), self, credentials=source_credentials, now=now)

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = {},
        host_gap: float = 0,
    ) -> Response:
        """Return the client's response, without its pause between requests to one host."""
        self.host_gaps.append(host_gap)
        return await self._fetcher.get(url, accept=accept, etag=etag, last_modified=last_modified, headers=headers)

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Response:
        """Return the client's response."""
        return await self._fetcher.post_form(url, data, headers)

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        pages = self._pages.get(str(request.url))
        if not pages:
            return httpx.Response(404)
        status, body, headers = pages.pop(0) if len(pages) > 1 else pages[0]
        if status == 200 and "etag" in headers and request.headers.get("if-none-match") == headers["etag"]:
            return httpx.Response(304, headers=headers)
        return httpx.Response(status, content=body, headers=headers)
