"""Streaming parser for RSS, RDF and Atom on the standard library's expat.

Strict: reads well-formed XML of a known format and raises StrictParseError on anything else, so its results are never
guesses. No entity is expanded and no external resource is opened; a document that declares entities is refused.
"""

import re
from html import escape, unescape
from html.entities import html5
from typing import Final
from xml.parsers import expat

from copydesk.errors import NotAFeedError
from copydesk.ingest.feed.raw_feed import RawEntry, RawFeed, StrictParseError, offer_image
from copydesk.ingest.urls import MAX_URL_LENGTH, join_url

# Names of elements and attributes as expat reports them: namespace, space, name.
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
XHTML: Final = "http://www.w3.org/1999/xhtml "

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
    "fullitem": "content",
    "body": "content",
    XHTML + "body": "content",
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
    # Not RSS's own managingEditor, who answers for the site and need not have written a word of it.
    **{ns + "author": "author" for ns in _ATOMS},
    **{ns + "author": "author 2" for ns in _ITUNES},
    DC + "creator": "author",
    DC + "title": "title 2",
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
MISSPELLED_ITEMS = frozenset(spelling for name in ("item", "entry") for spelling in (name.title(), name.upper()))
EMPTY_ELEMENTS = ITEMS | GROUPS | MISSPELLED_ITEMS
"""Elements that count although they have neither text nor attributes."""


MAX_DEPTH = 100
"""Nested elements. Real feeds stay far below; deeper nesting is an attack."""
_MAX_ENTITY_LENGTH = 1_000
"""Characters. A longer entity value is not a mere abbreviation."""
_ENTRY_TAG = re.compile(rb"<(?:[\w-]{1,20}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?!#|(?:amp|lt|gt|quot|apos);)")


MAX_ATTRIBUTES = 1_000
"""Attributes of one tag. expat keeps all of them in memory, and feedparser's time grows with their square."""
_LONG_RUN = 8_192
"""Bytes without a `<` that may hold a tag with too many attributes."""
# A tag's attributes; `>` may occur in quotes.
_TAG = re.compile(rb"""<[^\s<>"']++(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+""")


def has_too_many_attributes(body: bytes) -> bool:
    """Return True if a tag in `body` has more than MAX_ATTRIBUTES."""
    step = _LONG_RUN // 2
    position = 0
    # A long run covers a whole step: nearly all steps end at their first `<`.
    while position < len(body):
        if body.find(b"<", position, position + step) >= 0:
            position += step
            continue
        start, end = body.rfind(b"<", 0, position), body.find(b"<", position)
        end = len(body) if end < 0 else end
        tag = _TAG.match(body, start, end) if start >= 0 else None
        if tag and tag[0].count(b"=") > MAX_ATTRIBUTES:
            return True
        position = end
    return False


class _EntryLimitReached(Exception):  # noqa: N818 - not an error
    """Ends parsing once `max_entries` entries have been read."""


def parse_xml_feed(body: bytes, max_entries: int) -> RawFeed:
    """Parse a feed in UTF-8.

    Raise StrictParseError when in doubt, NotAFeedError for an entity declaration that is an attack.
    """
    if has_too_many_attributes(body):
        raise StrictParseError("attributes")
    handler = _FeedHandler(max_entries)
    try:
        _create_parser(handler).Parse(body, True)  # noqa: FBT003 - expat takes no names
    except (expat.ExpatError, UnicodeDecodeError) as error:
        raise StrictParseError(str(error)) from None
    except _EntryLimitReached:
        return handler.result(truncated=True)
    # No entries found but entry-like tags: an unknown namespace, not an empty feed.
    if not handler.entries and _ENTRY_TAG.search(body):
        raise StrictParseError("entries in a namespace that is not known")
    return handler.result(truncated=False)


