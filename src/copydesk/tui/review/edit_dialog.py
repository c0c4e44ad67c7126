"""The editor of a draft's text, over a screen. The text is autosaved as it is typed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from copydesk.model.draft import Format
from copydesk.text import clean, clean_lines
from copydesk.tui.dialogs.autosaved_form import AutosavedForm
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.review.text_lengths import length_lines
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.widgets.clickable_keys import KeyHints
from copydesk.tui.widgets.inputs import SafeTextArea
from copydesk.tui.widgets.line_views import StaticLines
from copydesk.tui.widgets.line_widget import ROLE_CLASSES


class EditRequest(NamedTuple):
    """The text to edit, and the callbacks that autosave, save and discard it."""

    title: str
    text: str
    format: Format
    platforms: Sequence[str]
    autosave: Callable[[str], Awaitable[None]]
    """Write the typed text to the autosave file. Raises OSError."""
    save: Callable[[str], Awaitable[str]]
    """Save the text; return why it was refused, or an empty string."""
    discard_autosave: Callable[[], Awaitable[None]]
    """Delete the autosave file."""
    unsaved_text: str | None = None
    """Text restored from an earlier autosave, or None."""
    notice: str = ""


class LengthLines(StaticLines):
    """The length of the text on each platform, wrapped to the widget's width."""

    def __init__(self) -> None:
        super().__init__(id="lengths")
        self._text = ""
        self._format = Format.SHORT
        self._platforms: Sequence[str] = ()

    def show(self, text: str, format: Format, platforms: Sequence[str]) -> None:
        """Count this text for `platforms` and redraw."""
        self._text, self._format, self._platforms = text, format, platforms
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return the counts in as many lines as they take."""
        return length_lines(self._text, self._format, self._platforms, width)


class EditDialog(AutosavedForm, inherit_bindings=False):
    """The text editor: Ctrl+s saves, Esc leaves. Returns True if the text was saved."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.EDIT,)
    BINDINGS = bindings(KeyContext.EDIT)
    AUTO_FOCUS = "#typing"
    NOTICE_SELECTOR = "#edit-notice"
    SAVE_ACTION = "edit.save"

    def __init__(self) -> None:
        super().__init__()
        self._request: EditRequest | None = None
        self._loaded = ""
        self._load_id = 0
        """Identifies the text that is loading or shown. Incremented on leaving, too, so that a text which arrives later
        is dropped."""

    def compose(self) -> ComposeResult:
        with Vertical(id="edit"):
            yield Static(id="edit-title")
            yield SafeTextArea(id="typing", soft_wrap=True, tab_behavior="focus")
            yield Static(id="edit-notice")
            yield LengthLines()
            yield KeyHints("edit", {"save": "saves", "leave": "leaves"}, id="edit-keys")

    def start_loading(self) -> int:
        """Announce a text that is being loaded; return its id for `start` or `cancel_loading`."""
        self._load_id += 1
        return self._load_id

    def start(self, request: EditRequest, load_id: int) -> None:
        """Edit the text of `request`, unless the dialog was left while the text was loading."""
        if load_id == self._load_id:
            self._request = request
            self._load(request)

    def cancel_loading(self, load_id: int) -> None:
        """Close the dialog, because the text with this id could not be loaded."""
        if load_id == self._load_id:
            self.close(False)  # noqa: FBT003 - `dismiss` takes it by position

    def on_screen_resume(self) -> None:
        """Empty and lock the editor until the text has been loaded."""
        if self._request is None:
            self.query_one(SafeTextArea).read_only = True
            self.query_one(SafeTextArea).load_text("")
            self.query_one("#edit-title", Static).update(Content("…"))
            self.show_notice("")

    def _load(self, request: EditRequest) -> None:
        text = request.text if request.unsaved_text is None else request.unsaved_text
        self._loaded = clean_lines(text)
        self.query_one("#edit-title", Static).update(Content(clean(request.title)))
        edit_outside = key_label("review.edit_outside")
        notice = f"Characters that cannot be seen are left out here; {edit_outside} shows the text as it is."
        # The text area cannot show control characters; `clean_lines` dropped them from what is edited here.
        hidden_notice = notice if self._loaded != text else ""
        self.show_notice(" ".join(part for part in (request.notice, hidden_notice) if part))
        self.set_editable(editable=True)
        area = self.query_one(SafeTextArea)
        area.read_only = False
        area.load_text(self._loaded)
        area.move_cursor(area.document.end)
        self._update_lengths()

    def _update_lengths(self) -> None:
        if self._request is not None:
            self.query_one(LengthLines).show(self._text, self._request.format, self._request.platforms)

    @property
    def _text(self) -> str:
        return self.query_one(SafeTextArea).text

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the editor would lose something, including a restored autosave."""
        request = self._request
        return request is not None and (self._text != self._loaded or request.unsaved_text is not None)

    @property
    def is_waiting(self) -> bool:
        """Return True while the text is loading or being saved."""
        return self._request is None or super().is_waiting

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._update_lengths()
        # Loading the text counts as a change for Textual, but there is nothing to autosave.
        if self._text != self._loaded:
            self.schedule_autosave()

    async def autosave(self) -> None:
        """Write the text to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.autosave(self._text)

    async def action_save(self) -> None:
        """Save, once the text is loaded."""
        if self._request is not None:
            await super().action_save()

    async def save(self) -> str:
        """Save the text. Return why it was refused, or an empty string."""
        return await self._request.save(self._text) if self._request is not None else ""

    async def discard_autosave(self) -> None:
        """Delete the autosave file in the background and drop the request."""
        self._load_id += 1
        if self._request is not None:
            # Queued behind the writes in progress, and completed even if the console is closing.
            discard = self._request.discard_autosave
            self.app.enqueue_write(lambda _: discard())
        self._request = None
