"""Find a site's Micropub endpoint in its page, and a post in the endpoint's list. Pure functions."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html.parser import HTMLParser
from urllib.parse import urljoin

import msgspec

from copydesk.model.wire import Struct
from copydesk.posting.http import Response
from copydesk.posting.platform import DeliveryStep
from copydesk.text import links

CLOCK_TOLERANCE = timedelta(minutes=2)
_TAG = re.compile(r"<(?:link|a)\s[^<>]{1,4000}>", re.IGNORECASE)
_REL = re.compile(r";\s*rel\s*=\s*\"?([^\";,]{1,200})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


class _Item(msgspec.Struct, frozen=True):
    properties: dict[str, object] = {}
    url: str = ""


class _Paging(msgspec.Struct, frozen=True):
    after: str = ""


class SourceResponse(msgspec.Struct, frozen=True):
    """The response to `q=source`; `items` is None if the response is no list."""

    items: list[_Item] | None = None
    paging: _Paging | None = None


class ListedPost(Struct, frozen=True):
    """A post of the list, with usable values only."""

    url: str
    name: str
    content: str
    slug: str
    published: datetime | None


class Page(Struct, frozen=True):
    """A page of the list and the cursor of the next one."""

    items: list[ListedPost]
    paging: _Paging

    @classmethod
    def from_response(cls, response: SourceResponse) -> "Page":
        """Return the usable part of a response."""
        return cls(items=[_parse_item(item) for item in response.items or ()], paging=response.paging or _Paging())


def is_own_post(item: ListedPost, step: DeliveryStep, since: datetime) -> bool:
    """Return True if the post has our key in its URL or slug.

    Without the key, it must have our title and text and must not be older than `since`.
    """
    # The server may ignore `mp-slug`; then title, text and time have to match.
    key = step.keys[0].rpartition("-")[2]
    if key in item.url or key in item.slug:
        return True
    if item.published is None or item.published < since - CLOCK_TOLERANCE:
        return False
    properties = step.body["properties"]
    assert isinstance(properties, dict)
    return (item.name, _collapse_spaces(item.content)) == (
        _first_value(properties["name"]),
        _collapse_spaces(_first_value(properties["content"])),
    )


def reaches_back(items: Sequence[ListedPost], since: datetime) -> bool:
    """Return True if the posts, which must be sorted newest first, include one older than `since`."""
    times = [item.published for item in items if item.published is not None]
    return bool(times) and times == sorted(times, reverse=True) and times[-1] < since - CLOCK_TOLERANCE


def find_endpoint(response: Response, page: str) -> str | None:
    """Return the endpoint named in the page's Link header or HTML; None if there is none."""
    for url in (
        *_links_in_header(response.headers.get("link", "")),
        *_links_in_page(response.body.decode("utf-8", "replace")),
    ):
        try:
            endpoint = links.postable_url(urljoin(page, url))
        except ValueError:
            continue
        if endpoint:
            return endpoint
    return None


def _links_in_header(link: str) -> Iterator[str]:
    """Yield the URLs with `rel=micropub` in a Link header (RFC 8288)."""
    # Bound the work on an untrusted header.
    for piece in link[:16_384].split("<")[1:]:
        url, _, rest = piece.partition(">")
        if any("micropub" in match[1].lower().split() for match in _REL.finditer(rest)):
            yield url.strip()


def _links_in_page(text: str) -> Iterator[str]:
    for tag in _TAG.finditer(_without_comments(text)):
        # A new parser per tag, so that a broken tag cannot affect the next one.
        parser = _TagParser()
        parser.feed(tag[0])
        if "micropub" in parser.rel and parser.href is not None:
            yield parser.href.strip()


def _without_comments(text: str) -> str:
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        pieces.append(text[position:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(pieces)
        position = end + 3
    return "".join((*pieces, text[position:]))


class _TagParser(HTMLParser):
    """Parses a single tag. Parsing a whole page of untrusted HTML with `HTMLParser` can take minutes."""

    rel: Sequence[str] = ()
    href: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the two attributes that matter."""
        attributes = dict(attrs)
        self.rel = (attributes.get("rel") or "").lower().split()
        self.href = attributes.get("href")


def _parse_item(item: _Item) -> ListedPost:
    properties = item.properties
    return ListedPost(
        url=links.postable_url(item.url or _first_value(properties.get("url"))) or "",
        name=_first_value(properties.get("name")),
        content=_first_value(properties.get("content")),
        slug=_first_value(properties.get("mp-slug")) or _first_value(properties.get("slug")),
        published=_parse_time(_first_value(properties.get("published"))),
    )


def _first_value(values: object) -> str:
    """Return the first value of a property, which may be an object with HTML."""
    value = values[0] if isinstance(values, list) and values else values
    if isinstance(value, dict):
        value = value.get("html") or value.get("value")
    return value if isinstance(value, str) else ""


def _parse_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def _collapse_spaces(html: str) -> str:
    return _SPACES.sub(" ", html).strip()
