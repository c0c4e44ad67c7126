"""Registry of source types: fetch a source of any type, and normalize its URL."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from copydesk.ingest import google_news, hackernews, reddit, rss, substack, twitter
from copydesk.ingest.visit import Credentials, Endpoints, Http, Reading, Visit
from copydesk.model.source import FetchState, SourceConfig, SourceSpec, SourceType

__all__ = ["Credentials", "Endpoints", "Http", "Reading", "normalise", "read_source"]

_FETCHERS: dict[SourceType, Callable[[Visit], Awaitable[Reading]]] = {
    SourceType.RSS: rss.read,
    SourceType.TWITTER: twitter.read,
    SourceType.REDDIT: reddit.read,
    SourceType.HACKERNEWS: hackernews.read,
    SourceType.GOOGLE_NEWS: google_news.read,
    SourceType.SUBSTACK: substack.read,
}
_URL_NORMALIZERS: dict[SourceType, Callable[[str, SourceConfig], str]] = {
    SourceType.RSS: rss.normalise,
    SourceType.TWITTER: twitter.normalise,
    SourceType.REDDIT: reddit.normalise,
    SourceType.HACKERNEWS: hackernews.normalise,
    SourceType.GOOGLE_NEWS: google_news.normalise,
    SourceType.SUBSTACK: substack.normalise,
}


async def read_source(
    spec: SourceSpec,
    state: FetchState,
    http: Http,
    *,
    credentials: Credentials,
    now: datetime,
    endpoints: Endpoints = Endpoints(),  # noqa: B008 - frozen
) -> Reading:
    """Fetch the entries of `spec` that are new or changed since `state`; an empty state makes it the first fetch.

    `now` is aware and in UTC. Raise FetchError, and InvalidError for a URL that does not fit the type.
    """
    ctx = Visit(spec=spec, state=state, http=http, credentials=credentials, now=now, endpoints=endpoints)
    return await _FETCHERS[spec.type](ctx)


def normalise(type: SourceType, url: str, config: SourceConfig) -> str:
    """Return the URL of a source in the form in which it is stored.

    Raise InvalidError, which names the field (`url`, `config.query`...) and a valid value.
    """
    return _URL_NORMALIZERS[type](url, config)
