"""One fetch of one source: the context given to a source type, and the result it returns."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from copydesk.errors import FetchError
from copydesk.ingest.feed.parse import Feed, parse_feed
from copydesk.model.item import Entry, digest
from copydesk.model.serialization import Struct
from copydesk.model.source import FetchState, SourceSpec
from copydesk.network.response import Response

REQUESTED_URL_KEY = "asked"
"""Cursor key of the requested URL that the stored validators and body hash belong to."""
ACCEPT_JSON = "application/json"
ACCEPT_FEEDS = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1"
)
"""Accept header for feeds, best first."""


class HttpClient(Protocol):
    """The guarded client as source types see it. Both methods raise FetchError unless the request succeeds."""

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = ...,
        host_gap: float = 0,
    ) -> Response:
        """Fetch `url`; conditional if a validator is given."""
        ...

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = ...) -> Response:
        """Post a form."""
        ...


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials for other services. Empty values count as missing; `repr` only tells which are set."""

    reddit_client_id: str | None = None
    reddit_client_secret: str | None = None
    twitter_bearer_token: str | None = None
    twitter_daily_reads: int = 200
    """Posts of one source that may be read per UTC day; each costs money."""

    @property
    def reddit(self) -> tuple[str, str] | None:
        """Id and secret of the Reddit application, if both are set."""
        if self.reddit_client_id and self.reddit_client_secret:
            return self.reddit_client_id, self.reddit_client_secret
        return None

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Leave out the secrets: Rich shows this in tracebacks."""
        return [
            ("reddit", "set" if self.reddit else "not set"),
            ("twitter", "set" if self.twitter_bearer_token else "not set"),
            ("twitter_daily_reads", self.twitter_daily_reads),
        ]

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


class FetchContext(Struct, frozen=True):
    """Everything a source type needs for one fetch of one source."""

    spec: SourceSpec
    state: FetchState
    http: HttpClient
    credentials: Credentials
    now: datetime


class FetchResult(Struct, frozen=True):
    """The result of one fetch. Durations are in seconds."""

    entries: tuple[Entry, ...] = ()
    removed: tuple[str, ...] = ()
    """Idents of entries that the source says were deleted."""
    unchanged: bool = False
    """Not modified, or the same body again: nothing was parsed."""
    etag: str | None = None
    last_modified: str | None = None
    """Both validators replace the stored ones, None included."""
    body_hash: bytes | None = None
    fresh_for: float | None = None
    """Freshness lifetime of the response."""
    retry_after: float | None = None
    """Pause that a successful response asked for."""
    ttl: float | None = None
    """Polling interval that the feed asks for."""
    moved_to: str | None = None
    """Target of a permanent redirect."""
    discovered_url: str | None = None
    """URL of the feed discovered on the source's web page; replaces the source's URL."""
    cursor: dict[str, str] = {}
    """State of the source type for the next fetch; replaces the previous one."""
    feed_title: str | None = None
    error: FetchError | None = None
    """Error that ended the fetch early. Entries and cursor are valid nevertheless and must be stored."""


class FetchedBody(Struct, frozen=True):
    """The response of a source with a single body, and whether it is that of the last fetch."""

    requested_url: str
    response: Response
    digest: bytes | None
    unchanged: bool
    etag: str | None
    last_modified: str | None
    moved_to: str | None
    """None if the requested URL was derived from the source's: its redirect says nothing about that one."""

    async def parse(self) -> Feed:
        """Parse the body as a feed. Raise NotAFeedError."""
        return await parse_feed(self.response.body, charset=self.response.charset, base_url=self.response.url)

    def to_result(
        self,
        entries: Sequence[Entry] = (),
        *,
        removed: Sequence[str] = (),
        ttl: float | None = None,
        title: str | None = None,
        cursor: Mapping[str, str] | None = None,
    ) -> FetchResult:
        """Return the result for this body; `cursor` is the source type's own state."""
        return FetchResult(
            entries=tuple(entries),
            removed=tuple(removed),
            unchanged=self.unchanged,
            etag=self.etag,
            last_modified=self.last_modified,
            body_hash=self.digest,
            fresh_for=self.response.fresh_for,
            retry_after=self.response.retry_after,
            ttl=ttl,
            moved_to=self.moved_to,
            cursor={**(cursor or {}), REQUESTED_URL_KEY: self.requested_url},
            feed_title=title or None,
        )


async def fetch_body(
    ctx: FetchContext, url: str, *, accept: str, headers: Mapping[str, str] | None = None, host_gap: float = 0
) -> FetchedBody:
    """Fetch `url` with the validators of the last fetch, if that requested the same URL.

    The source's URL or settings may have changed since: validators of another URL would hide all entries.
    """
    previous = ctx.state if ctx.state.cursor.get(REQUESTED_URL_KEY) == url else FetchState()
    response = await ctx.http.get(
        url,
        accept=accept,
        etag=previous.etag,
        last_modified=previous.last_modified,
        headers=headers or {},
        host_gap=host_gap,
    )
    # Many servers send no validators and repeat the same body: the digest spares parsing it.
    digest = previous.body_hash if response.not_modified else body_digest(response.body)
    return FetchedBody(
        requested_url=url,
        response=response,
        digest=digest,
        unchanged=response.not_modified or digest == previous.body_hash,
        # A 304 may omit the validators: the stored ones are still valid.
        etag=previous.etag if response.not_modified else response.etag,
        last_modified=previous.last_modified if response.not_modified else response.last_modified,
        moved_to=response.moved_to if url == ctx.spec.url else None,
    )


def body_digest(body: bytes) -> bytes:
    """Return the digest by which an unchanged body is recognized."""
    return digest(body)
