"""One look at a source: what its reader is given, and what it gives back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from copydesk.errors import FetchError
from copydesk.ingest.answer import Answer
from copydesk.ingest.feed import Feed, parse_feed
from copydesk.model.item import Entry
from copydesk.model.source import FetchState, SourceSpec
from copydesk.model.wire import Struct
from copydesk.text.digest import digest

ASKED = "asked"
"""The key of the cursor under which the address stands that the validators and the hash belong to."""
JSON = "application/json"
FEEDS = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1"
)
"""What a reader of feeds accepts, best first."""


class Http(Protocol):
    """The guarded client, as far as a reader needs it. Both raise FetchError for whatever is no success."""

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = ...,
        host_gap: float = 0,
    ) -> Answer:
        """The answer to a GET; conditional with a validator."""
        ...

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = ...) -> Answer:
        """The answer to a form that was posted."""
        ...


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What the user has of other people's services. Empty is the same as none; shown only as set or not."""

    reddit_client_id: str | None = None
    reddit_client_secret: str | None = None
    twitter_bearer_token: str | None = None
    twitter_daily_reads: int = 200
    """Posts of one source that may be read in a UTC day; each one costs money."""

    @property
    def reddit(self) -> tuple[str, str] | None:
        """Id and secret of the Reddit application, where both are set."""
        if self.reddit_client_id and self.reddit_client_secret:
            return self.reddit_client_id, self.reddit_client_secret
        return None

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Without the secrets: this is what tracebacks show."""
        return [
            ("reddit", "set" if self.reddit else "not set"),
            ("twitter", "set" if self.twitter_bearer_token else "not set"),
            ("twitter_daily_reads", self.twitter_daily_reads),
        ]

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


class Endpoints(Struct, frozen=True):
    """Where the services are that are not read at the source's own address; without a slash at the end."""

    reddit: str = "https://www.reddit.com"
    reddit_oauth: str = "https://oauth.reddit.com"
    algolia: str = "https://hn.algolia.com/api/v1"
    firebase: str = "https://hacker-news.firebaseio.com/v0"
    google_news: str = "https://news.google.com"
    twitter: str = "https://api.x.com/2"


class Visit(Struct, frozen=True):
    """One look at one source."""

    spec: SourceSpec
    state: FetchState
    http: Http
    credentials: Credentials
    now: datetime
    endpoints: Endpoints = Endpoints()


class Reading(Struct, frozen=True):
    """What one look at a source brought. Spans are seconds."""

    entries: tuple[Entry, ...] = ()
    unchanged: bool = False
    """Not modified, or the same body again: nothing was parsed."""
    etag: str | None = None
    last_modified: str | None = None
    """Both are to be kept as they are, None as well."""
    body_hash: bytes | None = None
    fresh_for: float | None = None
    """How long the answer says that it stays fresh."""
    retry_after: float | None = None
    """How long the answer, though a good one, asks to be left alone."""
    ttl: float | None = None
    """How long the feed says that it need not be asked again."""
    moved_to: str | None = None
    """Where the address was permanently redirected to."""
    found_at: str | None = None
    """The feed's address, where the source's own is a web page that names it: to be kept as the source's."""
    cursor: dict[str, str] = {}
    """What the source type wants to find again at the next look; replaces the one before."""
    feed_title: str | None = None
    failure: FetchError | None = None
    """What ended the look early. Entries and cursor hold nevertheless and are to be kept."""


class Body(Struct, frozen=True):
    """The one body of a source, and whether it is the one of the last look."""

    asked: str
    answer: Answer
    digest: bytes | None
    unchanged: bool
    etag: str | None
    last_modified: str | None
    moved_to: str | None
    """None where an address was asked that was made from the source's own: that says nothing about it."""

    async def feed(self) -> Feed:
        """The feed that it is. Raises NotAFeedError."""
        return await parse_feed(self.answer.body, charset=self.answer.charset, base_url=self.answer.url)

    def reading(
        self,
        entries: Sequence[Entry] = (),
        *,
        ttl: float | None = None,
        title: str | None = None,
        cursor: Mapping[str, str] | None = None,
    ) -> Reading:
        """The reading that this body gives; `cursor` is what the source type adds to it."""
        return Reading(
            entries=tuple(entries),
            unchanged=self.unchanged,
            etag=self.etag,
            last_modified=self.last_modified,
            body_hash=self.digest,
            fresh_for=self.answer.fresh_for,
            retry_after=self.answer.retry_after,
            ttl=ttl,
            moved_to=self.moved_to,
            cursor={**(cursor or {}), ASKED: self.asked},
            feed_title=title or None,
        )


async def get_body(
    visit: Visit, url: str, *, accept: str, headers: Mapping[str, str] | None = None, host_gap: float = 0
) -> Body:
    """The body at `url`, asked for with the validators of the last look if that was at the same address.

    A source's address and settings may have changed since: validators of another address would hide its entries.
    """
    known = visit.state if visit.state.cursor.get(ASKED) == url else FetchState()
    answer = await visit.http.get(
        url,
        accept=accept,
        etag=known.etag,
        last_modified=known.last_modified,
        headers=headers or {},
        host_gap=host_gap,
    )
    digest = known.body_hash if answer.not_modified else hash_of(answer.body)
    return Body(
        asked=url,
        answer=answer,
        digest=digest,
        unchanged=answer.not_modified or digest == known.body_hash,
        etag=known.etag if answer.not_modified else answer.etag,
        last_modified=known.last_modified if answer.not_modified else answer.last_modified,
        moved_to=answer.moved_to if url == visit.spec.url else None,
    )


def hash_of(body: bytes) -> bytes:
    """What tells whether a body is the one of the last look."""
    return digest(body)
