"""What is typed in a source's form, and what the desk is asked for."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.source import Source, SourceConfig, SourceType
from copydesk.text import clean

SEARCHED = frozenset({SourceType.HACKERNEWS, SourceType.GOOGLE_NEWS})
"""The types that may be a search."""
_HOSTS = {
    "reddit.com": SourceType.REDDIT,
    "news.ycombinator.com": SourceType.HACKERNEWS,
    "news.google.com": SourceType.GOOGLE_NEWS,
    "x.com": SourceType.TWITTER,
    "twitter.com": SourceType.TWITTER,
    "substack.com": SourceType.SUBSTACK,
}
_EXPRESSION = re.compile(r"/(?:[^/\\]|\\.)+/")
# One in quotes, an expression between slashes, or all up to the next comma.
_PIECE = re.compile(r'\s*(?:"((?:[^"]|"")*)"|(/(?:[^/\\]|\\.)+/)|([^,]*))\s*(?:,|\Z)')


class Place(NamedTuple):
    """What decides which entries a source brings, as far as the form knows it."""

    type: SourceType
    url: str
    query: str = ""

    @property
    def config(self) -> dict[str, object] | None:
        """The part of it that stands in the settings."""
        return {"query": self.query} if self.query else None


def place_of(source: Source) -> Place:
    """Where a source is read."""
    query = source.config.query if source.config else None
    return Place(source.type, clean(source.url or ""), clean(query or "") if source.type in SEARCHED else "")


def type_of(url: str) -> SourceType:
    """The type that an address suggests."""
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    except ValueError:
        return SourceType.RSS
    for known, kind in _HOSTS.items():
        if host == known or host.endswith(f".{known}"):
            return kind
    return SourceType.RSS


def listed(line: str) -> list[str]:
    """The pieces between the commas; a comma in quotes, or in an expression between slashes, is none."""
    found = (
        match[1].replace('""', '"') if match[1] is not None else match[2] or match[3] for match in _PIECE.finditer(line)
    )
    return [piece for piece in map(str.strip, found) if piece]


def as_line(pieces: Iterable[str]) -> str:
    """The pieces as `listed` reads them."""
    return ", ".join(f'"{piece.replace(chr(34), chr(34) * 2)}"' if _needs_quotes(piece) else piece for piece in pieces)


def _needs_quotes(piece: str) -> bool:
    return _EXPRESSION.fullmatch(piece) is None and (piece[:1] in {'"', "/"} or "," in piece)


class Entered(NamedTuple):
    """What stands in the fields of the form."""

    place: Place
    name: str
    weight: str = ""
    interval: str = ""
    include: str = ""
    exclude: str = ""
    tags: str = ""


def entered_of(source: Source) -> Entered:
    """The fields of a source that is to be changed, safe to stand in a field; what stays as it is changes nothing."""
    config = source.config or SourceConfig()
    return Entered(
        place=place_of(source),
        name=clean(source.name),
        weight=f"{config.weight:g}" if config.weight != 1 else "",
        interval=str(config.interval) if config.interval else "",
        include=clean(as_line(config.include)),
        exclude=clean(as_line(config.exclude)),
        tags=clean(as_line(config.tags)),
    )


def changes(source: Source, entered: Entered, url: str) -> dict[str, object]:
    """What the desk is asked to change; `url` is where the source was found.

    InvalidError where a number is none.
    """
    before = entered_of(source)
    asked: dict[str, object] = {}
    if entered.name.strip() != before.name:
        asked["name"] = entered.name
    if entered.place.url != before.place.url:
        asked["url"] = url
    if entered._replace(name="", place=entered.place._replace(url="")) != before._replace(
        name="", place=before.place._replace(url="")
    ):
        asked["config"] = _config(source.config, before, entered)
    return asked


def _config(kept: SourceConfig | None, before: Entered, entered: Entered) -> dict[str, object]:
    """The settings with what was changed in the form; the rest stays as it is."""
    config: dict[str, object] = msgspec.to_builtins(kept) if kept else {}
    known = _settings(before)
    config |= {name: value for name, value in _settings(entered).items() if value != known[name]}
    return {name: value for name, value in config.items() if value not in (None, [], "")}


def _settings(entered: Entered) -> Mapping[str, object]:
    return {
        "weight": _number("weight", entered.weight, float),
        "interval": _number("interval", entered.interval, int),
        "include": listed(entered.include),
        "exclude": listed(entered.exclude),
        "tags": listed(entered.tags),
        "query": entered.place.query,
    }


def _number(field: str, text: str, kind: type[int] | type[float]) -> float | int | None:
    if not text.strip():
        return None
    try:
        return kind(text)
    except ValueError:
        words = "a whole number of minutes" if kind is int else "a number, such as 1.5"
        raise InvalidError(FieldError(field, f"takes {words}, not {text.strip()[:40]!r}")) from None
