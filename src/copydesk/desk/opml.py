"""Read and write OPML, the format in which feed readers exchange subscription lists."""

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
    """A feed in an OPML file."""

    name: str
    url: str
    type: SourceType
    config: SourceConfig | None = None


def parse_opml(body: bytes) -> tuple[Outline, ...]:
    """Return the feeds of an OPML file in file order, without duplicates of URL and query, at most `MAX_FEEDS`.

    Raise InvalidError if `body` is too large, is not OPML, or declares entities.
    """
    if len(body) > MAX_BYTES:
        raise InvalidError(FieldError("file", f"is over {MAX_BYTES // 2**20} MiB"))
    outlines: dict[tuple[str, str | None], Outline] = {}
    tags = set()

    def handle_start(tag: str, attributes: dict[str, str]) -> None:
        tags.add(tag.lower())
        attrs = {name.lower(): value.strip() for name, value in attributes.items()}
        url = attrs.get("xmlurl", "")
        if tag.lower() == "outline" and url and len(outlines) < MAX_FEEDS:
            outline = _parse_outline(url, attrs)
            # Google News sources share a URL and differ only in their query.
            outlines.setdefault((url, outline.config.query if outline.config else None), outline)

    def reject_entity(*_: object) -> None:
        raise InvalidError(FieldError("file", "declares entities, which no list of feeds needs"))

    parser = expat.ParserCreate()
    parser.StartElementHandler = handle_start
    # Entities allow expansion bombs ("billion laughs") and external references.
    parser.EntityDeclHandler = reject_entity
    try:
        parser.Parse(body, True)  # noqa: FBT003 - positional-only
    except (expat.ExpatError, UnicodeDecodeError, ValueError) as error:
        raise InvalidError(FieldError("file", f"is not OPML: {error}")) from None
    if "opml" not in tags:
        raise InvalidError(FieldError("file", "is XML, but not OPML"))
    return tuple(outlines.values())


def _parse_outline(url: str, attrs: dict[str, str]) -> Outline:
    title = " ".join((attrs.get("title") or attrs.get("text") or "").split())
    name = title or _split_url(url).netloc or url
    # Source names are limited to 200 characters.
    return Outline(
        name=name[:200], url=url, type=_guess_type(url, attrs.get("copydesktype", "")), config=_parse_config(attrs)
    )


def _split_url(url: str) -> SplitResult:
    """Return the parts of `url`; empty ones if it cannot be parsed. Validation happens when the feed is added."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _guess_type(url: str, declared_type: str) -> SourceType:
    if declared_type in set(SourceType):
        return SourceType(declared_type)
    host = (_split_url(url).hostname or "").removeprefix("www.")
    if host.endswith(".substack.com"):
        return SourceType.SUBSTACK
    return SourceType.REDDIT if host in {"reddit.com", "old.reddit.com"} else SourceType.RSS


def _parse_config(attrs: dict[str, str]) -> SourceConfig | None:
    try:
        return msgspec.json.decode(attrs["copydeskconfig"], type=SourceConfig) if "copydeskconfig" in attrs else None
    except msgspec.DecodeError:
        return None


def format_opml(sources: Iterable[Source]) -> str:
    """Return the sources as an OPML document.

    Type and config go into attributes of our own (`copydeskType`, `copydeskConfig`), which other readers ignore.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<opml version="2.0">']
    lines += ["  <head><title>Copydesk sources</title></head>", "  <body>"]
    for source in sources:
        attrs = {"type": "rss", "text": source.name, "xmlUrl": source.url or "", "copydeskType": source.type.value}
        if source.config:
            attrs["copydeskConfig"] = to_json(source.config)
        lines.append(f"    <outline {' '.join(f'{key}={_quote_attribute(value)}' for key, value in attrs.items())}/>")
    return "\n".join([*lines, "  </body>", "</opml>", ""])


def _quote_attribute(value: str) -> str:
    """Return `value` as a quoted XML attribute, without the control characters that XML cannot represent."""
    return quoteattr("".join(char for char in value if char >= " " or char in "\t\n"), {"\n": "&#10;", "\t": "&#9;"})
