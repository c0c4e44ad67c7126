"""What stands in the form of a new draft, how it is kept in a file, and what the desk is asked by it. Pure."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydesk.model.draft import Format
from copydesk.model.picture import kept_digest
from copydesk.model.wire import Struct
from copydesk.text import clean, clean_lines
from copydesk.tui.source_entry import listed

TEXT, WRITTEN = "text", "written"
"""The two ways to a draft: the text is given, or it is to be written."""
FORMATS = {
    "SHORT": "SHORT",
    "THREAD": "THREAD",
    "BLOG": "BLOG",
    "SHORT,THREAD": "SHORT and THREAD",
    "SHORT,THREAD,BLOG": "all three",
}
REVIEW, APPROVE, SCHEDULE = "review", "approve", "schedule"
"""What becomes of a text that was given."""
WAYS = {TEXT: "my own text", WRITTEN: "have it written"}
THEN = {REVIEW: "to review", APPROVE: "approved", SCHEDULE: "approved, next free slot"}
LINES = {
    "url": "a page to write from",
    "prompt": "what to write, and how",
    "tags": "commas between them",
    "platforms": "all, or: bluesky, x",
}
"""What stands in the lines while they are empty: as much as forty columns have room for."""


class Composed(Struct, frozen=True):
    """What stands in the fields."""

    way: str = TEXT
    text: str = ""
    format: str = Format.SHORT.value
    url: str = ""
    prompt: str = ""
    formats: str = "SHORT"
    tags: str = ""
    platforms: str = ""
    pictures: str = ""
    """A line each: a file or an address, `|`, and what it shows."""
    then: str = REVIEW

    @property
    def anything(self) -> bool:
        """Whether there is anything to lose."""
        typed = (self.text, self.url, self.prompt, self.tags, self.platforms, self.pictures)
        return any(each.strip() for each in typed)


class ToCompose(NamedTuple):
    """Where a new draft begins, and what is done with it."""

    begun: Composed
    keep: Callable[[Composed], Awaitable[None]]
    """Keeps what is typed; raises OSError."""
    make: Callable[[Composed], Awaitable[str]]
    """Makes the draft; why not, or nothing."""
    forget: Callable[[], Awaitable[None]]
    """What was kept is not wanted."""
    notice: str = ""


class GivenPicture(NamedTuple):
    """A picture as it was typed."""

    place: str
    alt: str

    @property
    def is_address(self) -> bool:
        """Whether it is on the web, or kept here; else it is in a file."""
        return "://" in self.place or kept_digest(self.place) is not None

    @property
    def path(self) -> Path:
        """Its file."""
        # Path's own raises where there is no such user.
        return Path(os.path.expanduser(self.place))  # noqa: PTH111


def kept(composed: Composed) -> str:
    """As it stands in its file."""
    return msgspec.json.encode(composed).decode()


def read(text: str) -> Composed:
    """What stands in a file, safe to stand in the fields; a file that is none of ours is the text of a draft."""
    try:
        found = msgspec.json.decode(text, type=Composed)
    except (msgspec.MsgspecError, RecursionError):
        found = Composed(text=text)
    lines = {name: clean_lines(getattr(found, name)) for name in ("text", "pictures")}
    line = {name: clean(getattr(found, name)) for name in ("url", "prompt", "tags", "platforms")}
    choices = {
        "way": _one_of(found.way, (TEXT, WRITTEN)),
        "format": _one_of(found.format, tuple(Format)),
        "formats": _one_of(found.formats, tuple(FORMATS)),
        "then": _one_of(found.then, (REVIEW, APPROVE, SCHEDULE)),
    }
    return Composed(**lines, **line, **choices)


def _one_of(value: str, known: tuple[str, ...]) -> str:
    return value if value in known else str(known[0])


def pictures_of(composed: Composed) -> list[GivenPicture]:
    """The pictures in order."""
    found = []
    for line in composed.pictures.split("\n"):
        place, _, alt = line.partition("|")
        if place.strip():
            found.append(GivenPicture(place.strip(), alt.strip()))
    return found


def asked(composed: Composed) -> dict[str, object]:
    """What the desk is asked to make, as JSON has it; the pictures come to it by themselves."""
    more: dict[str, object] = {"tags": listed(composed.tags), "targetPlatforms": listed(composed.platforms)}
    if composed.way == TEXT:
        return {"text": composed.text, "format": composed.format, **more}
    wanted = {"url": composed.url.strip() or None, "prompt": composed.prompt.strip() or None}
    return {**wanted, "formats": composed.formats.split(","), **more}
