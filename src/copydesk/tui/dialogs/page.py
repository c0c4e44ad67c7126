"""A dialog with a page to read."""

from collections.abc import Sequence

from textual.app import ComposeResult

from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.widgets.line_widget import ROLE_CLASSES
from copydesk.tui.widgets.page import Page


class PageDialog(Dialog[None], inherit_bindings=False):
    """A title and a text; `q` closes it."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
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
        self.query_one(Page).set_title(labels.close_hint(self._title, "help.close", self._subject))

    def action_close(self) -> None:
        self.close()
