"""The head of a web page -> what it says of the page: Open Graph, Twitter's cards, JSON-LD and plain HTML. Pure."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from copydesk.ingest.dates import parse_date
from copydesk.ingest.elements import MAX_VALUE, Element, head_elements
from copydesk.ingest.entry import MAX_ALT, MAX_NAME, MAX_SUMMARY, MAX_TITLE, language_of
from copydesk.ingest.linkeddata import linked_data
from copydesk.ingest.links import absolute
from copydesk.ingest.plaintext import looks_like_markup, plain_line, unescape
from copydesk.model.wire import Struct

MAX_SCRIPTS = 5

# Where each field stands, the most trustworthy place first. `ld:` is JSON-LD, `rel:` a link, `html:` the page's own.
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
_WANTED = frozenset(
    (*_TITLE, *_SUMMARY, *_URL, *_IMAGE, _OG_ALT, _TWITTER_ALT, *_AUTHOR, *_PUBLISHED, *_LANGUAGE, *_PUBLISHER)
)

_SEPARATORS = (" | ", " - ", " – ", " — ", " · ", " :: ")
_SAME_SITE = ("www.", "m.", "mobile.", "amp.")


class Head(Struct, frozen=True):
    """What a page says of itself: plain text on one line, within the caps of an entry, web addresses only."""

    title: str = ""
    summary: str = ""
    url: str | None = None
    """The address that it names as its own, if that may be: see `own_address`."""
    image: str | None = None
    image_alt: str | None = None
    """What the page says that its picture shows; None where it says so of another picture or of none."""
    author: str | None = None
    published: datetime | None = None
    """UTC; None where it gives none or an impossible one."""
    language: str | None = None
    """A code in small letters: `en-us`."""
    publisher: str | None = None
    """The name of the site."""


class _Said(msgspec.Struct):
    """What stands in the head, as it is written; of several in one place the first."""

    texts: dict[str, str] = {}
    base: str = ""
    scripts: int = 0
    another_picture: bool = False
    """Whether the second `og:image` has begun; what is said of it follows it, and is not about the first."""

    def add(self, place: str, text: str) -> None:
        """Keep `text` if it is of use and the place is still empty."""
        if not text or place not in _WANTED or (self.another_picture and place.startswith("og:image:")):
            return
        kept = self.texts.setdefault(place, text)
        self.another_picture = self.another_picture or (place == "og:image" and kept != text)

    def each(self, places: Sequence[str]) -> list[str]:
        """The texts in `places`, in their order."""
        return [self.texts[place] for place in places if place in self.texts]


def read_head(page: str, url: str) -> Head:
    """What the head of `page`, which is at `url`, says. Nothing raises."""
    said = _Said()
    for element in head_elements(page):
        _note(said, element)
    base = absolute(said.base, url) or url if said.base else url
    dates = (parse_date(text) for text in said.each(_PUBLISHED))
    languages = (language_of(text) for text in said.each(_LANGUAGE))
    publisher = _first_line(said.each(_PUBLISHER), MAX_NAME)
    return Head(
        title=_title(said, publisher),
        summary=_first_line(said.each(_SUMMARY), MAX_SUMMARY),
        url=next((own for text in said.each(_URL) if (own := own_address(text, base, url))), None),
        image=_picture(said, _IMAGE, base),
        image_alt=_alt(said, base),
        author=_author(said.each(_AUTHOR)),
        published=next(filter(None, dates), None),
        language=next(filter(None, languages), None),
        publisher=publisher or None,
    )


def own_address(named: str, base: str, url: str) -> str | None:
    """The address that the page at `url` names as its own, seen from `base`; None for one that cannot be.

    It is what gets posted, so a page may not speak for another site, put a name before an @, go back to http, or, as
    careless sites do, call each of its pages its home page.
    """
    address = absolute(named, base)
    if address is None:
        return None
    there, here = urlsplit(address), urlsplit(url)
    same = _same_site(there.netloc.lower(), here.netloc.lower())
    downgrade = here.scheme == "https" and there.scheme.lower() != "https"
    home = there.path in ("", "/") and not there.query and (here.path not in ("", "/") or bool(here.query))
    return address if same and not downgrade and not home else None


def _same_site(there: str, here: str) -> bool:
    """Whether two hosts are one but for the usual names in front, or one is above the other."""
    for name in _SAME_SITE:
        there, here = there.removeprefix(name), here.removeprefix(name)
    if "@" in there or there.count(":") != here.count(":"):
        return False
    above, below = sorted((there, here), key=len)
    return above == below or ("." in above and below.endswith(f".{above}"))


def _note(said: _Said, element: Element) -> None:
    """Keep what `element` says."""
    attributes = element.attributes
    if element.name == "meta":
        content = attributes.get("content", "")
        for name in ("property", "name", "itemprop", "http-equiv"):
            said.add(attributes.get(name, "").lower(), content)
    elif element.name == "link":
        for relation in attributes.get("rel", "").lower().split():
            said.add(f"rel:{relation}", attributes.get("href", ""))
    elif element.name == "base":
        said.base = said.base or attributes.get("href", "")
    elif element.name == "html":
        said.add("html:lang", attributes.get("lang", "") or attributes.get("xml:lang", ""))
    elif element.name == "title":
        said.add("html:title", unescape(element.inside[:MAX_VALUE]).strip())
    elif "ld+json" in attributes.get("type", "").lower() and said.scripts < MAX_SCRIPTS:
        said.scripts += 1
        for field, text in linked_data(element.inside).items():
            said.add(f"ld:{field}", text)


def _picture(said: _Said, places: Sequence[str], base: str) -> str | None:
    """The first address of a picture in `places`, seen from `base`."""
    addresses = (absolute(address, base) for address in said.each(places) if address.strip("/#? "))
    return next(filter(None, addresses), None)


def _alt(said: _Said, base: str) -> str | None:
    """What is said of the picture that is taken. A card without a picture of its own shows that of Open Graph."""
    graph, card = _picture(said, _OG_IMAGE, base), _picture(said, _TWITTER_IMAGE, base)
    places = (_OG_ALT,) if graph else ()
    if (graph or card) and card in (None, graph or card):
        places = (*places, _TWITTER_ALT)
    return _first_line(said.each(places), MAX_ALT) or None


def _title(said: _Said, publisher: str) -> str:
    """The title, without the site's name at its end where it is the one for the browser's tab."""
    title = _first_line(said.each(_TITLE), MAX_TITLE)
    for separator in _SEPARATORS if publisher else ():
        shorter = title.removesuffix(separator + publisher)
        if shorter and shorter != title:
            return shorter.rstrip()
    return title


def _first_line(texts: Sequence[str], limit: int) -> str:
    """The first of `texts` that has something to read, on one line; many a page escapes twice."""
    lines = (plain_line(text, limit, markup=looks_like_markup(text)) for text in texts)
    return next(filter(None, lines), "")


def _author(texts: Sequence[str]) -> str | None:
    """The first name; an address of a profile is none."""
    return _first_line([text for text in texts if "://" not in text], MAX_NAME) or None
