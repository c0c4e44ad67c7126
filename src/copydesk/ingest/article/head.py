"""Metadata in the head of a web page: Open Graph, Twitter cards, schema.org's JSON-LD and plain HTML.

Pure; takes linear time for any input and never raises.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice, takewhile
from urllib.parse import urlsplit

import msgspec

from copydesk.ingest.dates import parse_date
from copydesk.ingest.entries import MAX_ALT, MAX_NAME, MAX_SUMMARY, MAX_TITLE, normalize_language
from copydesk.ingest.html_to_text import single_line
from copydesk.ingest.urls import absolute_url
from copydesk.model.serialization import Struct
from copydesk.text.html_tags import (
    MAX_CONTENT_LENGTH,
    MAX_VALUE_LENGTH,
    Tag,
    is_probably_html,
    iter_tags,
    unescape_html,
)

MAX_HEAD_LENGTH = 512 * 1024
"""Characters searched for the head; pages with inline styles have long ones."""
MAX_ELEMENTS = 2_000

_END_OF_HEAD = ("/head", "body")
_HEAD_TAGS = ("html", "title", "meta", "link", "base", "script", *_END_OF_HEAD)

MAX_NODES = 200
"""Nodes of a script that are examined."""
MAX_LIST_ITEMS = 5
"""Items of a list that are read."""

_FIELDS = ("headline", "description", "datePublished", "author", "publisher", "inLanguage")
_TYPE_SUFFIXES = ("Article", "Posting", "Report", "Review")
"""Suffixes of article types: NewsArticle, BlogPosting..."""

MAX_SCRIPTS = 5
"""JSON-LD scripts that are parsed."""

# Keys of each field, most trustworthy first. `ld:` is JSON-LD, `rel:` a <link>, `html:` a plain HTML element.
_TITLE = ("og:title", "ld:headline", "twitter:title", "dc.title", "html:title")
_SUMMARY = ("og:description", "description", "ld:description", "twitter:description", "dc.description")
_URL = ("rel:canonical", "og:url")
_OG_IMAGE = ("og:image:secure_url", "og:image", "og:image:url")
_TWITTER_IMAGE = ("twitter:image", "twitter:image:src")
_IMAGE = (*_OG_IMAGE, *_TWITTER_IMAGE, "ld:image", "rel:image_src")
_OG_ALT, _TWITTER_ALT = "og:image:alt", "twitter:image:alt"
_AUTHOR = ("ld:author", "author", "article:author", "dc.creator", "parsely-author", "sailthru.author")
_PUBLISHED = (
    *("article:published_time", "ld:datePublished", "datepublished", "og:published_time", "parsely-pub-date"),
    *("sailthru.date", "dcterms.created", "dc.date.issued", "dc.date", "pubdate", "date"),
)
_LANGUAGE = ("html:lang", "og:locale", "ld:inLanguage", "content-language")
_PUBLISHER = ("og:site_name", "ld:publisher", "application-name")
_USED_KEYS = frozenset(
    (*_TITLE, *_SUMMARY, *_URL, *_IMAGE, _OG_ALT, _TWITTER_ALT, *_AUTHOR, *_PUBLISHED, *_LANGUAGE, *_PUBLISHER)
)

_SEPARATORS = (" | ", " - ", " – ", " — ", " · ", " :: ")
_HOST_PREFIXES = ("www.", "m.", "mobile.", "amp.")


def iter_head_elements(page: str) -> Iterator[Tag]:
    """Return the head's elements in order, up to its end, the body or the limits. Never raises."""
    tags = iter_tags(page[:MAX_HEAD_LENGTH], *_HEAD_TAGS)
    return islice(takewhile(lambda tag: tag.name not in _END_OF_HEAD, tags), MAX_ELEMENTS)


