"""google_news: a search, a topic or the front page of Google News, over its feeds.

An item's address is Google's own redirect, which only a browser resolves since 2024; the same story from another
source usually has the real one. The three settings of the place (`hl`, `gl`, `ceid`) must agree, or Google answers
with another edition.
"""

import re
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec.structs import replace

from copydesk.ingest.address import refuse, split
from copydesk.ingest.visit import FEEDS, Reading, Visit, get_body
from copydesk.model.item import Entry
from copydesk.model.source import SourceConfig

SITE = "https://news.google.com"
EXPECTED = f"{SITE} with config.query, or the address of a search or a topic there"
WINDOW = "when:7d"
"""Added to a search that names no time: without it Google mixes in stories of many years."""
_TIMES = re.compile(r"\b(?:when|after|before):", re.IGNORECASE)
_TOPIC = re.compile(r"/(?:topics|publications|headlines/section)/[\w/-]{1,500}\Z", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?\Z")
_COUNTRY = re.compile(r"[A-Z]{2}\Z")
_EDITION = re.compile(r"[A-Z]{2}:[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?\Z")
_EDITION_LANGUAGES = {"pt-BR": "pt-419", "zh-CN": "zh-Hans", "zh-TW": "zh-Hant", "zh-HK": "zh-Hant"}
"""Where an edition's language is not the first part of `hl`."""


def normalise(url: str, config: SourceConfig) -> str:
    """The address of the feed of that page, with its own query and place. Raises InvalidError."""
    parts = split(url, expected=EXPECTED)
    if parts.hostname != "news.google.com":
        refuse("url", f"is not Google News; give {EXPECTED}")
    if config.query is not None and not config.query.strip():
        refuse("config.query", "is empty; give the words to search for, or leave it out")
    asked = _parameters(parts.query)
    _place(config, asked)
    path = _path(parts.path, searches=bool(config.query or asked.get("q")))
    return f"{SITE}/rss{path}{'?' if asked else ''}{urlencode(asked)}"


async def read(visit: Visit) -> Reading:
    """The stories of the feed. Raises FetchError."""
    body = await get_body(visit, _address(visit), accept=FEEDS)
    if body.unchanged:
        return body.reading()
    feed = await body.feed()
    return body.reading([_story(entry) for entry in feed.entries], ttl=feed.ttl_seconds, title=feed.title)


class Place(NamedTuple):
    """Which edition is read: language of the interface, country, and country with language."""

    hl: str
    gl: str
    ceid: str


def _address(visit: Visit) -> str:
    config = visit.spec.config
    parts = urlsplit(normalise(visit.spec.url, config))
    asked = _parameters(parts.query)
    query = (config.query or asked.get("q", "")).strip()
    if query and not _TIMES.search(query):
        query = f"{query} {WINDOW}"
    search = {"q": query} if parts.path == "/rss/search" else {}
    return f"{visit.endpoints.google_news}{parts.path}?{urlencode({**search, **_place(config, asked)._asdict()})}"


def _parameters(query: str) -> dict[str, str]:
    """Those parameters of an address that say what is searched for and where."""
    given = parse_qs(query)
    return {name: given[name][0].strip() for name in ("q", "hl", "gl", "ceid") if name in given}


def _path(path: str, *, searches: bool) -> str:
    """What follows `/rss` in the address of a page's feed."""
    path = path.removeprefix("/rss").rstrip("/")
    if path == "/search" and not searches:
        refuse("config.query", "is missing; give the words to search for")
    if path in {"", "/home", "/search"}:
        return "/search" if searches else ""
    if not _TOPIC.match(path):
        refuse("url", f"is not a page of Google News that has a feed; give {EXPECTED}")
    return path


def _place(config: SourceConfig, asked: dict[str, str]) -> Place:
    """The edition that the settings name, then the address; what they leave open follows from the rest.

    Raises InvalidError where that contradicts itself, or leaves the language or the country open.
    """
    hl, gl, ceid = config.hl or asked.get("hl"), config.gl or asked.get("gl"), config.ceid or asked.get("ceid")
    _check_forms(hl, gl, ceid)
    country, _, language = (ceid or "").partition(":")
    gl = gl or country or _country_of(hl)
    hl = hl or _language_of(gl, language)
    if hl == "en":
        hl = f"en-{gl}"
    if not ceid:
        spoken = hl if hl.endswith("-419") else hl.partition("-")[0]
        ceid = f"{gl}:{_EDITION_LANGUAGES.get(hl, spoken)}"
    if country and country != gl:
        refuse("config.ceid", f"names another country than gl, which is {gl}: {gl}:{language} would agree")
    return Place(hl, gl, ceid)


def _check_forms(hl: str | None, gl: str | None, ceid: str | None) -> None:
    if hl and not _LANGUAGE.match(hl):
        refuse("config.hl", "is not a language; give one such as en-US or de")
    if gl and not _COUNTRY.match(gl):
        refuse("config.gl", "is not a country; give two capitals such as US or DE")
    if ceid and not _EDITION.match(ceid):
        refuse("config.ceid", "is not country and language; give both such as US:en or DE:de")


def _country_of(hl: str | None) -> str:
    """The country that goes with a language, where only that is given."""
    language, _, region = (hl or "en-US").partition("-")
    if _COUNTRY.match(region):
        return region
    return "US" if language == "en" else refuse("config.gl", f"is missing; {hl} is read in which country?")


def _language_of(gl: str, spoken: str) -> str:
    """The language of the interface, where only the edition or only the country is given."""
    if not spoken and gl != "US":
        refuse("config.hl", f"is missing; in which language is {gl} to be read?")
    return spoken or "en"


def _story(entry: Entry) -> Entry:
    """The entry without what Google adds: the press in its title, and a list of links for a summary."""
    title, publisher = entry.title, entry.publisher
    if publisher is None:
        before, dash, after = title.rpartition(" - ")
        title, publisher = (before, after) if dash else (title, None)
    else:
        title = title.removesuffix(f" - {publisher}")
    return replace(entry, title=title or entry.title, publisher=publisher, summary="", text="", author=None)
