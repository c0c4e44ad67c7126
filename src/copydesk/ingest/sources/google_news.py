"""Source type google_news: a search, a topic or the front page of Google News, by its feeds.

An entry's URL is Google's redirect, which since 2024 only a browser can resolve; the same story from another source
usually has the publisher's. `hl`, `gl` and `ceid` must agree, or Google responds with another edition.
"""

import re
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec.structs import replace

from copydesk.ingest.fetch_context import ACCEPT_FEEDS, FetchContext, FetchResult, fetch_body
from copydesk.ingest.urls import parse_source_url, raise_invalid
from copydesk.model.item import Entry
from copydesk.model.source import SourceConfig

SITE = "https://news.google.com"
EXPECTED_URL = f"{SITE} with config.query, or the address of a search or a topic there"
DEFAULT_TIME_FILTER = "when:7d"
"""Added to a search without a time filter: otherwise Google mixes in stories of many years."""
_TIME_FILTER = re.compile(r"\b(?:when|after|before):", re.IGNORECASE)
_TOPIC_PATH = re.compile(r"/(?:topics|publications|headlines/section)/[\w/-]{1,500}\Z", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?\Z")
_COUNTRY = re.compile(r"[A-Z]{2}\Z")
_CEID = re.compile(r"[A-Z]{2}:[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?\Z")
_EDITION_LANGUAGES = {"pt-BR": "pt-419", "zh-CN": "zh-Hans", "zh-TW": "zh-Hant", "zh-HK": "zh-Hant"}
"""`hl` -> language in `ceid`, where that is not the first part of `hl`."""


def normalize_url(url: str, config: SourceConfig) -> str:
    """Return the URL of the page's feed, with only the query and the edition kept. Raise InvalidError."""
    parts = parse_source_url(url, expected=EXPECTED_URL)
    if parts.hostname != "news.google.com":
        raise_invalid("url", f"is not Google News; use {EXPECTED_URL}")
    if config.query is not None and not config.query.strip():
        raise_invalid("config.query", "is empty; enter search words, or leave it out for the top stories")
    parameters = _parameters(parts.query)
    _edition(config, parameters)
    path = _feed_path(parts.path, is_search=bool(config.query or parameters.get("q")))
    return f"{SITE}/rss{path}{'?' if parameters else ''}{urlencode(parameters)}"


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the entries of the feed. Raise FetchError."""
    body = await fetch_body(ctx, _feed_url(ctx), accept=ACCEPT_FEEDS)
    if body.unchanged:
        return body.to_result()
    feed = await body.parse()
    return body.to_result([_clean_entry(entry) for entry in feed.entries], ttl=feed.ttl_seconds, title=feed.title)


class Edition(NamedTuple):
    """An edition: language of the interface, country, and country with language."""

    hl: str
    gl: str
    ceid: str


def _feed_url(ctx: FetchContext) -> str:
    config = ctx.spec.config
    parts = urlsplit(normalize_url(ctx.spec.url, config))
    parameters = _parameters(parts.query)
    query = (config.query or parameters.get("q", "")).strip()
    if query and not _TIME_FILTER.search(query):
        query = f"{query} {DEFAULT_TIME_FILTER}"
    search = {"q": query} if parts.path == "/rss/search" else {}
    return f"{SITE}{parts.path}?{urlencode({**search, **_edition(config, parameters)._asdict()})}"


def _parameters(query: str) -> dict[str, str]:
    """Return the parameters of a URL that select the search and the edition."""
    parsed = parse_qs(query)
    return {name: parsed[name][0].strip() for name in ("q", "hl", "gl", "ceid") if name in parsed}


def _feed_path(path: str, *, is_search: bool) -> str:
    """Return the part of the feed's URL after `/rss`."""
    path = path.removeprefix("/rss").rstrip("/")
    if path == "/search" and not is_search:
        raise_invalid("config.query", f"is missing; enter search words, or use {SITE} for the top stories")
    if path in {"", "/home", "/search"}:
        return "/search" if is_search else ""
    if not _TOPIC_PATH.match(path):
        raise_invalid("url", f"is not a Google News page with a feed; use {EXPECTED_URL}")
    return path


def _edition(config: SourceConfig, parameters: dict[str, str]) -> Edition:
    """Return the edition by the settings, then by the URL's parameters; derive what both leave open.

    Raise InvalidError if they contradict each other, or leave the language or the country open.
    """
    hl, gl, ceid = (
        config.hl or parameters.get("hl"),
        config.gl or parameters.get("gl"),
        config.ceid or parameters.get("ceid"),
    )
    _validate_formats(hl, gl, ceid)
    country, _, language = (ceid or "").partition(":")
    gl = gl or country or _country_of(hl)
    hl = hl or _language_of(gl, language)
    # Google has no plain English edition: `hl` must name the country.
    if hl == "en":
        hl = f"en-{gl}"
    if not ceid:
        # es-419, Latin American Spanish, keeps its region in `ceid`.
        language_code = hl if hl.endswith("-419") else hl.partition("-")[0]
        ceid = f"{gl}:{_EDITION_LANGUAGES.get(hl, language_code)}"
    if country and country != gl:
        raise_invalid("config.ceid", f"names another country than gl, which is {gl}: {gl}:{language} would agree")
    return Edition(hl, gl, ceid)


def _validate_formats(hl: str | None, gl: str | None, ceid: str | None) -> None:
    if hl and not _LANGUAGE.match(hl):
        raise_invalid("config.hl", "is not a language; use one such as en-US or de")
    if gl and not _COUNTRY.match(gl):
        raise_invalid("config.gl", "is not a country; use two capitals such as US or DE")
    if ceid and not _CEID.match(ceid):
        raise_invalid("config.ceid", "is not country and language; use both, such as US:en or DE:de")


def _country_of(hl: str | None) -> str:
    """Derive the country from the language."""
    language, _, region = (hl or "en-US").partition("-")
    if _COUNTRY.match(region):
        return region
    return (
        "US"
        if language == "en"
        else raise_invalid("config.gl", f"is missing; add the country for {hl}, such as US or DE")
    )


def _language_of(gl: str, language: str) -> str:
    """Derive the language of the interface from the edition or the country."""
    if not language and gl != "US":
        raise_invalid("config.hl", f"is missing; add the language for {gl}, such as en-US or de")
    return language or "en"


def _clean_entry(entry: Entry) -> Entry:
    """Return the entry without Google's additions: the publisher in the title, a list of links as the summary."""
    title, publisher = entry.title, entry.publisher
    if publisher is None:
        headline, separator, suffix = title.rpartition(" - ")
        title, publisher = (headline, suffix) if separator else (title, None)
    else:
        title = title.removesuffix(f" - {publisher}")
    return replace(entry, title=title or entry.title, publisher=publisher, summary="", text="", author=None)
