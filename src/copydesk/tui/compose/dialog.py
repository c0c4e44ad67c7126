"""The form of a new draft, with a preview per platform beside it. The form is autosaved while it is filled in.

Its state is a value: the autosave file and the request to the desk are made from it. The preview has thumbnails of the
images in the form: files are read, nothing is fetched from the web.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from copydesk.model.delivery import Preview
from copydesk.model.draft import Checks, DraftImage, Format, ImageSource, Thumbnail, stored_image_digest
from copydesk.model.serialization import Struct
from copydesk.text import clean, clean_lines
from copydesk.tui import labels
from copydesk.tui.dialogs.autosaved_form import AutosavedForm
from copydesk.tui.dialogs.prompt import discard_with_consent
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.labels import (
    COMPOSE_FORMATS,
    COMPOSE_LABELS,
    COMPOSE_MODES,
    COMPOSE_NEXT_STEPS,
    COMPOSE_PLACEHOLDERS,
)
from copydesk.tui.layout import paragraph
from copydesk.tui.review.pages import INDENT, ImageView, preview_page, typed_findings
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.sources.form_state import split_list
from copydesk.tui.terminal.images import render_thumbnail
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.inputs import Choice, SafeInput, SafeTextArea, with_label
from copydesk.tui.widgets.key_hints import KeyHints
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp


TEXT, GENERATED = "text", "written"
"""The two modes: the user supplies the text, or has it generated."""
REVIEW, APPROVE, SCHEDULE = "review", "approve", "schedule"
"""The next step for a text supplied by the user."""
MAX_LINE_LENGTH = 5000
"""Characters of an input line."""
PREVIEW_DELAY = 0.15
"""Seconds without a keystroke after which the preview is updated."""


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
    create: Callable[[ComposeState], Awaitable[None]]
    """Creates the draft; raises CopydeskError."""
    discard: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    notice: str = ""
    platforms: Sequence[str] = ()
    """The platforms of the connected accounts."""


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


class ComposeForm(VerticalScroll, can_focus=False):
    """The fields of the compose form, those of the selected mode only. Posts `Changed` whenever a value changes."""

    class Changed(Message):
        """Something was typed or selected."""

    def compose(self) -> ComposeResult:
        """Yield the fields."""
        yield with_label("", Choice(COMPOSE_MODES, TEXT, id="way"))
        yield SafeTextArea(id="text", soft_wrap=True, tab_behavior="focus")
        for name in ("url", "prompt"):
            yield with_label(COMPOSE_LABELS[name], _input(name))
        yield with_label(
            COMPOSE_LABELS["format"],
            Choice({kind.value: name for kind, name in labels.FORMAT_NAMES.items()}, Format.SHORT, id="format"),
        )
        yield with_label(COMPOSE_LABELS["formats"], Choice(COMPOSE_FORMATS, "SHORT", id="formats"))
        for name in ("tags", "platforms"):
            yield with_label(COMPOSE_LABELS[name], _input(name))
        yield Static(Content(COMPOSE_LABELS["pictures"]), classes="-label")
        yield SafeTextArea(id="pictures", soft_wrap=True, tab_behavior="focus")
        yield with_label(COMPOSE_LABELS["then"], Choice(COMPOSE_NEXT_STEPS, REVIEW, id="then"))

    def fill(self, state: ComposeState) -> None:
        """Set all fields."""
        for area in self.query(SafeTextArea):
            area.load_text(getattr(state, str(area.id)))
            # Typing continues at the end of a restored text.
            area.move_cursor(area.document.end)
        for field in self.query(Input):
            field.value = getattr(state, str(field.id))
        for choice in self.query(Choice):
            choice.value = getattr(state, str(choice.id))
        self._show_mode()

    def _show_mode(self) -> None:
        """Show only the fields of the selected mode."""
        is_text = self.query_one("#way", Choice).value == TEXT
        self.query_one("#text").display = is_text
        for name, visible in (
            ("url", not is_text),
            ("prompt", not is_text),
            ("format", is_text),
            ("formats", not is_text),
        ):
            self.query_one(f"#{name}-line").display = visible
        self.query_one("#then-line").display = is_text

    @property
    def state(self) -> ComposeState:
        """The current values of the fields."""
        values = {str(area.id): area.text for area in self.query(SafeTextArea)}
        values |= {str(field.id): field.value for field in self.query(Input)}
        values |= {str(choice.id): choice.value for choice in self.query(Choice)}
        return ComposeState(**values)

    @on(TextArea.Changed)
    @on(Input.Changed)
    def _on_typed(self) -> None:
        self.post_message(self.Changed())

    @on(Choice.Changed)
    def _on_selected(self) -> None:
        self._show_mode()
        self.post_message(self.Changed())


def _input(name: str) -> Input:
    # Focus must not select the text: the next key would replace it.
    return SafeInput(placeholder=COMPOSE_PLACEHOLDERS[name], id=name, max_length=MAX_LINE_LENGTH, select_on_focus=False)


class ImageInputCache:
    """A cache of the images in the compose form, so that typing in the text does not read them again."""

    def __init__(self) -> None:
        self._cache: dict[str, ImageView] = {}

    def clear(self) -> None:
        """Clear the cache: another draft is being composed, and files may have changed."""
        self._cache.clear()

    def get_cached(self, images: Sequence[ImageInput]) -> list[ImageView]:
        """Return the images as far as they are cached, with their current alt texts."""
        return [self._cache.get(image.location, ImageView(""))._replace(alt=image.alt) for image in images]

    async def load(self, app: "DeskApp", desk: "Desk", images: Sequence[ImageInput], room: int) -> list[ImageView]:
        """Load the images and render them in lines of at most `room` cells; return them in order."""
        for image in images:
            # An image without content was not readable last time: try again, the file may exist by now.
            cached = self._cache.get(image.location)
            thumbnail = (
                cached.thumbnail
                if cached and cached.thumbnail and cached.thumbnail.content
                else await _load_thumbnail(desk, image)
            )
            # One cell stays free next to the scroll bar.
            lines = await render_thumbnail(app, desk, thumbnail, room - 1 - INDENT)
            self._cache[image.location] = ImageView(image.alt, thumbnail, lines)
        return self.get_cached(images)


async def _load_thumbnail(desk: "Desk", image: ImageInput) -> Thumbnail:
    if not image.is_url:
        return await desk.drafts.images.file_thumbnail(image.path)
    draft_image = DraftImage(id="", url=image.location, alt=None, position=0, source=ImageSource.UPLOAD)
    (thumbnail,) = await desk.drafts.images.thumbnails([draft_image])
    return thumbnail


class ComposeDialog(AutosavedForm, inherit_bindings=False):
    """The compose form: Ctrl+S creates the draft, Esc leaves. Returns True if a draft was created."""

    CSS_PATH = stylesheet_path("compose.tcss")
    WHERE = (KeyContext.COMPOSE,)
    BINDINGS = bindings(KeyContext.COMPOSE)
    AUTO_FOCUS = "#text"
    NOTICE_SELECTOR = "#compose-notice"
    SAVE_ACTION = "compose.save"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]

    form = getters.query_one(ComposeForm)
    preview = getters.query_one("#preview", Page)

    class PreviewReady(Message, bubble=False):
        """The preview of the typed text is ready, with or without its images."""

        def __init__(
            self, composed: ComposeState, previews: Sequence[Preview], checks: Checks, images: Sequence[ImageView]
        ) -> None:
            super().__init__()
            self.composed = composed
            self.previews = previews
            self.checks = checks
            self.images = images

    def __init__(self) -> None:
        super().__init__()
        self._request: ComposeSession | None = None
        self._loaded = ComposeState()
        self._preview_timer: Timer | None = None
        self._previews = Coalescer(self._load_preview)
        self._images = ImageInputCache()

    def compose(self) -> ComposeResult:
        with Vertical(id="compose"):
            yield Static(Content(labels.COMPOSE_TITLE), id="compose-title")
            with Container(id="compose-body"):
                yield ComposeForm(id="compose-form")
                yield Page(id="preview")
            yield Static(Content(""), id="compose-notice")
            yield KeyHints("compose", labels.COMPOSE_KEYS, id="compose-keys")

    def start(self, request: ComposeSession) -> None:
        """Load `request` into the form, at once or when the form is mounted."""
        self._request = request
        if self.is_mounted:
            self._load(request)

    def on_mount(self) -> None:
        """Load the request that was passed before the form was mounted."""
        set_title(self.preview, labels.COMPOSE_PREVIEW_TITLE)
        if self._request is not None:
            self._load(self._request)

    def _load(self, request: ComposeSession) -> None:
        self.set_editable(editable=True)
        self._images.clear()
        self.query_one("#platforms", Input).placeholder = labels.platforms_placeholder(request.platforms)
        self._fill(request.initial)
        self._loaded = self.composed
        self.show_notice(request.notice)

    def _fill(self, composed: ComposeState) -> None:
        """Set all fields, and focus the first one of the mode: the one that had the focus may be hidden now."""
        self.form.fill(composed)
        self._update_preview()
        self.query_one("#text" if composed.way == TEXT else "#url").focus(scroll_visible=False)
        # Scroll to the top after layout: focusing a widget that has no layout yet makes Textual scroll the first line
        # away.
        self.call_after_refresh(self.form.scroll_home, animate=False)

    @property
    def composed(self) -> ComposeState:
        """Return the current values of the fields."""
        return self.form.state

    @on(ComposeForm.Changed)
    def _schedule_preview(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(PREVIEW_DELAY, self._update_preview)
        # Filling the form posts a change, too; that is nothing to autosave.
        if self.composed != self._loaded:
            self.schedule_autosave()

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the form would lose something."""
        return self.composed.has_content

    async def autosave(self) -> None:
        """Write the fields to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.save(self.composed)

    def _update_preview(self) -> None:
        composed, desk = self.composed, self.app.desk
        if composed.way == GENERATED:
            self.preview.show([paragraph(labels.COMPOSE_PREVIEW_LATER, "dim")])
        elif not composed.text.strip():
            self.preview.show([paragraph(labels.COMPOSE_PREVIEW_EMPTY, "dim")])
        elif desk is not None:
            self.app.run_desk_task(lambda _: self._previews.submit((desk, composed)))

    async def _load_preview(self, request: "tuple[Desk, ComposeState]") -> None:
        desk, composed = request
        images = parse_images(composed)
        previews = await desk.posting.preview(
            composed.text,
            Format(composed.format),
            split_list(composed.platforms),
            tags=split_list(composed.tags),
            alts=[image.alt for image in images],
        )
        checks = await desk.drafts.check(composed.text, format=Format(composed.format))
        # Post the counts at once: loading images may take seconds, and the counts must keep up with the typing.
        self.post_message(self.PreviewReady(composed, previews, checks, self._images.get_cached(images)))
        if images:
            loaded = await self._images.load(self.app, desk, images, self.preview.drawable_size.width)
            self.post_message(self.PreviewReady(composed, previews, checks, loaded))

    @on(PreviewReady)
    def _show_preview(self, message: PreviewReady) -> None:
        # The form may have been emptied or switched while the preview was computed.
        if message.composed.way != self.composed.way or not self.composed.text.strip():
            return
        self.preview.show_more([*preview_page(message.previews, message.images), *typed_findings(message.checks)])

    async def save(self) -> str:
        """Create the draft. Return an empty string; the desk's errors are raised."""
        if self._request is not None:
            await self._request.create(self.composed)
        return ""

    def label_of(self, field: str) -> str:
        """Return the label of a field: `tag 2` for `tags[1]`, `image 1` for `images[0].url`."""
        name, _, index = field.partition("[")
        number, _, part = index.partition("]")
        entry = f"{labels.COMPOSE_ENTRIES.get(name, name)} {int(number) + 1}" if number else ""
        return f"{entry}: alt text" if part == ".alt" else entry or labels.COMPOSE_LISTS.get(name, name)

    def action_clear(self) -> None:
        """Ask for confirmation, then empty the form."""
        if self.composed.has_content and not self.is_waiting:
            discard_with_consent(self, self._clear)

    def _clear(self) -> None:
        if self._request is not None:
            self.cancel_autosave()
            self._fill(ComposeState())
            self._loaded = self.composed
            self.show_notice("")
            self.app.run_worker(self._delete_typed(self._request), exit_on_error=False)

    async def _delete_typed(self, request: ComposeSession) -> None:
        try:
            await request.discard()
        except OSError as error:
            self.app.warn_not_deleted(error)

    async def discard_autosave(self) -> None:
        """Delete the autosave file and drop the request. Raise OSError if the file cannot be deleted."""
        if self._preview_timer is not None:
            self._preview_timer.stop()
        # Drop the request before awaiting: the form may be started again while the file is being deleted.
        request, self._request = self._request, None
        if request is not None:
            await request.discard()
