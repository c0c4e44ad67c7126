"""A new draft: its fields, and beside them how it would stand where it is meant to go. What is typed is kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from copydesk.model.draft import Format
from copydesk.model.posting import Preview
from copydesk.tui.compose_entry import TEXT, WRITTEN, Composed, ToCompose, pictures_of
from copydesk.tui.compose_pictures import GivenPictures
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.layout import plain
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.modals.typed_form import TypedForm
from copydesk.tui.pages.pictures import Pictured
from copydesk.tui.pages.preview import preview_page
from copydesk.tui.source_entry import listed
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.compose_form import ComposeForm
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.said_keys import SaidKeys

if TYPE_CHECKING:
    from copydesk.desk import Desk

LOOK_AFTER = 0.15
"""Seconds without a key after which the preview follows."""
_TO_BE_WRITTEN = "The text is still to be written; how it stands where it goes is shown with the draft, in Review."
_DOES = {"save": "makes the draft", "next": "next", "clear": "empties it", "leave": "leaves"}
_NOTHING = "Type, and here is what it comes to on each platform."


class ComposeScreen(TypedForm, inherit_bindings=False):
    """Ctrl+s makes the draft, Esc leaves; True where it was made."""

    CSS_PATH = sheet("compose.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.COMPOSE,)
    BINDINGS = bindings(Where.COMPOSE)
    AUTO_FOCUS = "#text"
    NOTICE = "#compose-notice"
    SAVE = "compose.save"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]

    form = getters.query_one(ComposeForm)
    preview = getters.query_one("#preview", Page)

    class Looked(Message, bubble=False):
        """How it would stand."""

        def __init__(self, composed: Composed, previews: Sequence[Preview], pictures: Sequence[Pictured]) -> None:
            super().__init__()
            self.composed = composed
            self.previews = previews
            self.pictures = pictures

    def __init__(self) -> None:
        super().__init__()
        self._asked: ToCompose | None = None
        self._loaded = Composed()
        self._waiting: Timer | None = None
        self._looking = Latest(self._look)
        self._pictures = GivenPictures()

    # What is on it.

    def compose(self) -> ComposeResult:
        """The fields, what comes of them, and the keys."""
        with Vertical(id="compose"):
            yield Static(Content("A new draft"), id="compose-title")
            with Container(id="compose-body"):
                yield ComposeForm(id="compose-form")
                yield Page(id="preview")
            yield Static(Content(""), id="compose-notice")
            yield SaidKeys("compose", _DOES, id="compose-keys")

    def begin(self, asked: ToCompose) -> None:
        """Compose this from now on."""
        self._asked = asked
        if self.is_mounted:
            self._load(asked)

    def on_mount(self) -> None:
        """Show what is asked for."""
        self.preview.set_title("Preview")
        if self._asked is not None:
            self._load(self._asked)

    def _load(self, asked: ToCompose) -> None:
        self.take_in(typing=True)
        self._pictures.forget()
        self._fill(asked.begun)
        self._loaded = self.composed
        self.notice(asked.notice)
        self.query_one("#text" if asked.begun.way == TEXT else "#url").focus(scroll_visible=False)
        # The first line, too, which Textual scrolls away for what it gives the focus before there is a layout.
        self.call_after_refresh(self.form.scroll_home, animate=False)

    def _fill(self, composed: Composed) -> None:
        self.form.fill(composed)
        self._look_now()

    # What is typed.

    @property
    def composed(self) -> Composed:
        """What stands in the fields."""
        return self.form.composed

    @on(ComposeForm.Changed)
    def _follow(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(LOOK_AFTER, self._look_now)
        if self.composed != self._loaded:
            self.keep_later()

    @property
    def changed(self) -> bool:
        """Whether there is anything to lose."""
        return self.composed.anything

    async def keep(self) -> None:
        """Keep what stands there in its file; OSError."""
        if self._asked is not None:
            await self._asked.keep(self.composed)

    # What comes of it.

    def _look_now(self) -> None:
        composed, desk = self.composed, self.app.desk
        if composed.way == WRITTEN:
            self.preview.show([plain(_TO_BE_WRITTEN, "dim")])
        elif not composed.text.strip():
            self.preview.show([plain(_NOTHING, "dim")])
        elif desk is not None:
            self.app.ask(lambda _: self._looking.wish((desk, composed)))

    async def _look(self, wish: "tuple[Desk, Composed]") -> None:
        desk, composed = wish
        given = pictures_of(composed)
        previews = await desk.posting.preview(
            composed.text,
            Format(composed.format),
            listed(composed.platforms),
            tags=listed(composed.tags),
            alts=[picture.alt for picture in given],
        )
        # The counts follow the typing at once, the pictures when they were read.
        self.post_message(self.Looked(composed, previews, self._pictures.known(given)))
        if given:
            pictures = await self._pictures.see(self.app, desk, given, self.preview.room.width)
            self.post_message(self.Looked(composed, previews, pictures))

    @on(Looked)
    def _show_look(self, message: Looked) -> None:
        if message.composed.way != self.composed.way or not self.composed.text.strip():
            return
        self.preview.show_more(preview_page(message.previews, message.pictures))

    # The end.

    async def save(self) -> str:
        """Make the draft; why not, or nothing."""
        return await self._asked.make(self.composed) if self._asked is not None else ""

    def action_clear(self) -> None:
        """Throw away what stands there, after a yes."""
        if self.composed.anything and not self.idle:
            self.app.push_screen(YesScreen("Throw away what stands here?"), self._cleared)

    def _cleared(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if yes and self._asked is not None:
            self.stop_keeping()
            self._fill(Composed())
            self._loaded = self.composed
            self.notice("")
            self.app.run_worker(self._asked.forget(), exit_on_error=False)

    async def forget(self) -> None:
        """What was kept is not wanted; OSError."""
        if self._waiting is not None:
            self._waiting.stop()
        asked, self._asked = self._asked, None
        if asked is not None:
            await asked.forget()
