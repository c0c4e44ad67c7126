"""Registry of source types: fetch a source of any type, and normalize its URL."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from copydesk.ingest.fetch_context import Credentials, Endpoints, FetchContext, FetchResult, HttpClient
from copydesk.ingest.sources import google_news, hackernews, reddit, rss, substack, x
from copydesk.model.source import FetchState, SourceConfig, SourceSpec, SourceType

__all__ = ["Credentials", "Endpoints", "FetchResult", "HttpClient", "fetch_source", "normalize_url"]

_FETCHERS: dict[SourceType, Callable[[FetchContext], Awaitable[FetchResult]]] = {
    SourceType.RSS: rss.fetch,
    SourceType.TWITTER: x.fetch,
    SourceType.REDDIT: reddit.fetch,
    SourceType.HACKERNEWS: hackernews.fetch,
    SourceType.GOOGLE_NEWS: google_news.fetch,
    SourceType.SUBSTACK: substack.fetch,
}
_URL_NORMALIZERS: dict[SourceType, Callable[[str, SourceConfig], str]] = {
    SourceType.RSS: rss.normalize_url,
    SourceType.TWITTER: x.normalize_url,
    SourceType.REDDIT: reddit.normalize_url,
    SourceType.HACKERNEWS: hackernews.normalize_url,
    SourceType.GOOGLE_NEWS: google_news.normalize_url,
    SourceType.SUBSTACK: substack.normalize_url,
}


async def fetch_source(
    spec: SourceSpec,
    state: FetchState,
    http: HttpClient,
    *,
    credentials: Credentials,
    now: datetime,
    endpoints: Endpoints = Endpoints(),  # noqa: B008 - frozen
) -> FetchResult:
    """Fetch the entries of `spec` that are new or changed since `state`; an empty state makes it the first fetch.

    `now` is aware and in UTC. Raise FetchError, and InvalidError for a URL that does not fit the type.
    """
    ctx = FetchContext(spec=spec, state=state, http=http, credentials=credentials, now=now, endpoints=endpoints)
    return await _FETCHERS[spec.type](ctx)


def normalize_url(type: SourceType, url: str, config: SourceConfig) -> str:
    """Return the URL of a source in the form in which it is stored.

    Raise InvalidError, which names the field (`url`, `config.query`...) and a valid value.
    """
    return _URL_NORMALIZERS[type](url, config)
