"""Lies over a screen for a moment, so that keys that are pressed ahead decide nothing."""

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from copydesk.tui.styles import sheet


class HoldScreen(ModalScreen[None], inherit_bindings=False):
    """Takes no key."""

    CSS_PATH = sheet("deciding.tcss")

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        """What is waited for."""
        yield Static(Content(self._words), id="hold")

    def let_go(self) -> None:
        """Back to the screen below."""
        self.dismiss()
