"""Reads a source of any type, and brings the address that a user gives for one into its form."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from copydesk.ingest import google_news, hackernews, reddit, rss, substack, twitter
from copydesk.ingest.visit import Credentials, Endpoints, Http, Reading, Visit
from copydesk.model.source import FetchState, SourceConfig, SourceSpec, SourceType

__all__ = ["Credentials", "Endpoints", "Http", "Reading", "normalise", "read_source"]

_READERS: dict[SourceType, Callable[[Visit], Awaitable[Reading]]] = {
    SourceType.RSS: rss.read,
    SourceType.TWITTER: twitter.read,
    SourceType.REDDIT: reddit.read,
    SourceType.HACKERNEWS: hackernews.read,
    SourceType.GOOGLE_NEWS: google_news.read,
    SourceType.SUBSTACK: substack.read,
}
_ADDRESSES: dict[SourceType, Callable[[str, SourceConfig], str]] = {
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
    """What `spec` has to say since the look that `state` remembers; an empty state makes it the first.

    `now` is aware and in UTC. Raises FetchError, and InvalidError for an address that is none of its type.
    """
    visit = Visit(spec=spec, state=state, http=http, credentials=credentials, now=now, endpoints=endpoints)
    return await _READERS[spec.type](visit)


def normalise(type: SourceType, url: str, config: SourceConfig) -> str:
    """The address of a source in the form in which it is kept.

    Raises InvalidError, which names the field (`url`, `config.query`...) and what would be right.
    """
    return _ADDRESSES[type](url, config)