def parse_json_ld(script: str) -> dict[str, str]:
    """Return the fields of the first article in `script`; empty if it is not JSON or has no article."""
    # The reader of the head truncates longer scripts, and truncated JSON is invalid.
    if len(script) > MAX_CONTENT_LENGTH:
        return {}
    try:
        data = msgspec.json.decode(script)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    for node in islice(_nodes(data), MAX_NODES):
        if _is_article(node.get("@type")):
            texts = {field: _text(node.get(field)) for field in _FIELDS} | {"image": _image_url(node.get("image"))}
            return {field: text for field, text in texts.items() if text}
    return {}


def _nodes(data: object) -> Iterator[dict[str, object]]:
    """Yield the nodes at the top level and in a graph there."""
    for node in data if isinstance(data, list) else [data]:
        if isinstance(node, dict):
            yield node
            graph = node.get("@graph")
            if isinstance(graph, list):
                yield from (inner for inner in graph if isinstance(inner, dict))


def _is_article(type: object) -> bool:
    names = type if isinstance(type, list) else [type]
    return any(isinstance(name, str) and name.endswith(_TYPE_SUFFIXES) for name in names[:MAX_LIST_ITEMS])


def _text(value: object) -> str:
    """Return a string, the name of a thing, or the names of several separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_text(item) for item in value[:MAX_LIST_ITEMS] if not isinstance(item, list))))
    if isinstance(value, dict):
        value = value.get("name")
    return value.strip() if isinstance(value, str) else ""


def _image_url(value: object) -> str:
    """Return the URL of an image or of the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url")
    return value.strip() if isinstance(value, str) else ""


class Head(Struct, frozen=True):
    """Metadata of a page: plain text on one line within the limits of an entry, http(s) URLs only."""

    title: str = ""
    summary: str = ""
    url: str | None = None
    """The URL that the page declares as its own, if acceptable: see `canonical_url`."""
    image: str | None = None
    image_alt: str | None = None
    """Alternative text of `image`; None if there is none or it belongs to another image."""
    author: str | None = None
    published: datetime | None = None
    """UTC; None if missing or impossible."""
    language: str | None = None
    """A lower-case code such as `en-us`."""
    publisher: str | None = None
    """The name of the site."""


class _HeadFields(msgspec.Struct):
    """Raw values of the head by key; the first of duplicates wins."""

    texts: dict[str, str] = {}
    base: str = ""
    script_count: int = 0
    in_second_image: bool = False
    """A second `og:image` has started: the properties after it describe that one and not the first."""

    def add(self, key: str, text: str) -> None:
        """Store `text` under `key` unless it is empty, unused or already set."""
        if not text or key not in _USED_KEYS or (self.in_second_image and key.startswith("og:image:")):
            return
        stored = self.texts.setdefault(key, text)
        self.in_second_image = self.in_second_image or (key == "og:image" and stored != text)

    def get_all(self, keys: Sequence[str]) -> list[str]:
        """Return the values under `keys`, in that order."""
        return [self.texts[key] for key in keys if key in self.texts]


def parse_head(page: str, url: str) -> Head:
    """Parse the head of the page at `url`. Never raises."""
    fields = _HeadFields()
    for element in iter_head_elements(page):
        _collect(fields, element)
    base = absolute_url(fields.base, url) or url if fields.base else url
    dates = (parse_date(text) for text in fields.get_all(_PUBLISHED))
    languages = (normalize_language(text) for text in fields.get_all(_LANGUAGE))
    publisher = _first_line(fields.get_all(_PUBLISHER), MAX_NAME)
    return Head(
        title=_title(fields, publisher),
        summary=_first_line(fields.get_all(_SUMMARY), MAX_SUMMARY),
        url=next((canonical for text in fields.get_all(_URL) if (canonical := canonical_url(text, base, url))), None),
        image=_first_image(fields, _IMAGE, base),
        image_alt=_image_alt(fields, base),
        author=_author(fields.get_all(_AUTHOR)),
        published=next(filter(None, dates), None),
        language=next(filter(None, languages), None),
        publisher=publisher or None,
    )


