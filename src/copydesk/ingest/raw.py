"""What a parser finds in a feed. Every parser ends here, and `entry` makes of it what is kept."""

import msgspec


class Refused(Exception):  # noqa: N818 - nothing is wrong yet: another parser has a look
    """The strict parser is in doubt."""


class RawEntry(msgspec.Struct, omit_defaults=True):
    """One entry, or the feed itself: everything as the feed has it, stripped, addresses perhaps relative to `base`."""

    texts: dict[str, str] = {}
    """Field -> text. The fields are

    ident, link, title, summary, content, published, language, publisher, discussion, comments: as in Entry;
    title 2, title 3, summary 2..., author 2: from extensions, where the format's own is missing;
    alternate, alternate 2, enclosure, original link: other addresses of the entry;
    about: RDF's address of it; opaque: there if `ident` is no address; date, updated, created: other dates;
    ttl: minutes until the feed may have something new.
    """
    is_markup: dict[str, bool] = {}
    """Field -> whether it is HTML, where the feed says so."""
    tags: list[str] = []
    authors: list[str] = []
    picture: str = ""
    width: int = 0
    """Of the picture, in pixels; 0 where it is not said."""
    base: str = ""


class RawFeed(msgspec.Struct, omit_defaults=True):
    """One feed."""

    about: RawEntry
    entries: list[RawEntry] = []
    atom: bool = False
    """Atom says what is HTML and what is not; in RSS texts are HTML and of titles nobody knows."""
    more: bool = False
    """There were more entries than were asked for."""
