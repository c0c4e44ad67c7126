"""The ways to put a title, a quotation and a name together, and the one that an item gets.

Only frames that are true of any item: nothing here says that a story is important or what it means.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from copydesk.drafting.writer import Field, Trace

# Frames without words of any language; the English ones stand beside them.
TITLE_AND_QUOTE = (
    "{title}\n\n{quote} — {name}",
    "{title} ({name})\n\n{quote}",
    "{name}: {title}\n\n{quote}",
    "{title}\n\n{name}: {quote}",
    "{quote}\n\n{title} ({name})",
)
TITLE_AND_QUOTE_ENGLISH = (
    *TITLE_AND_QUOTE,
    "From {name}: {title}\n\n{quote}",
    "{title}\n\n{quote}\n\nVia {name}\n{url}",
    "{title}\n\n{quote}\n\nMore at {name}:\n{url}",
)
TITLE = (
    "{title} ({name})",
    "{name}: {title}",
    "{title} — {name}",
)
TITLE_ENGLISH = (
    *TITLE,
    "From {name}: {title}",
    "{title}\n\nVia {name}\n{url}",
    "{title}\n\nMore at {name}:\n{url}",
)
QUOTE = (
    "{quote} — {name}",
    "{name}: {quote}",
    "{quote}\n\n({name})",
)
QUOTE_ENGLISH = (
    *QUOTE[:2],
    "From {name}: {quote}",
    "{quote}\n\nVia {name}\n{url}",
    "{quote}\n\nMore at {name}:\n{url}",
)
# The first part of a thread stands alone and has no link.
OPENING = (*TITLE_AND_QUOTE, "{title}\n\n{quote}\n\n({name})")
OPENING_ENGLISH = (*TITLE_AND_QUOTE, "From {name}: {title}\n\n{quote}", "{title}\n\n{quote}\n\nVia {name}")
CLOSING = ("{name}\n{url}", "{name}: {url}")
CLOSING_ENGLISH = (
    "Source: {name}\n{url}",
    "More at {name}:\n{url}",
    "Quoted from {name}:\n{url}",
    "Via {name}\n{url}",
    "Read it at {name}:\n{url}",
    "The source is {name}:\n{url}",
)


class Piece(NamedTuple):
    """Words that fill a place of a frame, and where they come from."""

    shown: str
    traces: tuple[Trace, ...]


class Composed(NamedTuple):
    """A text, and where each of its words comes from."""

    text: str
    traces: tuple[Trace, ...]


def in_turn(frames: Sequence[str], seed: str) -> list[str]:
    """All of `frames`, from the one that `seed` picks; the same seed picks the same one on every machine."""
    first = int.from_bytes(blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % len(frames)
    return [*frames[first:], *frames[:first]]


def compose(frame: str, pieces: dict[str, Piece | None]) -> Composed:
    """`frame` with its places filled; `url` goes to the end where the frame has no place for it."""
    if pieces.get("url") and "{url}" not in frame:
        frame += "\n\n{url}"
    text: list[str] = []
    traces: list[Trace] = []
    for line in frame.split("\n"):
        shown, found = _line(line, pieces)
        text.append(shown)
        traces += found
    return Composed("\n".join(text), tuple(traces))


def _line(line: str, pieces: dict[str, Piece | None]) -> tuple[str, list[Trace]]:
    shown, traces, framing = "", [], ""
    for literal, place in _places(line):
        shown, framing = shown + literal, framing + literal
        piece = pieces.get(place) if place else None
        if piece is None:
            continue
        shown += piece.shown
        if all(trace.field is Field.TEMPLATE for trace in piece.traces):
            framing += piece.shown
        else:
            traces += [*_template(framing), *piece.traces]
            framing = ""
    return shown, [*traces, *_template(framing)]


@cache
def _places(line: str) -> tuple[tuple[str, str], ...]:
    """The literal text before each place of a frame's line, and the place's name; the rest with an empty name."""
    found: list[tuple[str, str]] = []
    while "{" in line:
        literal, _, rest = line.partition("{")
        place, _, line = rest.partition("}")
        found.append((literal, place))
    return (*found, (line, ""))


def _template(words: str) -> list[Trace]:
    bare = words.strip(" \n()—:“”")
    return [Trace(text=bare, field=Field.TEMPLATE)] if bare else []
