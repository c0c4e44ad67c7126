"""Lies over a screen for a moment, so that keys that are pressed ahead decide nothing."""

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet


class HoldScreen(Over[None], inherit_bindings=False):
    """Takes no key but the one that leaves it."""

    CSS_PATH = sheet("deciding.tcss")
    WHERE: tuple[Where, ...] = (Where.HOLD,)
    BINDINGS = bindings(Where.HOLD)

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.left = False
        """Whether the user does not want any more what is waited for."""

    def compose(self) -> ComposeResult:
        """What is waited for."""
        yield Static(Content(f"{self._words} · {key('hold.leave')} leaves"), id="hold")

    @property
    def idle(self) -> bool:
        """Always."""
        return True

    def let_go(self) -> None:
        """Back to the screen below."""
        self.close()

    def action_leave(self) -> None:
        """Wait no longer."""
        self.left = True
        self.close()


class LastScreen(HoldScreen, inherit_bindings=False):
    """Takes no key at all: the console goes when what is waited for is there."""

    WHERE = ()
    BINDINGS = []

    def compose(self) -> ComposeResult:
        """What is waited for."""
        yield Static(Content(self._words), id="hold")
