"""Registry of source types, and the two operations that every type has: normalize a URL, fetch a source.

A new source type needs a module in `sources/` and an entry here. The modules are imported when a source of their type
is first read, because the console needs only the entries to start.
"""

from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from copydesk.errors import SettingsError
from copydesk.model.source import ConfigField, Credit, FetchState, SourceConfig, SourceSpec, SourceTypeInfo

if TYPE_CHECKING:
    from copydesk.ingest.fetch_context import Credentials, FetchContext, FetchResult, HttpClient

DEFAULT_TYPE = "rss"
"""The type of a URL whose host belongs to no type."""

_QUERY = ConfigField(name="query", label="search", hint="words; empty: top stories", in_form=True)

SOURCE_TYPES: dict[str, SourceTypeInfo] = {
    info.name: info
    for info in (
        SourceTypeInfo(name="rss", label="feed", reader="copydesk.ingest.sources.rss"),
        SourceTypeInfo(
            name="twitter",
            label="X",
            reader="copydesk.ingest.sources.x",
            hosts=("x.com", "twitter.com"),
            config_fields=(
                ConfigField(name="replies", label="replies", hint="true to include replies"),
                ConfigField(name="reposts", label="reposts", hint="true to include reposts"),
            ),
            is_aggregator=True,
            credit=Credit.AUTHOR,
        ),
        SourceTypeInfo(
            name="reddit",
            label="Reddit",
            reader="copydesk.ingest.sources.reddit",
            hosts=("reddit.com",),
            config_fields=(
                ConfigField(name="listing", label="listing", hint="hot, new, top or rising"),
                ConfigField(name="window", label="period", hint="of top: hour, day, week, month, year or all"),
            ),
            is_aggregator=True,
            credit=Credit.LINKED_SITE,
        ),
        SourceTypeInfo(
            name="hackernews",
            label="Hacker News",
            reader="copydesk.ingest.sources.hackernews",
            hosts=("news.ycombinator.com",),
            config_fields=(
                _QUERY,
                ConfigField(name="list", label="list", hint="top, new, best, ask or show"),
            ),
            is_aggregator=True,
            credit=Credit.LINKED_SITE,
        ),
        SourceTypeInfo(
            name="google_news",
            label="Google News",
            reader="copydesk.ingest.sources.google_news",
            hosts=("news.google.com",),
            config_fields=(
                _QUERY,
                ConfigField(name="hl", label="language", hint="en-US"),
                ConfigField(name="gl", label="country", hint="US"),
                ConfigField(name="ceid", label="edition", hint="US:en"),
            ),
            is_aggregator=True,
            credit=Credit.LINKED_SITE,
        ),
        SourceTypeInfo(
            name="substack",
            label="Substack",
            reader="copydesk.ingest.sources.substack",
            hosts=("substack.com",),
        ),
    )
}
"""By name, in the order in which they are offered."""


class _Reader(Protocol):
    """The module of a source type."""

    def normalize_url(self, url: str, config: SourceConfig) -> str: ...

    async def fetch(self, ctx: "FetchContext") -> "FetchResult": ...


def register_source_type(info: SourceTypeInfo) -> None:
    """Add the source type of a plug-in. Raise ValueError if there is another of its name."""
    if SOURCE_TYPES.setdefault(info.name, info) != info:
        raise ValueError(f"Duplicate source type {info.name!r}.")


def get_source_type(name: str) -> SourceTypeInfo:
    """Return the source type `name`. One whose plug-in is missing has only a name."""
    return SOURCE_TYPES.get(name) or SourceTypeInfo(name=name, label=name, reader="")


def guess_source_type(url: str) -> SourceTypeInfo:
    """Return the source type that the host of `url` belongs to, the default type if it belongs to none."""
    try:
        # Without `//` urlsplit takes a bare host for a path.
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    except ValueError:
        host = ""
    return next((info for info in SOURCE_TYPES.values() if info.has_host(host)), SOURCE_TYPES[DEFAULT_TYPE])


def load_readers() -> None:
    """Import the modules of all source types."""
    for info in SOURCE_TYPES.values():
        import_module(info.reader)


async def fetch_source(
    spec: SourceSpec,
    state: FetchState,
    http: "HttpClient",
    *,
    credentials: "Credentials",
    now: datetime,
) -> "FetchResult":
    """Fetch the entries of `spec` that are new or changed since `state`; an empty state makes it the first fetch.

    `now` is aware and in UTC. Raise FetchError, and InvalidError for a URL that does not fit the type.
    """
    from copydesk.ingest.fetch_context import FetchContext  # noqa: PLC0415 - brings in the feed parsers

    ctx = FetchContext(spec=spec, state=state, http=http, credentials=credentials, now=now)
    return await _reader(spec.type).fetch(ctx)


def normalize_url(type: str, url: str, config: SourceConfig) -> str:
    """Return the URL of a source in the form in which it is stored.

    Raise InvalidError, which names the field (`url`, `config.query`...) and a valid value.
    """
    return _reader(type).normalize_url(url, config)


def _reader(type: str) -> _Reader:
    if type not in SOURCE_TYPES:
        hint = f"If a plug-in provided it, install it again. Source types: {', '.join(SOURCE_TYPES)}."
        raise SettingsError(f"Unknown source type {type!r}.", hint=hint)
    return cast("_Reader", import_module(SOURCE_TYPES[type].reader))
