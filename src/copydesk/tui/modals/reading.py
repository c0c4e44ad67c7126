"""A dialog with a page to read."""

from collections.abc import Sequence

from textual.app import ComposeResult

from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import Block
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page


class ReadingScreen(Over[None], inherit_bindings=False):
    """A title and a text; `q` closes it."""

    CSS_PATH = sheet("deciding.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.PAGE, Where.HELP)
    BINDINGS = bindings(Where.HELP)

    def __init__(self, title: str, blocks: Sequence[Block], about: str = "") -> None:
        super().__init__()
        self._title = title
        self._subject = about
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="reading")

    def on_mount(self) -> None:
        # The subject may be long and is cut off at the end: put the key that closes the dialog before it.
        suffix = f" · {self._subject}" if self._subject else ""
        self.query_one(Page).set_title(f"{self._title} · {key('help.close')} closes{suffix}")

    def action_close(self) -> None:
        self.close()
