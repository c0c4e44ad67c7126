"""A text to edit, over a screen. What is typed is kept as it is typed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from copydesk.model.draft import Format
from copydesk.text import clean, clean_lines
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.naming import key
from copydesk.tui.pages.lengths import lengths
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.drawn import Standing
from copydesk.tui.widgets.ink import INK

KEEP_AFTER = 0.3
"""Seconds after which what was typed is in its file: no more is lost in a crash."""


class ToEdit(NamedTuple):
    """What is to be edited, and what is done with it."""

    title: str
    text: str
    format: Format
    platforms: Sequence[str]
    keep: Callable[[str], Awaitable[None]]
    """Keeps what is typed; raises OSError."""
    save: Callable[[str], Awaitable[str]]
    """Saves it; why not, or nothing."""
    forget: Callable[[], Awaitable[None]]
    """What was kept is not wanted."""
    typed: str | None = None
    """What was typed before and not saved."""
    notice: str = ""


class Lengths(Standing):
    """The counts of the platforms."""

    def __init__(self) -> None:
        super().__init__(id="lengths")
        self._text = ""
        self._format = Format.SHORT
        self._platforms: Sequence[str] = ()

    def show(self, text: str, format: Format, platforms: Sequence[str]) -> None:
        """Count this text."""
        self._text, self._format, self._platforms = text, format, platforms
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """As many lines as it takes."""
        return lengths(self._text, self._format, self._platforms, width)


class Typing(TextArea):
    """Takes no character in that a terminal would take for a command."""

    def edit(self, edit: Edit) -> EditResult:
        """What is pasted comes from outside."""
        return super().edit(replace(edit, text=clean_lines(edit.text)))


class EditScreen(ModalScreen[bool], inherit_bindings=False):
    """Ctrl+s saves, Esc leaves; True where it was saved.

    There is one for the whole console, for Textual keeps what watches the app: every text area that there ever was.
    """

    CSS_PATH = sheet("deciding.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.EDIT,)
    BINDINGS = bindings(Where.EDIT)
    AUTO_FOCUS = "#typing"

    app = getters.app(DeskApp)

    def __init__(self) -> None:
        super().__init__()
        self._asked: ToEdit | None = None
        self._loaded = ""
        self._timer: Timer | None = None
        self._saving = False

    def compose(self) -> ComposeResult:
        """The text, below it what it comes to, and the keys."""
        with Vertical(id="edit"):
            yield Static(id="edit-title")
            yield Typing(id="typing", soft_wrap=True, tab_behavior="focus")
            yield Static(id="edit-notice")
            yield Lengths()
            yield Static(Content(f"{key('edit.save')} saves · {key('edit.leave')} leaves"), id="edit-keys")

    def begin(self, asked: ToEdit) -> None:
        """Edit this from now on."""
        self._asked = asked
        self._load(asked)

    def give_up(self) -> None:
        """There is nothing to edit."""
        self.dismiss(False)  # noqa: FBT003 - as Textual has it

    def on_screen_resume(self) -> None:
        """Until there is something to edit nothing is taken in."""
        if self._asked is None:
            self.query_one(Typing).read_only = True
            self.query_one(Typing).load_text("")
            self.query_one("#edit-title", Static).update(Content("…"))
            self._notice("")

    def _load(self, asked: ToEdit) -> None:
        self._saving = False
        text = asked.text if asked.typed is None else asked.typed
        self._loaded = clean_lines(text)
        self.query_one("#edit-title", Static).update(Content(clean(asked.title)))
        shows = (
            f"Characters that cannot be seen are left out here; {key('review.edit_outside')} shows the text as it is."
        )
        hidden = shows if self._loaded != text else ""
        self._notice(" ".join(part for part in (asked.notice, hidden) if part))
        area = self.query_one(Typing)
        area.read_only = False
        area.load_text(self._loaded)
        area.move_cursor(area.document.end)
        self._count()

    def _notice(self, words: str) -> None:
        notice = self.query_one("#edit-notice", Static)
        notice.update(Content(clean(words)))
        notice.display = bool(words)

    def _count(self) -> None:
        if self._asked is not None:
            self.query_one(Lengths).show(self._text, self._asked.format, self._asked.platforms)

    @property
    def _text(self) -> str:
        return self.query_one(Typing).text

    @property
    def _changed(self) -> bool:
        """Whether there is anything to lose."""
        asked = self._asked
        return asked is not None and (self._text != self._loaded or asked.typed is not None)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._count()
        if self._timer is None and self._text != self._loaded:
            self._timer = self.set_timer(KEEP_AFTER, self._keep)

    async def _keep(self) -> None:
        self._timer = None
        if self._asked is None or self._saving:
            return
        try:
            await self._asked.keep(self._text)
        except OSError as error:
            self._notice(
                f"What you type cannot be kept in a file: {error.strerror or error}. {key('edit.save')} saves it."
            )

    async def keep_typed(self) -> None:
        """Keep now what was typed; the console ends."""
        if self._timer is not None:
            await self._keep()

    def action_save(self) -> None:
        """Save it, and go back where that succeeds."""
        if not self._saving:
            self._saving = True
            self.app.carry_out(lambda _: self._save(), keys_wait=True)

    async def _save(self) -> None:
        asked = self._asked
        if asked is None:
            return
        refused = await asked.save(self._text)
        self._saving = False
        if refused:
            self._notice(refused)
            await self._keep()
        else:
            self._end(saved=True)

    def action_leave(self) -> None:
        """Leave it; where something would be lost, ask."""
        if not self._changed:
            self._end(saved=False)
            return
        self.app.push_screen(YesScreen("Leave, and lose what you typed?"), self._left)

    def _left(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if yes:
            self._end(saved=False)

    def _end(self, *, saved: bool) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._asked is not None:
            forget = self._asked.forget
            self.app.carry_out(lambda _: forget())
        self._asked = None
        self.dismiss(saved)
