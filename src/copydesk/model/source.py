"""A source: what it is called, where it is, how it is read and how it is doing."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from copydesk.model.wire import Struct


class SourceType(StrEnum):
    """The kinds of source that Copydesk reads."""

    RSS = "rss"
    TWITTER = "twitter"
    REDDIT = "reddit"
    HACKERNEWS = "hackernews"
    GOOGLE_NEWS = "google_news"
    SUBSTACK = "substack"


class Health(StrEnum):
    """How a source is doing, as the user sees it."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    STALE = "stale"
    ERROR = "error"
    UNKNOWN = "unknown"


class Listing(StrEnum):
    """Which of a subreddit's lists is read."""

    HOT = "hot"
    NEW = "new"
    TOP = "top"
    RISING = "rising"


class HackerNewsList(StrEnum):
    """Which of Hacker News' lists is read."""

    TOP = "top"
    NEW = "new"
    BEST = "best"
    ASK = "ask"
    SHOW = "show"


Tag = Annotated[str, msgspec.Meta(max_length=50, pattern=r"\S")]
"""A label of a draft: something that can be seen, within 50 characters."""


class SourceConfig(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one source is read. All optional; a key of another source type is kept and has no effect."""

    weight: Annotated[float, msgspec.Meta(ge=0, le=10)] = 1.0
    """How much this source counts in the ranking."""
    min_score: float | None = None
    """Items whose score is below this are not drafted."""
    max_items: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The newest so many entries of one fetch that may become drafts; the rest are stored as history."""
    include: tuple[str, ...] = ()
    """Words or /regular expressions/ of which one must be in title or text."""
    exclude: tuple[str, ...] = ()
    """Words or /regular expressions/ of which none may be in title or text."""
    language: str | None = None
    """A language code such as `en`: items in another known language are left out."""
    interval: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Minutes between fetches; by default Copydesk learns it from the source."""
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] = ()
    """Put on every draft that is made from this source."""

    listing: Listing = Listing.NEW
    """reddit: which list."""
    window: str | None = None
    """reddit: the period of `top`: hour, day, week, month, year, all."""
    list: HackerNewsList = HackerNewsList.TOP
    """hackernews: which list."""
    query: str | None = None
    """hackernews, google_news: a search instead of a list."""
    hl: str | None = None
    """google_news: language of the interface, `en-US`."""
    gl: str | None = None
    """google_news: country, `US`."""
    ceid: str | None = None
    """google_news: country and language, `US:en`."""
    replies: bool = False
    """twitter: read replies too."""
    reposts: bool = False
    """twitter: read reposts too."""


class Source(Struct, frozen=True):
    """A source as the interface shows it."""

    id: str
    type: SourceType
    name: str
    url: str | None
    config: SourceConfig | None
    enabled: bool
    last_fetch: datetime | None
    health: Health
    fail_count: int
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    item_count: int


class FetchState(Struct, frozen=True):
    """What Copydesk remembers between two fetches of one source. All times UTC, all spans seconds."""

    etag: str | None = None
    last_modified: str | None = None
    """Both validators are opaque, sent back byte by byte, and replaced as a pair on every 200."""
    body_hash: bytes | None = None
    """blake2b of the last body: an equal one is not parsed again."""
    last_fetch: datetime | None = None
    """When a fetch last ended, well or badly."""
    last_ok: datetime | None = None
    last_new: datetime | None = None
    """When a fetch last brought something new."""
    next_at: datetime | None = None
    """Not to be fetched by itself before this."""
    not_before: datetime | None = None
    """Not to be fetched at all before this: the other side said so."""
    interval: float | None = None
    """Seconds between fetches as learnt so far."""
    gap: float | None = None
    """Running mean of the time between two new entries."""
    ttl: float | None = None
    """Seconds for which the feed itself says that it need not be asked again; a 304 does not repeat it."""
    fails: int = 0
    """Failures in a row."""
    error_category: str | None = None
    error: str | None = None
    gone: bool = False
    moved_to: str | None = None
    """Where the last answers were permanently redirected to."""
    moved_seen: int = 0
    """How often in a row; the address is changed at the third."""
    missing_since: datetime | None = None
    """The first of the 404 answers in a row."""
    cursor: dict[str, str] = {}
    """What the source type itself remembers: newest id seen, user id, reads today."""


class SourceSpec(Struct, frozen=True):
    """What it takes to read a source."""

    type: SourceType
    url: str
    config: SourceConfig = SourceConfig()
    name: str = ""
