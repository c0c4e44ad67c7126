"""A text to edit, over a screen. What is typed is kept as it is typed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from copydesk.model.draft import Format
from copydesk.text import clean, clean_lines
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.typed_form import TypedForm
from copydesk.tui.naming import key
from copydesk.tui.pages.lengths import lengths
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.drawn import Standing
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.said_keys import SaidKeys
from copydesk.tui.widgets.typing import Typing


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


class EditScreen(TypedForm, inherit_bindings=False):
    """Ctrl+s saves, Esc leaves; True where it was saved."""

    CSS_PATH = sheet("deciding.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.EDIT,)
    BINDINGS = bindings(Where.EDIT)
    AUTO_FOCUS = "#typing"
    NOTICE = "#edit-notice"
    SAVE = "edit.save"

    def __init__(self) -> None:
        super().__init__()
        self._asked: ToEdit | None = None
        self._loaded = ""
        self._opening = 0
        """The how manieth text it waits for or shows; it grows when that is left, too."""

    def compose(self) -> ComposeResult:
        """The text, below it what it comes to, and the keys."""
        with Vertical(id="edit"):
            yield Static(id="edit-title")
            yield Typing(id="typing", soft_wrap=True, tab_behavior="focus")
            yield Static(id="edit-notice")
            yield Lengths()
            yield SaidKeys("edit", {"save": "saves", "leave": "leaves"}, id="edit-keys")

    def expect(self) -> int:
        """Another text is on its way; what it is called when it comes, or does not."""
        self._opening += 1
        return self._opening

    def begin(self, asked: ToEdit, opening: int) -> None:
        """Edit this from now on, unless it was left before it came."""
        if opening == self._opening:
            self._asked = asked
            self._load(asked)

    def give_up(self, opening: int) -> None:
        """There is nothing to edit."""
        if opening == self._opening:
            self.close(False)  # noqa: FBT003 - as Textual has it

    def on_screen_resume(self) -> None:
        """Until there is something to edit nothing is taken in."""
        if self._asked is None:
            self.query_one(Typing).read_only = True
            self.query_one(Typing).load_text("")
            self.query_one("#edit-title", Static).update(Content("…"))
            self.notice("")

    def _load(self, asked: ToEdit) -> None:
        text = asked.text if asked.typed is None else asked.typed
        self._loaded = clean_lines(text)
        self.query_one("#edit-title", Static).update(Content(clean(asked.title)))
        shows = (
            f"Characters that cannot be seen are left out here; {key('review.edit_outside')} shows the text as it is."
        )
        hidden = shows if self._loaded != text else ""
        self.notice(" ".join(part for part in (asked.notice, hidden) if part))
        self.take_in(typing=True)
        area = self.query_one(Typing)
        area.read_only = False
        area.load_text(self._loaded)
        area.move_cursor(area.document.end)
        self._count()

    def _count(self) -> None:
        if self._asked is not None:
            self.query_one(Lengths).show(self._text, self._asked.format, self._asked.platforms)

    @property
    def _text(self) -> str:
        return self.query_one(Typing).text

    @property
    def changed(self) -> bool:
        """Whether there is anything to lose."""
        asked = self._asked
        return asked is not None and (self._text != self._loaded or asked.typed is not None)

    @property
    def idle(self) -> bool:
        """Nor is anything typed before it is there."""
        return self._asked is None or super().idle

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._count()
        if self._text != self._loaded:
            self.keep_later()

    async def keep(self) -> None:
        """Keep the text in its file; OSError."""
        if self._asked is not None:
            await self._asked.keep(self._text)

    async def action_save(self) -> None:
        """Save it, once it is there."""
        if self._asked is not None:
            await super().action_save()

    async def save(self) -> str:
        """Save the text; why not, or nothing."""
        return await self._asked.save(self._text) if self._asked is not None else ""

    async def forget(self) -> None:
        """What was kept is not wanted."""
        self._opening += 1
        if self._asked is not None:
            forget = self._asked.forget
            self.app.carry_out(lambda _: forget())
        self._asked = None
