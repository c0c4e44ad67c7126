"""Output of the feed parsers, before `entries` turns it into entries."""

import msgspec


class StrictParseError(Exception):
    """Raised by the strict parser when in doubt; not an error for the user, because feedparser is tried next."""


class RawEntry(msgspec.Struct, omit_defaults=True):
    """An entry, or the feed itself: values as found, stripped, URLs possibly relative to `base`."""

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
