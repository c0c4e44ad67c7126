"""The form of a new draft, with a preview per platform beside it. The form is autosaved while it is filled in."""

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
"""Seconds without a keystroke after which the preview is updated."""
_PREVIEW_PENDING = "The text is still to be written; how it stands where it goes is shown with the draft, in Review."
_KEY_LABELS = {"save": "makes the draft", "next": "next", "clear": "empties it", "leave": "leaves"}
_EMPTY_PREVIEW = "Type, and here is what it comes to on each platform."


class ComposeScreen(TypedForm, inherit_bindings=False):
    """The compose form: Ctrl+s creates the draft, Esc leaves. Returns True if a draft was created."""

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
        """The preview of the typed text is ready, with or without its images."""

        def __init__(self, composed: Composed, previews: Sequence[Preview], pictures: Sequence[Pictured]) -> None:
            super().__init__()
            self.composed = composed
            self.previews = previews
            self.pictures = pictures

    def __init__(self) -> None:
        super().__init__()
        self._request: ToCompose | None = None
        self._loaded = Composed()
        self._preview_timer: Timer | None = None
        self._previews = Latest(self._load_preview)
        self._images = GivenPictures()

    def compose(self) -> ComposeResult:
        with Vertical(id="compose"):
            yield Static(Content("A new draft"), id="compose-title")
            with Container(id="compose-body"):
                yield ComposeForm(id="compose-form")
                yield Page(id="preview")
            yield Static(Content(""), id="compose-notice")
            yield SaidKeys("compose", _KEY_LABELS, id="compose-keys")

    def begin(self, asked: ToCompose) -> None:
        """Load `request` into the form, at once or when the form is mounted."""
        self._request = asked
        if self.is_mounted:
            self._load(asked)

    def on_mount(self) -> None:
        """Load the request that was passed before the form was mounted."""
        self.preview.set_title("Preview")
        if self._request is not None:
            self._load(self._request)

    def _load(self, request: ToCompose) -> None:
        self.take_in(typing=True)
        self._images.forget()
        self._fill(request.begun)
        self._loaded = self.composed
        self.notice(request.notice)
        self.query_one("#text" if request.begun.way == TEXT else "#url").focus(scroll_visible=False)
        # Scroll to the top after layout: focusing a widget that has no layout yet makes Textual scroll the first line
        # away.
        self.call_after_refresh(self.form.scroll_home, animate=False)

    def _fill(self, composed: Composed) -> None:
        self.form.fill(composed)
        self._update_preview()

    @property
    def composed(self) -> Composed:
        """Return the current values of the fields."""
        return self.form.composed

    @on(ComposeForm.Changed)
    def _schedule_preview(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(LOOK_AFTER, self._update_preview)
        # Filling the form posts a change, too; that is nothing to autosave.
        if self.composed != self._loaded:
            self.keep_later()

    @property
    def changed(self) -> bool:
        """Return True if leaving the form would lose something."""
        return self.composed.anything

    async def keep(self) -> None:
        """Write the fields to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.keep(self.composed)

    def _update_preview(self) -> None:
        composed, desk = self.composed, self.app.desk
        if composed.way == WRITTEN:
            self.preview.show([plain(_PREVIEW_PENDING, "dim")])
        elif not composed.text.strip():
            self.preview.show([plain(_EMPTY_PREVIEW, "dim")])
        elif desk is not None:
            self.app.ask(lambda _: self._previews.wish((desk, composed)))

    async def _load_preview(self, request: "tuple[Desk, Composed]") -> None:
        desk, composed = request
        images = pictures_of(composed)
        previews = await desk.posting.preview(
            composed.text,
            Format(composed.format),
            listed(composed.platforms),
            tags=listed(composed.tags),
            alts=[picture.alt for picture in images],
        )
        # Post the counts at once: loading images may take seconds, and the counts must keep up with the typing.
        self.post_message(self.Looked(composed, previews, self._images.known(images)))
        if images:
            loaded = await self._images.see(self.app, desk, images, self.preview.room.width)
            self.post_message(self.Looked(composed, previews, loaded))

    @on(Looked)
    def _show_preview(self, message: Looked) -> None:
        # The form may have been emptied or switched while the preview was computed.
        if message.composed.way != self.composed.way or not self.composed.text.strip():
            return
        self.preview.show_more(preview_page(message.previews, message.pictures))

    async def save(self) -> str:
        """Create the draft. Return why it was refused, or an empty string."""
        return await self._request.make(self.composed) if self._request is not None else ""

    def action_clear(self) -> None:
        """Ask for confirmation, then empty the form."""
        if self.composed.anything and not self.idle:
            self.app.push_screen(YesScreen("Throw away what stands here?"), self._clear_if_confirmed)

    def _clear_if_confirmed(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes and self._request is not None:
            self.stop_keeping()
            self._fill(Composed())
            self._loaded = self.composed
            self.notice("")
            self.app.run_worker(self._request.forget(), exit_on_error=False)

    async def forget(self) -> None:
        """Delete the autosave file and drop the request. Raise OSError if the file cannot be deleted."""
        if self._preview_timer is not None:
            self._preview_timer.stop()
        # Drop the request before awaiting: the form may be started again while the file is being deleted.
        request, self._request = self._request, None
        if request is not None:
            await request.forget()
