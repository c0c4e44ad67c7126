"""Finds a site's Micropub endpoint in its page, and a post in the list that the endpoint gives. Pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html.parser import HTMLParser
from urllib.parse import urljoin

import msgspec

from copydesk.model.wire import Struct
from copydesk.posting.http import Answer
from copydesk.posting.platform import Step
from copydesk.text import links

CLOCKS_APART = timedelta(minutes=2)
_TAG = re.compile(r"<(?:link|a)\s[^<>]{1,4000}>", re.IGNORECASE)
_REL = re.compile(r";\s*rel\s*=\s*\"?([^\";,]{1,200})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


class _Item(msgspec.Struct, frozen=True):
    properties: dict[str, object] = {}
    url: str = ""


class _Paging(msgspec.Struct, frozen=True):
    after: str = ""


class Found(msgspec.Struct, frozen=True):
    """What the endpoint answers to `q=source`; `items` is None where it is no list."""

    items: list[_Item] | None = None
    paging: _Paging | None = None


class Item(Struct, frozen=True):
    """A post of the list."""

    url: str
    name: str
    content: str
    slug: str
    published: datetime | None


class Page(Struct, frozen=True):
    """A page of the list, and where the next one begins."""

    items: list[Item]
    paging: _Paging

    @classmethod
    def of(cls, found: Found) -> "Page":
        """What the endpoint answered, as far as it can be used."""
        return cls(items=[_item(item) for item in found.items or ()], paging=found.paging or _Paging())


def is_ours(item: Item, step: Step, since: datetime) -> bool:
    """Whether the post has our key in its address, or our title and text and was not there before `since`."""
    key = step.keys[0].rpartition("-")[2]
    if key in item.url or key in item.slug:
        return True
    if item.published is None or item.published < since - CLOCKS_APART:
        return False
    properties = step.body["properties"]
    assert isinstance(properties, dict)
    return (item.name, _even(item.content)) == (_first(properties["name"]), _even(_first(properties["content"])))


def reaches_back(items: Sequence[Item], since: datetime) -> bool:
    """Whether the posts, which must stand from the newest on, begin before `since`."""
    times = [item.published for item in items if item.published is not None]
    return bool(times) and times == sorted(times, reverse=True) and times[-1] < since - CLOCKS_APART


def endpoint_of(answer: Answer, page: str) -> str | None:
    """The endpoint that the page at `page` names, in a Link header or in its HTML; None where it names none."""
    for url in (*_in_header(answer.headers.get("link", "")), *_in_page(answer.body.decode("utf-8", "replace"))):
        try:
            found = links.postable(urljoin(page, url))
        except ValueError:
            continue
        if found:
            return found
    return None


def _in_header(link: str) -> Iterator[str]:
    """The addresses that a Link header (RFC 8288) relates as `micropub`."""
    for piece in link[:16_384].split("<")[1:]:
        url, _, rest = piece.partition(">")
        if any("micropub" in found[1].lower().split() for found in _REL.finditer(rest)):
            yield url.strip()


def _in_page(text: str) -> Iterator[str]:
    for tag in _TAG.finditer(_without_comments(text)):
        reader = _Reader()
        reader.feed(tag[0])
        if "micropub" in reader.rel and reader.href is not None:
            yield reader.href.strip()


def _without_comments(text: str) -> str:
    kept, place = [], 0
    while (start := text.find("<!--", place)) >= 0:
        kept.append(text[place:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(kept)
        place = end + 3
    return "".join((*kept, text[place:]))


class _Reader(HTMLParser):
    """Reads one tag: a whole page of a stranger's can take it minutes."""

    rel: Sequence[str] = ()
    href: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the two attributes that matter."""
        found = dict(attrs)
        self.rel = (found.get("rel") or "").lower().split()
        self.href = found.get("href")


def _item(item: _Item) -> Item:
    own = item.properties
    return Item(
        url=links.postable(item.url or _first(own.get("url"))) or "",
        name=_first(own.get("name")),
        content=_first(own.get("content")),
        slug=_first(own.get("mp-slug")) or _first(own.get("slug")),
        published=_time(_first(own.get("published"))),
    )


def _first(values: object) -> str:
    """The first value of a property, which may be HTML."""
    value = values[0] if isinstance(values, list) and values else values
    if isinstance(value, dict):
        value = value.get("html") or value.get("value")
    return value if isinstance(value, str) else ""


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _even(html: str) -> str:
    return _SPACES.sub(" ", html).strip()
