"""The state of the compose form: its file format and the request it makes to the desk. Pure."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydesk.model.draft import Format, stored_image_digest
from copydesk.model.serialization import Struct
from copydesk.text import clean, clean_lines
from copydesk.tui.labels import COMPOSE_FORMATS
from copydesk.tui.sources.form_state import split_list

TEXT, GENERATED = "text", "written"
"""The two modes: the user supplies the text, or has it generated."""
REVIEW, APPROVE, SCHEDULE = "review", "approve", "schedule"
"""The next step for a text supplied by the user."""


class ComposeState(Struct, frozen=True):
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
    def has_content(self) -> bool:
        """True if the user has typed anything that could be lost."""
        typed = (self.text, self.url, self.prompt, self.tags, self.platforms, self.pictures)
        return any(value.strip() for value in typed)


class ComposeSession(NamedTuple):
    """The initial state of the compose form, and its callbacks."""

    initial: ComposeState
    save: Callable[[ComposeState], Awaitable[None]]
    """Autosaves the form; raises OSError."""
    create: Callable[[ComposeState], Awaitable[str]]
    """Creates the draft; returns an error message, or an empty string."""
    discard: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    notice: str = ""


class ImageInput(NamedTuple):
    """An image as typed: a location and an alt text."""

    location: str
    alt: str

    @property
    def is_url(self) -> bool:
        """True for a URL or an image stored by Copydesk; otherwise it is a file."""
        return "://" in self.location or stored_image_digest(self.location) is not None

    @property
    def path(self) -> Path:
        """The path of the image file, with `~` expanded."""
        # Path.expanduser raises RuntimeError if there is no such user.
        return Path(os.path.expanduser(self.location))  # noqa: PTH111


def dump_state(state: ComposeState) -> str:
    """Encode the form as the JSON stored in its autosave file."""
    return msgspec.json.encode(state).decode()


def parse_state(text: str) -> ComposeState:
    """Decode an autosave file into field values that are safe to display.

    A file in any other format becomes the text of a draft.
    """
    try:
        state = msgspec.json.decode(text, type=ComposeState)
    except (msgspec.MsgspecError, RecursionError):
        state = ComposeState(text=text)
    multiline = {name: clean_lines(getattr(state, name)) for name in ("text", "pictures")}
    single_line = {name: clean(getattr(state, name)) for name in ("url", "prompt", "tags", "platforms")}
    choices = {
        "way": _valid_or_first(state.way, (TEXT, GENERATED)),
        "format": _valid_or_first(state.format, tuple(Format)),
        "formats": _valid_or_first(state.formats, tuple(COMPOSE_FORMATS)),
        "then": _valid_or_first(state.then, (REVIEW, APPROVE, SCHEDULE)),
    }
    return ComposeState(**multiline, **single_line, **choices)


def _valid_or_first(value: str, choices: tuple[str, ...]) -> str:
    return value if value in choices else str(choices[0])


def parse_images(state: ComposeState) -> list[ImageInput]:
    """Return the images of the form, in order."""
    images = []
    for line in state.pictures.split("\n"):
        location, _, alt = line.partition("|")
        if location.strip():
            images.append(ImageInput(location.strip(), alt.strip()))
    return images


def build_request(state: ComposeState) -> dict[str, object]:
    """Return the desk's create request as JSON values, without the images, which the caller adds."""
    common: dict[str, object] = {"tags": split_list(state.tags), "targetPlatforms": split_list(state.platforms)}
    if state.way == TEXT:
        return {"text": state.text, "format": state.format, **common}
    source = {"url": state.url.strip() or None, "prompt": state.prompt.strip() or None}
    return {**source, "formats": state.formats.split(","), **common}