def canonical_url(declared: str, base: str, url: str) -> str | None:
    """Return the URL that the page at `url` declares as its own, resolved against `base`; None if it is not acceptable.

    This URL gets posted, so a page may not speak for another site, put credentials before an @, downgrade to http or,
    as careless sites do, declare the home page on every page.
    """
    resolved = absolute_url(declared, base)
    if resolved is None:
        return None
    declared_parts, page_parts = urlsplit(resolved), urlsplit(url)
    is_same_site = _is_same_site(declared_parts.netloc.lower(), page_parts.netloc.lower())
    is_downgrade = page_parts.scheme == "https" and declared_parts.scheme.lower() != "https"
    is_home_page = (
        declared_parts.path in ("", "/")
        and not declared_parts.query
        and (page_parts.path not in ("", "/") or bool(page_parts.query))
    )
    return resolved if is_same_site and not is_downgrade and not is_home_page else None


def _is_same_site(host: str, other_host: str) -> bool:
    """Return True if the hosts differ only by a usual prefix, or one is a subdomain of the other."""
    for prefix in _HOST_PREFIXES:
        host, other_host = host.removeprefix(prefix), other_host.removeprefix(prefix)
    # Another port is another site, and so is anything with credentials.
    if "@" in host or host.count(":") != other_host.count(":"):
        return False
    parent, child = sorted((host, other_host), key=len)
    # The dot keeps a bare top-level domain from being the parent of every site below it.
    return parent == child or ("." in parent and child.endswith(f".{parent}"))


def _collect(fields: _HeadFields, element: Tag) -> None:
    """Collect the values of one element."""
    attributes = element.read_attributes()
    if element.name == "meta":
        content = attributes.get("content", "")
        for name in ("property", "name", "itemprop", "http-equiv"):
            fields.add(attributes.get(name, "").lower(), content)
    elif element.name == "link":
        for relation in attributes.get("rel", "").lower().split():
            fields.add(f"rel:{relation}", attributes.get("href", ""))
    elif element.name == "base":
        fields.base = fields.base or attributes.get("href", "")
    elif element.name == "html":
        fields.add("html:lang", attributes.get("lang", "") or attributes.get("xml:lang", ""))
    elif element.name == "title":
        fields.add("html:title", unescape_html(element.content[:MAX_VALUE_LENGTH]).strip())
    elif "ld+json" in attributes.get("type", "").lower() and fields.script_count < MAX_SCRIPTS:
        fields.script_count += 1
        for field, text in parse_json_ld(element.content).items():
            fields.add(f"ld:{field}", text)


def _first_image(fields: _HeadFields, keys: Sequence[str], base: str) -> str | None:
    """Return the first image URL under `keys`, resolved against `base`."""
    urls = (absolute_url(url, base) for url in fields.get_all(keys) if url.strip("/#? "))
    return next(filter(None, urls), None)


def _image_alt(fields: _HeadFields, base: str) -> str | None:
    """Return the alternative text of the chosen image. A Twitter card without an image shows Open Graph's."""
    og_image, twitter_image = _first_image(fields, _OG_IMAGE, base), _first_image(fields, _TWITTER_IMAGE, base)
    keys = (_OG_ALT,) if og_image else ()
    if (og_image or twitter_image) and twitter_image in (None, og_image or twitter_image):
        keys = (*keys, _TWITTER_ALT)
    return _first_line(fields.get_all(keys), MAX_ALT) or None


def _title(fields: _HeadFields, publisher: str) -> str:
    """Return the title, without a separator and the site's name at its end."""
    title = _first_line(fields.get_all(_TITLE), MAX_TITLE)
    for separator in _SEPARATORS if publisher else ():
        stripped = title.removesuffix(separator + publisher)
        if stripped and stripped != title:
            return stripped.rstrip()
    return title


def _first_line(texts: Sequence[str], limit: int) -> str:
    """Return the first non-empty text on one line. Many pages escape HTML twice, so markup is removed."""
    lines = (single_line(text, limit, markup=is_probably_html(text)) for text in texts)
    return next(filter(None, lines), "")


def _author(texts: Sequence[str]) -> str | None:
    """Return the first name. `article:author` is often a profile URL, which is not one."""
    return _first_line([text for text in texts if "://" not in text], MAX_NAME) or None
