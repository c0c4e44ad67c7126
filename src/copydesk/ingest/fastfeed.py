"""RSS, RDF and Atom -> what they hold, streamed through the standard library's expat.

Strict: it reads well-formed XML of a known kind and raises Refused on anything else, so that what it returns is
never a guess. Nothing is expanded and nothing is opened: a document that declares an entity is refused.
"""

import re
from html import escape, unescape
from html.entities import html5
from xml.parsers import expat

from copydesk.errors import NotAFeedError
from copydesk.ingest import vocabulary as names
from copydesk.ingest.links import join
from copydesk.ingest.picture import offer
from copydesk.ingest.raw import RawEntry, RawFeed, Refused

MAX_DEPTH = 100
_MAX_ENTITY = 1_000
"""Characters of a declared entity that may still be an abbreviation."""
_ENTRY = re.compile(rb"<(?:[\w-]{1,20}:)?(?:item|entry)[\s>]")
_REFERENCE = re.compile(r"&[^#]")


class _Enough(Exception):  # noqa: N818 - not an error
    """As many entries as were asked for have been read."""


def parse_fast(body: bytes, max_entries: int) -> RawFeed:
    """What the feed `body` (UTF-8) holds. Raises Refused when in doubt, NotAFeedError for an entity bomb."""
    reader = _Reader(max_entries)
    try:
        _parser(reader).Parse(body, True)  # noqa: FBT003 - expat takes no names
    except (expat.ExpatError, UnicodeDecodeError) as error:
        raise Refused(str(error)) from None
    except _Enough:
        return reader.result(more=True)
    if not reader.entries and _ENTRY.search(body):
        raise Refused("entries in a namespace that is not known")
    return reader.result(more=False)


