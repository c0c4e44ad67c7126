"""Output of the feed parsers, before `entries` turns it into entries, and the choice of an entry's image."""

import re
from itertools import islice

import msgspec

from copydesk.text.html_tags import iter_tags

_SMALL = re.compile(r"\d{1,2}(?![\d.%])")
"""A width or height below 100 pixels: a tracking pixel, an emoji, an avatar or a button."""
_EXTENSION = re.compile(r"\.(?:jpe?g|png|webp|gif|avif)(?:[?#]|\Z)", re.IGNORECASE)
# Not IGNORECASE, with which the expression would be as slow as `lower()`.
_IMAGE_TAG = re.compile("<[iI][mM][gG]")
_MAX_IMAGES = 5
_MAX_DISTANCE = 10_000
"""Characters of markup. Images further down usually illustrate something else."""


class StrictParseError(Exception):
    """Raised by the strict parser when in doubt; not an error for the user, because feedparser is tried next."""


class RawEntry(msgspec.Struct, omit_defaults=True, gc=False):
    """An entry, or the feed itself: values as found, stripped, URLs possibly relative to `base_url`."""

    texts: dict[str, str] = {}
    """Field -> text. Fields:

    - ident, link, title, summary, content, published, language, publisher, discussion, comments: as in `Entry`
    - title 2, title 3, summary 2..., author 2: from extensions, used if the format's own are missing
    - alternate, alternate 2, enclosure, original link: other URLs of the entry
    - about: RDF's URL of the entry
    - opaque: present if `ident` is not a URL
    - date, updated, created: other dates
    - ttl: minutes until the feed may change
    """
    is_markup: dict[str, bool] = {}
    """Field -> whether it is HTML, where the feed declares it."""
    tags: list[str] = []
    authors: list[str] = []
    image_url: str = ""
    image_width: int = 0
    """Of the image, in pixels; 0 if unknown."""
    base_url: str = ""


class RawFeed(msgspec.Struct, omit_defaults=True):
    metadata: RawEntry
    entries: list[RawEntry] = []
    is_atom: bool = False
    """Atom declares what is HTML; in RSS texts are HTML and titles may be."""
    truncated: bool = False
    """The document has more entries than requested."""


def offer_image(entry: RawEntry, attributes: dict[str, str]) -> bool:
    """Take the enclosure or media element as the image of `entry` if it is wider than the present one.

    Return True if it is an image at all.
    """
    url = attributes.get("url") or attributes.get("href") or ""
    media_type = attributes.get("type") or attributes.get("medium") or ""
    if not url or not (media_type.startswith("image") if media_type else _EXTENSION.search(url)):
        return False
    width = attributes.get("width", "")
    pixels = int(width) if width.isdecimal() and len(width) < 6 else 0
    if not entry.image_url or pixels > entry.image_width:
        entry.image_url, entry.image_width = url, pixels
    return True


def first_image(markup: str) -> tuple[str, str]:
    """Return URL and alternative text of the first image near the top of an HTML fragment that is not a small one.

    Both are empty if there is none.
    """
    top = markup[:_MAX_DISTANCE]
    # Most entries have no image.
    if not _IMAGE_TAG.search(top):
        return "", ""
    for tag in islice(iter_tags(top, "img"), _MAX_IMAGES):
        attributes = tag.read_attributes()
        sizes = (attributes.get("width", ""), attributes.get("height", ""))
        if attributes.get("src") and not any(map(_SMALL.match, sizes)):
            return attributes["src"], attributes.get("alt", "")
    return "", ""
