"""The base class of the dialogs that open over a screen, and those without input: a page to read, and a wait."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.color import Color
from textual.content import Content
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.widgets import Static

from copydesk.tui import labels
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

Result = TypeVar("Result")


class DimmedScreen(BackgroundScreen):
    """The screen below a dialog, dimmed but for its last line, which names the keys of the dialog."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        """Return the segments with the tint, those of the last line without it."""
        segments = list(segments)
        # The last line has an end, too.
        starts = [index + 1 for index, segment in enumerate(segments[:-1]) if segment.text.endswith("\n")]
        last_line = starts[-1] if starts else 0
        yield from super().process_segments(segments[:last_line], color)
        yield from super().process_segments(segments[last_line:], color.with_alpha(0))


class Dialog(ModalScreen[Result], inherit_bindings=False):
    """A modal screen that closes itself only.

    Textual's `dismiss` pops whatever is on top of the stack, which may be another dialog that opened in between.
    """

    _result: tuple[Result | None] | None = None
    """The result of a `close` that waits until no other screen covers this one. A tuple, because the result may be
    None."""

    def render(self) -> RenderableType:
        """Return the screen below."""
        below = super().render()
        return DimmedScreen(below.screen, below.color) if isinstance(below, BackgroundScreen) else below

    @property
    def is_waiting(self) -> bool:
        """Return True while the dialog takes no input, so that an unrequested prompt may open over it."""
        return False

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the dialog would lose something that the user entered."""
        return False

    def close(self, result: Result | None = None) -> None:
        """Close with `result`, once the dialogs above this one are answered. Do nothing if it is closed already."""
        # Only the top screen can be dismissed; a covered one keeps its result until it is on top again.
        if self.is_active:
            self._result = None
            self.dismiss(result)
        elif self in self.app.screen_stack and self._result is None:
            self._result = (result,)

    def on_screen_resume(self) -> None:
        """Close now if `close` was called while another screen covered this one."""
        if self._result is not None:
            self.close(*self._result)


class PageDialog(Dialog[None], inherit_bindings=False):
    """A title and a text; `q` closes it."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE = (KeyContext.PAGE, KeyContext.HELP)
    BINDINGS = bindings(KeyContext.HELP)

    def __init__(self, title: str, blocks: Sequence[Block], subject: str = "") -> None:
        super().__init__()
        self._title = title
        self._subject = subject
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="reading")

    def on_mount(self) -> None:
        set_title(self.query_one(Page), labels.close_hint(self._title, "help.close", self._subject))

    def action_close(self) -> None:
        self.close()


class WaitDialog(Dialog[None], inherit_bindings=False):
    """Accept no key but the one that leaves."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE: tuple[KeyContext, ...] = (KeyContext.WAIT,)
    BINDINGS = bindings(KeyContext.WAIT)

    def __init__(self, message: str) -> None:
        super().__init__()
        self._message = message
        self.cancelled = False
        """True if the user stopped waiting."""
        self.typed_text = ""
        """Text typed meanwhile, which nothing takes."""

    def compose(self) -> ComposeResult:
        yield Static(Content(labels.wait_message(self._message)), id="hold")

    @property
    def is_waiting(self) -> bool:
        """Always True: there is nothing to type or answer."""
        return True

    def on_key(self, event: events.Key) -> None:
        """Remember typed text."""
        if event.is_printable and event.character:
            self.typed_text += event.character

    def on_paste(self, event: events.Paste) -> None:
        """Remember pasted text."""
        self.typed_text += event.text

    def finish(self) -> None:
        """Close, because the wait is over."""
        self.close()

    def action_leave(self) -> None:
        """Stop waiting."""
        self.cancelled = True
        self.close()


class ExitDialog(WaitDialog, inherit_bindings=False):
    """Accept no key at all: the console exits as soon as the wait is over."""

    WHERE = ()
    BINDINGS = []

    def compose(self) -> ComposeResult:
        yield Static(Content(self._message), id="hold")
