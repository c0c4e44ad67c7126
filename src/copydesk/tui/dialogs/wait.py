"""A dialog that swallows keys while something is in progress, so that keys typed ahead trigger nothing."""

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.styles import stylesheet_path


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

    def compose(self) -> ComposeResult:
        yield Static(Content(labels.wait_message(self._message)), id="hold")

    @property
    def is_waiting(self) -> bool:
        """Always True: there is nothing to type or answer."""
        return True

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
