"""The help: every key, and what the letters mean."""

from textual.app import ComposeResult
from textual.screen import ModalScreen

from copydesk.tui.keys import Where, bindings
from copydesk.tui.pages.help import help_page
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page


class HelpScreen(ModalScreen[None], inherit_bindings=False):
    """Lies over the screen until it is closed."""

    CSS_PATH = sheet("help.tcss")
    COMPONENT_CLASSES = set(INK)
    BINDINGS = bindings(Where.HELP)

    def compose(self) -> ComposeResult:
        """One page."""
        yield Page(help_page(), id="help")

    def on_mount(self) -> None:
        """Say how to get out."""
        self.query_one(Page).set_title("Keys · q closes")

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss()
