"""Names of elements and attributes in feed formats, in expat's form `namespace name`."""

from typing import Final

ATOM: Final = "http://www.w3.org/2005/Atom "
ATOM_03: Final = "http://purl.org/atom/ns# "
RSS_10: Final = "http://purl.org/rss/1.0/ "
RSS_090: Final = "http://my.netscape.com/rdf/simple/0.9/ "
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns# "
DC: Final = "http://purl.org/dc/elements/1.1/ "
DCTERMS: Final = "http://purl.org/dc/terms/ "
CONTENT: Final = "http://purl.org/rss/1.0/modules/content/ "
XML_BASE: Final = "http://www.w3.org/XML/1998/namespace base"
XML_LANG: Final = "http://www.w3.org/XML/1998/namespace lang"
RDF_ABOUT: Final = RDF + "about"

# RSS 2.0 has no namespace; some Atom feeds forget theirs.
_RSS = ("", RSS_10, RSS_090)
_ATOMS = (ATOM, ATOM_03, "")
# Both spellings occur in real feeds.
_MEDIA = ("http://search.yahoo.com/mrss/ ", "http://search.yahoo.com/mrss ")
_ITUNES = ("http://www.itunes.com/dtds/podcast-1.0.dtd ", "http://www.itunes.com/DTDs/PodCast-1.0.dtd ")

ATOM_ROOTS = frozenset([ATOM + "feed", ATOM_03 + "feed", "feed"])
RSS_ROOTS = frozenset(["rss", "RSS", RDF + "RDF"])
CHANNELS = frozenset(ns + "channel" for ns in _RSS)
ITEMS = frozenset([*(ns + "item" for ns in _RSS), *(ns + "entry" for ns in _ATOMS)])

ENTRY_FIELDS: dict[str, str] = {
    **{ns + "title": "title" for ns in (*_RSS, *_ATOMS)},
    **{ns + "link": "link" for ns in _RSS},
    **{ns + "description": "summary" for ns in _RSS},
    **{ns + "pubDate": "published" for ns in (*_RSS, ATOM)},
    **{ns + "category": "tag" for ns in _RSS},
    **{ns + "id": "ident" for ns in _ATOMS},
    **{ns + "published": "published" for ns in _ATOMS},
    **{ns + "issued": "published" for ns in _ATOMS},
    **{ns + "updated": "updated" for ns in _ATOMS},
    **{ns + "modified": "updated" for ns in _ATOMS},
    **{ns + "created": "created" for ns in _ATOMS},
    **{ns + "summary": "summary" for ns in _ATOMS},
    **{ns + "content": "content" for ns in _ATOMS},
    **{ns + "author": "author" for ns in _ATOMS},
    **{ns + "source": "publisher" for ns in _ATOMS},
    "guid": "ident",
    "comments": "discussion",
    CONTENT + "encoded": "content",
    DC + "title": "title 2",
    DC + "description": "summary 2",
    DC + "creator": "author",
    DC + "date": "date",
    DC + "language": "language",
    DC + "subject": "tag",
    DCTERMS + "created": "created",
    DCTERMS + "issued": "published",
    DCTERMS + "modified": "updated",
    **{ns + "title": "title 3" for ns in _MEDIA},
    **{ns + "description": "summary 3" for ns in _MEDIA},
    **{ns + "author": "author 2" for ns in _ITUNES},
    **{ns + "summary": "summary 4" for ns in _ITUNES},
    "http://purl.org/rss/1.0/modules/slash/ comments": "comments",
    "http://purl.org/syndication/thread/1.0 total": "comments",
    "http://rssnamespace.org/feedburner/ext/1.0 origLink": "original link",
}
"""Child element of an entry -> field of `RawEntry.texts`. A number marks a second choice."""

GROUP_FIELDS = {
    ns + name: field for ns in _MEDIA for name, field in (("title", "title 3"), ("description", "summary 3"))
}
"""The same for children of media:group."""

FEED_FIELDS = {
    **{ns + "title": "title" for ns in (*_RSS, *_ATOMS)},
    **{ns + "link": "link" for ns in _RSS},
    "language": "language",
    DC + "language": "language",
    "ttl": "ttl",
}

TEXT_FIELDS = frozenset(["title", "title 2", "title 3", "summary", "summary 2", "summary 3", "summary 4", "content"])
NAME_ELEMENTS = {"author": "name", "publisher": "title"}
"""Fields that may consist of elements -> the one whose text counts."""

HTML_TYPES = frozenset(["html", "xhtml", "text/html", "application/xhtml+xml"])
XHTML_TYPES = frozenset(["xhtml", "application/xhtml+xml"])
SUPPORTED_TYPES = HTML_TYPES | {"", "text", "plain"}
"""Supported values of the `type` attribute."""

LINKS = frozenset([ATOM + "link", ATOM_03 + "link"])
CATEGORIES = frozenset([ATOM + "category", ATOM_03 + "category"])
GROUPS = frozenset(ns + "group" for ns in _MEDIA)
IMAGES = frozenset(
    ["enclosure", *(ns + "image" for ns in _ITUNES), *(ns + name for ns in _MEDIA for name in ("content", "thumbnail"))]
)
EMPTY_ELEMENTS = ITEMS | GROUPS
"""Elements that count although they have neither text nor attributes."""
