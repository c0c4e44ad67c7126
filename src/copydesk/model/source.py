"""Sources: identity, configuration, health, and the state kept between fetches."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec

from copydesk.model.serialization import Struct
from copydesk.model.validation import WebAddress

MAX_NAME_LENGTH = 200
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=r"\S")]

Tag = Annotated[str, msgspec.Meta(max_length=50, pattern=r"\S")]
"""A label of a draft: at most 50 characters, at least one of them visible."""


class Credit(StrEnum):
    """The name that a draft gives its source."""

    SOURCE = "source"
    """The name of the source."""
    LINKED_SITE = "linked_site"
    """The host that the entry links to, unless it is one of the source type's own."""
    AUTHOR = "author"
    """The author of the entry."""


class ConfigField(Struct, frozen=True):
    """A setting that only some source types have."""

    name: str
    """Name in `SourceConfig`, or in its `options`."""
    label: str
    hint: str
    in_form: bool = False
    """Shown in the form of the console; every setting can be given on the command line."""


class SourceTypeInfo(Struct, frozen=True):
    """Everything known about a source type besides the code that reads it."""

    name: str
    """The value of `type` on the wire and in the database."""
    label: str
    reader: str
    """Module with `normalize_url(url, config)` and `fetch(ctx)`. Imported when a source of the type is first read."""
    hosts: tuple[str, ...] = ()
    """URLs at these hosts, and at hosts below them, are taken for sources of this type."""
    config_fields: tuple[ConfigField, ...] = ()
    is_aggregator: bool = False
    """The entries point to articles elsewhere: of a story's items the article itself is preferred."""
    credit: Credit = Credit.SOURCE

    @property
    def form_fields(self) -> tuple[ConfigField, ...]:
        """The settings that are shown in the form."""
        return tuple(field for field in self.config_fields if field.in_form)

    def has_host(self, host: str) -> bool:
        """Return True if `host` is one of the type's hosts or below one."""
        return any(host == own or host.endswith(f".{own}") for own in self.hosts)


class Health(StrEnum):
    """Health of a source, as displayed to the user."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    STALE = "stale"
    ERROR = "error"
    UNKNOWN = "unknown"


class SubredditListing(StrEnum):
    """Subreddit listings."""

    HOT = "hot"
    NEW = "new"
    TOP = "top"
    RISING = "rising"


class HackerNewsList(StrEnum):
    """Hacker News lists."""

    TOP = "top"
    NEW = "new"
    BEST = "best"
    ASK = "ask"
    SHOW = "show"


class ImagePolicy(StrEnum):
    """Use of the images in the entries of a source."""

    ATTACH = "attach"
    """They are posted with the draft."""
    PROPOSE = "propose"
    """They are posted if the user attaches them."""
    NEVER = "never"


class SourceConfig(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of one source. All are optional; a key of another source type is stored and ignored."""

    weight: Annotated[float, msgspec.Meta(ge=0, le=10)] = 1.0
    """Weight of the source in the ranking."""
    min_score: float | None = None
    """Do not draft items with a lower score."""
    max_items: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Only the newest entries of one fetch, up to this number, may become drafts; the rest are stored as history."""
    include: tuple[str, ...] = ()
    """Words or /regular expressions/, one of which must occur in title or text."""
    exclude: tuple[str, ...] = ()
    """Words or /regular expressions/, none of which may occur in title or text."""
    language: str | None = None
    """A language code such as `en`: exclude items in another known language."""
    interval: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Minutes between fetches; by default learned from the source's activity."""
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] = ()
    """Added to every draft from this source."""
    images: ImagePolicy = ImagePolicy.PROPOSE
    """Attach the images of entries to drafts, propose them only, or never use them."""

    listing: SubredditListing = SubredditListing.NEW
    """reddit: the listing to read."""
    window: str | None = None
    """reddit: the period of `top`: hour, day, week, month, year, all."""
    list: HackerNewsList = HackerNewsList.TOP
    """hackernews: the list to read."""
    query: str | None = None
    """hackernews, google_news: a search instead of a list."""
    hl: str | None = None
    """google_news: interface language, `en-US`."""
    gl: str | None = None
    """google_news: country, `US`."""
    ceid: str | None = None
    """google_news: country and language, `US:en`."""
    replies: bool = False
    """twitter: include replies."""
    reposts: bool = False
    """twitter: include reposts."""
    options: dict[str, str] = {}
    """Settings of source types that are added by packages, by name."""


class Source(Struct, frozen=True):
    """A source as the interface returns it."""

    id: str
    type: str
    """Name of a source type."""
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
    named_by_user: bool = False
    """True if the user gave the name, which drafts then credit as it is; otherwise it is the feed's title."""


class NewSource(Struct, frozen=True, forbid_unknown_fields=True):
    """A source to add, or to test."""

    type: str
    url: WebAddress
    name: Name | None = None
    """None takes the feed's title."""
    config: SourceConfig | None = None


class ChangeSource(Struct, frozen=True, forbid_unknown_fields=True):
    """Replacements for fields of a source; those that are not given keep their values."""

    name: Name | msgspec.UnsetType = msgspec.UNSET
    type: str | msgspec.UnsetType = msgspec.UNSET
    url: WebAddress | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    config: SourceConfig | msgspec.UnsetType | None = msgspec.UNSET
    """Replaces all settings; None removes them."""


class FetchState(Struct, frozen=True):
    """State kept between two fetches of a source. Times are UTC, durations seconds."""

    etag: str | None = None
    last_modified: str | None = None
    """Both validators are opaque, sent back byte by byte, and replaced as a pair on every 200."""
    body_hash: bytes | None = None
    """BLAKE2b of the last body; an identical one is not parsed again."""
    last_fetch: datetime | None = None
    """When the last fetch ended, successfully or not."""
    last_ok: datetime | None = None
    last_new: datetime | None = None
    """When a fetch last returned a new entry."""
    next_at: datetime | None = None
    """No scheduled fetch before this time."""
    not_before: datetime | None = None
    """No fetch at all before this time: the server asked for it."""
    interval: float | None = None
    """Seconds between fetches, as learned so far."""
    gap: float | None = None
    """Running mean of the seconds between new entries."""
    ttl: float | None = None
    """Seconds for which the feed declares itself fresh. Stored because a 304 does not repeat it."""
    fails: int = 0
    """Consecutive failures."""
    error_category: str | None = None
    error: str | None = None
    gone: bool = False
    moved_to: str | None = None
    """Target of the most recent permanent redirects."""
    moved_seen: int = 0
    """Consecutive redirects to it; the source's URL is changed at the third."""
    missing_since: datetime | None = None
    """Time of the first of the consecutive 404 responses."""
    cursor: dict[str, str] = {}
    """State of the source type itself: newest id, user id, reads today."""


class SourceSpec(Struct, frozen=True):
    """The data needed to fetch a source."""

    type: str
    url: str
    config: SourceConfig = SourceConfig()
    name: str = ""


class SourceGroup(NamedTuple):
    """Sources of one host, which are fetched one after the other."""

    host: str
    source_ids: tuple[str, ...]
