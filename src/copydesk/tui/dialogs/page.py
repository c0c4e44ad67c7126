"""A dialog with a page to read."""

from collections.abc import Sequence

from textual.app import ComposeResult

from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings, key_label
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
        # The subject may be long and is cut off at the end: put the key that closes the dialog before it.
        suffix = f" · {self._subject}" if self._subject else ""
        self.query_one(Page).set_title(f"{self._title} · {key_label('help.close')} closes{suffix}")

    def action_close(self) -> None:
        self.close()