def _parser(reader: "_Reader") -> expat.XMLParserType:
    """A parser that calls `reader`, which knows nothing of it: so both go as soon as the parsing is done."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.buffer_size = 1 << 18
    # With a DTD that is never read, an undeclared &nbsp; is no error but comes to SkippedEntityHandler.
    parser.UseForeignDTD(True)  # noqa: FBT003 - expat takes no names
    parser.ExternalEntityRefHandler = lambda *_: 1
    parser.EntityDeclHandler = reader.entity
    parser.SkippedEntityHandler = reader.skipped
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    # Straight into the list: what belongs to no field is thrown away when the next one opens.
    parser.CharacterDataHandler = reader.pieces.append
    return parser


class _Reader:
    """The handlers that expat calls, and where in the document they are."""

    def __init__(self, max_entries: int) -> None:
        self.max_entries = max_entries
        self.entries: list[RawEntry] = []
        self.atom = False
        self.declares = False
        """Whether there are entities of the document's own."""
        self.depth = 0
        self.level = 0
        """The depth at which the fields of the feed, or of the open entry, are."""
        self.about = self.found = RawEntry()
        """What the feed says of itself, and what the open entry does; the feed too where none is open."""
        self.texts = self.about.texts
        """Those of `found`."""
        self.feed_level = 0
        self.fields = names.FEED_FIELDS
        self.entry_depth = 0
        """Where an entry is open; 0 where none is."""
        self.in_group = False
        self.field = ""
        """The field that is open, whose text is being gathered."""
        self.field_depth = 0
        self.pieces: list[str] = []
        self.markup: list[str] | None = None
        """What the open field holds as markup, once there is an element in it."""

    def result(self, *, more: bool) -> RawFeed:
        return RawFeed(about=self.about, entries=self.entries, atom=self.atom, more=more)

    # These two run for every element, so the common case is written out in them.

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth = depth = self.depth + 1
        if self.field:
            self._start_markup(name, attributes)
        elif depth == self.level:
            field = self.fields.get(name)
            if field:
                self.field = field
                self.field_depth = depth
                self.pieces.clear()
                if attributes:
                    self._qualify(attributes)
            elif attributes or name in names.EMPTY:
                self._start_other(name, attributes)
        else:
            self._start_elsewhere(name, attributes)

    def end(self, name: str) -> None:
        depth = self.depth
        self.depth = depth - 1
        field = self.field
        if not field:
            if depth == self.entry_depth:
                self._close_entry()
        elif depth == self.field_depth:
            text = "".join(self.pieces).strip() if self.markup is None else self._close_markup()
            self.field = ""
            if field == "tag":
                self.found.tags.append(text)
            elif field == "author":
                self.found.authors.append(text)
            elif text and field not in self.texts:
                self.texts[field] = text
        else:
            self._end_markup(name)

    def _qualify(self, attributes: dict[str, str]) -> None:
        """What the attributes of the open field say about its text."""
        field = self.field
        if field == "ident":
            if attributes.get("isPermaLink", "true").strip().lower() == "false":
                self.texts["opaque"] = "yes"
        elif field in names.TEXTS:
            self._say_type(attributes.get("type", "").strip().lower(), attributes.get("mode", ""))
        elif field == "link" and "href" in attributes:
            self._link(attributes)
        if names.BASE in attributes:
            self.found.base = join(self.found.base, attributes[names.BASE])

    def _say_type(self, kind: str, mode: str) -> None:
        if mode == "base64" or not (kind in names.KNOWN_TYPES or kind.startswith("text/")):
            raise Refused("type " + kind[:40])
        if kind:
            self.found.is_markup[self.field] = kind in names.HTML
        if kind in names.XHTML:
            self.markup = []

    def _close_markup(self) -> str:
        """The text of the open field that has elements in it, as HTML; of a person or a source, its name."""
        markup = self._markup_so_far()
        self.markup = None
        part = names.PARTS.get(self.field)
        if part:
            return _text_of(part, "".join(markup))
        self.found.is_markup[self.field] = True
        return "".join(markup).strip()

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        """An element among the fields that is none by its text."""
        if name in names.PICTURES:
            self._picture(attributes)
        elif name in names.LINKS:
            self._link(attributes)
        elif name in names.ITEMS:
            self._open_entry(attributes)
        elif name in names.CATEGORIES:
            self.found.tags.append(attributes.get("label") or attributes.get("term") or "")
        elif name in names.GROUPS:
            self.in_group = True

    def _link(self, attributes: dict[str, str]) -> None:
        """An Atom link, or another that has its address in an attribute."""
        address = attributes.get("href", "").strip()
        relation, kind = attributes.get("rel", "alternate"), attributes.get("type", "text/html")
        if names.BASE in attributes:
            address = join(join(self.found.base, attributes[names.BASE]), address)
        if relation == "alternate":
            self.texts.setdefault("alternate" if kind in names.HTML else "alternate 2", address)
        elif relation == "enclosure":
            self._picture(attributes)
        elif relation == "replies" and kind in names.HTML:
            self.texts.setdefault("discussion", address)

    def _picture(self, attributes: dict[str, str]) -> None:
        """An enclosure or a media element: a picture, or else perhaps where the entry leads."""
        if not offer(self.found, attributes):
            self.texts.setdefault("enclosure", (attributes.get("url") or attributes.get("href", "")).strip())

    def _start_elsewhere(self, name: str, attributes: dict[str, str]) -> None:
        """An element that is not among the fields: what the fields are in, or something within one of no interest."""
        if self.depth > MAX_DEPTH:
            raise Refused("depth")
        if self.depth == 1:
            self._open_root(name, attributes)
        elif self.entry_depth:
            if name in names.PICTURES:
                self._picture(attributes)
            elif self.in_group and self.depth == self.level + 1 and name in names.GROUP_FIELDS:
                self.field, self.field_depth = names.GROUP_FIELDS[name], self.depth
                self.pieces.clear()
        elif self.depth == 2 and name in names.CHANNELS:
            self._describe_feed(3, attributes)
        elif self.depth <= 3 and name in names.ITEMS:
            self._open_entry(attributes)

    def _open_root(self, name: str, attributes: dict[str, str]) -> None:
        if self.declares:
            raise Refused("entity declaration")
        self.atom = name in names.ATOM_ROOTS
        if not self.atom and name not in names.RSS_ROOTS:
            raise Refused("root " + name[:80])
        self._describe_feed(2 if self.atom else 0, attributes)

    def _describe_feed(self, level: int, attributes: dict[str, str]) -> None:
        """The fields of the feed are at depth `level` from here on."""
        self.level = self.feed_level = level
        self._describe(attributes)

    def _open_entry(self, attributes: dict[str, str]) -> None:
        if len(self.entries) == self.max_entries:
            raise _Enough
        self.entry_depth = self.depth
        self.level = self.depth + 1
        self.fields = names.ENTRY_FIELDS
        self.in_group = False
        self.found = RawEntry(base=self.about.base)
        self.texts = self.found.texts
        if attributes:
            self._describe(attributes)

    def _describe(self, attributes: dict[str, str]) -> None:
        """What the attributes of the feed or of an entry say."""
        if names.BASE in attributes:
            self.found.base = join(self.found.base, attributes[names.BASE])
        if names.LANGUAGE in attributes:
            self.texts["language"] = attributes[names.LANGUAGE]
        if names.ABOUT in attributes:
            self.texts["about"] = attributes[names.ABOUT].strip()

    def _close_entry(self) -> None:
        self.entries.append(self.found)
        self.entry_depth = 0
        self.level = self.feed_level
        self.fields = names.FEED_FIELDS
        self.found = self.about
        self.texts = self.about.texts

    def _start_markup(self, name: str, attributes: dict[str, str]) -> None:
        """An element inside a field: written down as it was."""
        if self.field not in names.TEXTS and self.field not in names.PARTS:
            raise Refused("markup in " + self.field)
        if self.depth > MAX_DEPTH:
            raise Refused("depth")
        said = "".join(f' {_local(key)}="{escape(value)}"' for key, value in attributes.items())
        self._markup_so_far().append(f"<{_local(name)}{said}>")

    def _end_markup(self, name: str) -> None:
        self._markup_so_far().append(f"</{_local(name)}>")

    def _markup_so_far(self) -> list[str]:
        """The markup of the open field, with the text that has come in."""
        if self.markup is None:
            self.markup = []
        self.markup.append(escape("".join(self.pieces), quote=False))
        self.pieces.clear()
        return self.markup

    def entity(
        self,
        name: str,
        is_parameter: bool,  # noqa: FBT001 - as expat calls it
        value: str | None,
        *_where: str | None,
    ) -> None:
        """A declared entity: an abbreviation is left to feedparser, what brings in others or a file is an attack."""
        self.declares = True
        if not is_parameter and (value is None or len(value) > _MAX_ENTITY or _REFERENCE.search(value)):
            raise NotAFeedError(
                f"The feed declares an entity ({name[:40]!r}) that stands for other entities, a file or a long text.",
                hint="That is how a small document is made to fill the memory, so it was not read.",
            )

    def skipped(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - as expat calls it
        """An entity that nobody declared."""
        character = html5.get(name + ";")
        if character is None and not is_parameter:
            raise Refused("entity " + name[:40])
        self.pieces.append(character or "")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _text_of(element: str, markup: str) -> str:
    found = re.search(f"<{element}>([^<]*)<", markup)
    return unescape(found[1]).strip() if found else ""