def _create_parser(handler: "_FeedHandler") -> expat.XMLParserType:
    """Create a parser that calls `handler`.

    Only the parser refers to the handler: without a reference cycle both are freed as soon as parsing ends.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.buffer_size = 1 << 18
    # With a foreign DTD that is never read, an undeclared &nbsp; is no error but a call of SkippedEntityHandler.
    parser.UseForeignDTD(True)  # noqa: FBT003 - expat takes no names
    parser.ExternalEntityRefHandler = lambda *_: 1
    parser.EntityDeclHandler = handler.on_entity_declaration
    parser.AttlistDeclHandler = handler.on_attribute_declaration
    parser.SkippedEntityHandler = handler.on_undeclared_entity
    parser.StartElementHandler = handler.on_start
    parser.EndElementHandler = handler.on_end
    # Text goes straight into the list, without a Python call; what belongs to no field is cleared when the next one
    # opens.
    parser.CharacterDataHandler = handler.text_parts.append
    return parser


class _FeedHandler:
    """The handlers that expat calls, and their position in the document."""

    def __init__(self, max_entries: int) -> None:
        self.max_entries = max_entries
        self.entries: list[RawEntry] = []
        self.atom = False
        self.has_entity_declarations = False
        """The document declares entities of its own."""
        self.depth = 0
        self.child_depth = 0
        """Depth of the child elements that are fields of the feed or of the open entry."""
        self.feed = self.current = RawEntry()
        """Metadata of the feed, and the open entry; both are the feed while no entry is open."""
        self.texts = self.feed.texts
        """`current.texts`."""
        self.feed_child_depth = 0
        self.fields = FEED_FIELDS
        self.entry_depth = 0
        """Depth of the open entry; 0 if none is open."""
        self.in_media_group = False
        self.field = ""
        """The open field, whose text is being collected."""
        self.field_depth = 0
        self.text_parts: list[str] = []
        self.markup: list[str] | None = None
        """Markup of the open field; None until it contains an element."""

    def result(self, *, truncated: bool) -> RawFeed:
        return RawFeed(metadata=self.feed, entries=self.entries, is_atom=self.atom, truncated=truncated)

    # These two run for every element: the common case is inlined, because calls would dominate the time.

    def on_start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth = depth = self.depth + 1
        if self.field:
            self._start_markup(name, attributes)
        elif depth == self.child_depth:
            field = self.fields.get(name)
            if field:
                self.field = field
                self.field_depth = depth
                self.text_parts.clear()
                if attributes:
                    self._apply_attributes(attributes)
            elif attributes or name in EMPTY_ELEMENTS:
                self._start_empty_element(name, attributes)
        else:
            self._start_outside_fields(name, attributes)

    def on_end(self, name: str) -> None:
        depth = self.depth
        self.depth = depth - 1
        field = self.field
        if not field:
            if depth == self.entry_depth:
                self._close_entry()
        elif depth == self.field_depth:
            text = "".join(self.text_parts).strip() if self.markup is None else self._finish_markup()
            self.field = ""
            if field == "tag":
                self.current.tags.append(text)
            elif field == "author":
                self.current.authors.append(text)
            # The first of repeated elements wins.
            elif text and field not in self.texts:
                self.texts[field] = text
        else:
            self._end_markup(name)

    def _apply_attributes(self, attributes: dict[str, str]) -> None:
        """Apply the attributes of the open field to how its text is read."""
        field = self.field
        if field == "ident":
            if attributes.get("isPermaLink", "true").strip().lower() == "false":
                self.texts["opaque"] = "yes"
        elif field in TEXT_FIELDS:
            self._set_content_type(attributes.get("type", "").strip().lower(), attributes.get("mode", ""))
        elif field == "link" and "href" in attributes:
            self._add_link(attributes)
        if XML_BASE in attributes:
            self._apply_base(attributes[XML_BASE])

    def _set_content_type(self, media_type: str, mode: str) -> None:
        """Record whether the text is HTML; raise StrictParseError for types that are neither text nor HTML."""
        if mode == "base64" or not (media_type in SUPPORTED_TYPES or media_type.startswith("text/")):
            raise StrictParseError("type " + media_type[:40])
        if media_type:
            self.current.is_markup[self.field] = media_type in HTML_TYPES
        # XHTML content consists of elements: collect it as markup from the start.
        if media_type in XHTML_TYPES:
            self.markup = []

    def _finish_markup(self) -> str:
        """Return the content of the open field as HTML; for a person or a source, its name."""
        markup = self._flush_markup()
        self.markup = None
        name_element = NAME_ELEMENTS.get(self.field)
        if name_element:
            return _element_text(name_element, "".join(markup))
        self.current.is_markup[self.field] = True
        return "".join(markup).strip()

    def _start_empty_element(self, name: str, attributes: dict[str, str]) -> None:
        """Handle a child element whose content is in its attributes, or that opens an entry or a group."""
        if name in IMAGES:
            self._add_enclosure(attributes)
        elif name in LINKS:
            self._add_link(attributes)
        elif name in ITEMS:
            self._open_entry(attributes)
        elif name in CATEGORIES:
            self.current.tags.append(attributes.get("label") or attributes.get("term") or "")
        elif name in GROUPS:
            self.in_media_group = True
        elif name in MISSPELLED_ITEMS:
            raise StrictParseError("entry called " + name)

    def _add_link(self, attributes: dict[str, str]) -> None:
        """Add an Atom link, or another element with its URL in an attribute."""
        url = attributes.get("href", "").strip()
        relation, media_type = attributes.get("rel", "alternate"), attributes.get("type", "text/html")
        if XML_BASE in attributes:
            url = join_url(join_url(self.current.base_url, attributes[XML_BASE]), url)
        if relation == "alternate":
            self.texts.setdefault("alternate" if media_type in HTML_TYPES else "alternate 2", url)
        elif relation == "enclosure":
            self._add_enclosure(attributes)
        elif relation == "replies" and media_type in HTML_TYPES:
            self.texts.setdefault("discussion", url)

    def _add_enclosure(self, attributes: dict[str, str]) -> None:
        """Add an enclosure or media element as the image; if it is not an image, as a fallback for the entry's link."""
        if not offer_image(self.current, attributes):
            self.texts.setdefault("enclosure", (attributes.get("url") or attributes.get("href", "")).strip())

    def _start_outside_fields(self, name: str, attributes: dict[str, str]) -> None:
        """Handle an element at another depth than the fields: a container, or a descendant without meaning here."""
        if self.depth > MAX_DEPTH:
            raise StrictParseError("depth")
        if self.depth == 1:
            self._open_root(name, attributes)
        elif name in ITEMS or name in MISSPELLED_ITEMS:
            # Deeper ones would be missing without notice.
            if self.depth > 3:
                raise StrictParseError("entry at an unexpected depth")
            self._open_entry(attributes)
        elif self.entry_depth:
            if name in IMAGES:
                self._add_enclosure(attributes)
            elif self.in_media_group and self.depth == self.child_depth + 1 and name in GROUP_FIELDS:
                self.field, self.field_depth = GROUP_FIELDS[name], self.depth
                self.text_parts.clear()
        elif self.depth == 2 and name in CHANNELS:
            self._enter_feed(3, attributes)

    def _open_root(self, name: str, attributes: dict[str, str]) -> None:
        if self.has_entity_declarations:
            raise StrictParseError("entity declaration")
        self.atom = name in ATOM_ROOTS
        if not self.atom and name not in RSS_ROOTS:
            raise StrictParseError("root " + name[:80])
        # RDF and RSS have their fields in <channel>, which sets the depth when it opens.
        self._enter_feed(2 if self.atom else 0, attributes)

    def _enter_feed(self, level: int, attributes: dict[str, str]) -> None:
        """Read the feed's fields at depth `level` from here on."""
        self.child_depth = self.feed_child_depth = level
        self._apply_xml_attributes(attributes)

    def _open_entry(self, attributes: dict[str, str]) -> None:
        if self.entry_depth:
            raise StrictParseError("entry in an entry")
        # Checked when one more entry opens: only then is the result known to be truncated.
        if len(self.entries) == self.max_entries:
            raise _EntryLimitReached
        self.entry_depth = self.depth
        self.child_depth = self.depth + 1
        self.fields = ENTRY_FIELDS
        self.in_media_group = False
        self.current = RawEntry(base_url=self.feed.base_url)
        self.texts = self.current.texts
        if attributes:
            self._apply_xml_attributes(attributes)

    def _apply_xml_attributes(self, attributes: dict[str, str]) -> None:
        """Apply xml:base, xml:lang and rdf:about of the feed or of an entry."""
        if XML_BASE in attributes:
            self._apply_base(attributes[XML_BASE])
        if XML_LANG in attributes:
            self.texts["language"] = attributes[XML_LANG]
        if RDF_ABOUT in attributes:
            self.texts["about"] = attributes[RDF_ABOUT].strip()

    def _apply_base(self, url: str) -> None:
        """Resolve what follows against `url`. Too long a base stays as it is: each element could lengthen it."""
        base = join_url(self.current.base_url, url)
        if len(base) <= MAX_URL_LENGTH:
            self.current.base_url = base

    def _close_entry(self) -> None:
        self.entries.append(self.current)
        self.entry_depth = 0
        self.child_depth = self.feed_child_depth
        self.fields = FEED_FIELDS
        self.current = self.feed
        self.texts = self.feed.texts

    def _start_markup(self, name: str, attributes: dict[str, str]) -> None:
        """Append an element inside a field to the field's markup."""
        if self.field not in TEXT_FIELDS and self.field not in NAME_ELEMENTS:
            raise StrictParseError("markup in " + self.field)
        if self.depth > MAX_DEPTH:
            raise StrictParseError("depth")
        serialized = "".join(f' {_local_name(key)}="{escape(value)}"' for key, value in attributes.items())
        self._flush_markup().append(f"<{_local_name(name)}{serialized}>")

    def _end_markup(self, name: str) -> None:
        self._flush_markup().append(f"</{_local_name(name)}>")

    def _flush_markup(self) -> list[str]:
        """Return the markup list of the open field after moving the collected text to it."""
        if self.markup is None:
            self.markup = []
        self.markup.append(escape("".join(self.text_parts), quote=False))
        self.text_parts.clear()
        return self.markup

    def on_entity_declaration(
        self,
        name: str,
        is_parameter: bool,  # noqa: FBT001 - as expat calls it
        value: str | None,
        *_where: str | None,
    ) -> None:
        """Handle an entity declaration.

        An abbreviation makes the document unfit for strict parsing. Raise NotAFeedError for entities that refer to
        others, to a file or to a long text.
        """
        self.has_entity_declarations = True
        if not is_parameter and (value is None or len(value) > _MAX_ENTITY_LENGTH or _REFERENCE.search(value)):
            raise NotAFeedError(
                f"The feed declares an entity ({name[:40]!r}) that refers to other entities, a file or a long text.",
                hint="Such feeds can exhaust the memory; the feed was not read.",
            )

    def on_attribute_declaration(self, *_declaration: object) -> None:
        """Refuse default attributes: thousands of them would be added to every element."""
        raise StrictParseError("attribute declaration")

    def on_undeclared_entity(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - as expat calls it
        """Replace a reference to an undeclared entity by HTML's character; raise StrictParseError if HTML has none."""
        character = html5.get(name + ";")
        if character is None and not is_parameter:
            raise StrictParseError("entity " + name[:40])
        self.text_parts.append(character or "")


def _local_name(name: str) -> str:
    return name.rpartition(" ")[2]


def _element_text(element: str, markup: str) -> str:
    match = re.search(f"<{element}>([^<]*)<", markup)
    return unescape(match[1]).strip() if match else ""
