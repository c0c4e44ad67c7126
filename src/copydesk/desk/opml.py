"""Lists of feeds as other readers write them: OPML in and out."""

from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.source import Source, SourceConfig, SourceType
from copydesk.model.wire import Struct, to_json

MAX_BYTES = 10 * 1024 * 1024
MAX_FEEDS = 10_000


class Outline(Struct, frozen=True):
    """One feed of a list."""

    name: str
    url: str
    type: SourceType
    config: SourceConfig | None = None


def read(body: bytes) -> tuple[Outline, ...]:
    """The feeds of an OPML file, each address and search once; InvalidError for what is no OPML."""
    if len(body) > MAX_BYTES:
        raise InvalidError(FieldError("file", f"is over {MAX_BYTES // 2**20} MiB"))
    found: dict[tuple[str, str | None], Outline] = {}
    seen = set()

    def start(tag: str, attributes: dict[str, str]) -> None:
        seen.add(tag.lower())
        named = {name.lower(): value.strip() for name, value in attributes.items()}
        url = named.get("xmlurl", "")
        if tag.lower() == "outline" and url and len(found) < MAX_FEEDS:
            outline = _outline(url, named)
            found.setdefault((url, outline.config.query if outline.config else None), outline)

    def refuse(*_: object) -> None:
        raise InvalidError(FieldError("file", "declares entities, which no list of feeds needs"))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(body, True)  # noqa: FBT003 - it takes no name
    except (expat.ExpatError, UnicodeDecodeError, ValueError) as error:
        raise InvalidError(FieldError("file", f"is not OPML: {error}")) from None
    if "opml" not in seen:
        raise InvalidError(FieldError("file", "is XML, but not OPML"))
    return tuple(found.values())


def _outline(url: str, named: dict[str, str]) -> Outline:
    given = " ".join((named.get("title") or named.get("text") or "").split())
    name = given or _split(url).netloc or url
    return Outline(name=name[:200], url=url, type=_type(url, named.get("copydesktype", "")), config=_config(named))


def _split(url: str) -> SplitResult:
    """The parts of the address; empty ones where it is none, which is for whoever adds the feed to refuse."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _type(url: str, written: str) -> SourceType:
    if written in set(SourceType):
        return SourceType(written)
    host = (_split(url).hostname or "").removeprefix("www.")
    if host.endswith(".substack.com"):
        return SourceType.SUBSTACK
    return SourceType.REDDIT if host in {"reddit.com", "old.reddit.com"} else SourceType.RSS


def _config(named: dict[str, str]) -> SourceConfig | None:
    try:
        return msgspec.json.decode(named["copydeskconfig"], type=SourceConfig) if "copydeskconfig" in named else None
    except msgspec.DecodeError:
        return None


def write(sources: Iterable[Source]) -> str:
    """The sources as OPML. Type and settings stand in attributes that other readers pass over."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<opml version="2.0">']
    lines += ["  <head><title>Copydesk sources</title></head>", "  <body>"]
    for source in sources:
        named = {"type": "rss", "text": source.name, "xmlUrl": source.url or "", "copydeskType": source.type.value}
        if source.config:
            named["copydeskConfig"] = to_json(source.config)
        lines.append(f"    <outline {' '.join(f'{key}={_quoted(value)}' for key, value in named.items())}/>")
    return "\n".join([*lines, "  </body>", "</opml>", ""])


def _quoted(value: str) -> str:
    """`value` as an attribute; what XML cannot hold is left out."""
    return quoteattr("".join(char for char in value if char >= " " or char in "\t\n"), {"\n": "&#10;", "\t": "&#9;"})
