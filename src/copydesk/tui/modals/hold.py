"""A dialog that swallows keys while something is in progress, so that keys typed ahead trigger nothing."""

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet


class HoldScreen(Over[None], inherit_bindings=False):
    """Accept no key but the one that leaves."""

    CSS_PATH = sheet("deciding.tcss")
    WHERE: tuple[Where, ...] = (Where.HOLD,)
    BINDINGS = bindings(Where.HOLD)

    def __init__(self, words: str) -> None:
        super().__init__()
        self._message = words
        self.left = False
        """True if the user stopped waiting."""

    def compose(self) -> ComposeResult:
        yield Static(Content(f"{self._message} · {key('hold.leave')} leaves"), id="hold")

    @property
    def idle(self) -> bool:
        """Always True: there is nothing to type or answer."""
        return True

    def let_go(self) -> None:
        """Close, because the wait is over."""
        self.close()

    def action_leave(self) -> None:
        """Stop waiting."""
        self.left = True
        self.close()


class LastScreen(HoldScreen, inherit_bindings=False):
    """Accept no key at all: the console exits as soon as the wait is over."""

    WHERE = ()
    BINDINGS = []

    def compose(self) -> ComposeResult:
        yield Static(Content(self._message), id="hold")
