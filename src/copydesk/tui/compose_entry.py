"""The state of the compose form: its file format and the request it makes to the desk. Pure."""

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
"""The two modes: the user supplies the text, or has it generated."""
FORMATS = {
    "SHORT": "SHORT",
    "THREAD": "THREAD",
    "BLOG": "BLOG",
    "SHORT,THREAD": "SHORT and THREAD",
    "SHORT,THREAD,BLOG": "all three",
}
REVIEW, APPROVE, SCHEDULE = "review", "approve", "schedule"
"""The next step for a text supplied by the user."""
WAYS = {TEXT: "my own text", WRITTEN: "have it written"}
THEN = {REVIEW: "to review", APPROVE: "approved", SCHEDULE: "approved, next free slot"}
LINES = {
    "url": "a page to write from",
    "prompt": "what to write, and how",
    "tags": "commas between them",
    "platforms": "all, or: bluesky, x",
}
"""Placeholders of the input lines, short enough for 40 columns."""


class Composed(Struct, frozen=True):
    """The values of the form fields. Stored as JSON in the autosave file."""

    way: str = TEXT
    text: str = ""
    format: str = Format.SHORT.value
    url: str = ""
    prompt: str = ""
    formats: str = "SHORT"
    tags: str = ""
    platforms: str = ""
    pictures: str = ""
    """One image per line: a file or a URL, `|`, and its alt text."""
    then: str = REVIEW

    @property
    def anything(self) -> bool:
        """True if the user has typed anything that could be lost."""
        typed = (self.text, self.url, self.prompt, self.tags, self.platforms, self.pictures)
        return any(value.strip() for value in typed)


class ToCompose(NamedTuple):
    """The initial state of the compose form, and its callbacks."""

    begun: Composed
    keep: Callable[[Composed], Awaitable[None]]
    """Autosaves the form; raises OSError."""
    make: Callable[[Composed], Awaitable[str]]
    """Creates the draft; returns an error message, or an empty string."""
    forget: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    notice: str = ""


class GivenPicture(NamedTuple):
    """An image as typed: a location and an alt text."""

    place: str
    alt: str

    @property
    def is_address(self) -> bool:
        """True for a URL or an image stored by Copydesk; otherwise it is a file."""
        return "://" in self.place or kept_digest(self.place) is not None

    @property
    def path(self) -> Path:
        """The path of the image file, with `~` expanded."""
        # Path.expanduser raises RuntimeError if there is no such user.
        return Path(os.path.expanduser(self.place))  # noqa: PTH111


def kept(composed: Composed) -> str:
    """Encode the form as the JSON stored in its autosave file."""
    return msgspec.json.encode(composed).decode()


def read(text: str) -> Composed:
    """Decode an autosave file into field values that are safe to display.

    A file in any other format becomes the text of a draft.
    """
    try:
        state = msgspec.json.decode(text, type=Composed)
    except (msgspec.MsgspecError, RecursionError):
        state = Composed(text=text)
    multiline = {name: clean_lines(getattr(state, name)) for name in ("text", "pictures")}
    single_line = {name: clean(getattr(state, name)) for name in ("url", "prompt", "tags", "platforms")}
    choices = {
        "way": _valid_or_first(state.way, (TEXT, WRITTEN)),
        "format": _valid_or_first(state.format, tuple(Format)),
        "formats": _valid_or_first(state.formats, tuple(FORMATS)),
        "then": _valid_or_first(state.then, (REVIEW, APPROVE, SCHEDULE)),
    }
    return Composed(**multiline, **single_line, **choices)


def _valid_or_first(value: str, choices: tuple[str, ...]) -> str:
    return value if value in choices else str(choices[0])


def pictures_of(composed: Composed) -> list[GivenPicture]:
    """Return the images of the form, in order."""
    images = []
    for line in composed.pictures.split("\n"):
        location, _, alt = line.partition("|")
        if location.strip():
            images.append(GivenPicture(location.strip(), alt.strip()))
    return images


def asked(composed: Composed) -> dict[str, object]:
    """Return the desk's create request as JSON values, without the images, which the caller adds."""
    common: dict[str, object] = {"tags": listed(composed.tags), "targetPlatforms": listed(composed.platforms)}
    if composed.way == TEXT:
        return {"text": composed.text, "format": composed.format, **common}
    source = {"url": composed.url.strip() or None, "prompt": composed.prompt.strip() or None}
    return {**source, "formats": composed.formats.split(","), **common}
