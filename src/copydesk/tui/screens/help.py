"""The help: the keys of a screen, and what its letters mean."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.screen import Screen

from copydesk.tui.keys import KEYS, Key, Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.pages.help import help_page
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page


def places_of(screen: Screen[object]) -> list[Where]:
    """The places whose keys work on a screen: its own first, then those of its lists and texts, then everywhere."""
    within = {Where.LIST: bool(screen.query("LineList")), Where.PAGE: bool(screen.query(Page))}
    own = [where for where in getattr(screen, "WHERE", ()) if where not in within]
    return [*own, *(where for where, there in within.items() if there), Where.CONSOLE]


class HelpScreen(Over[None], inherit_bindings=False):
    """Lies over the screen until it is closed."""

    CSS_PATH = sheet("help.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.PAGE, Where.HELP)
    BINDINGS = bindings(Where.HELP)

    def __init__(self, places: Iterable[Where] = Where, keys: Iterable[Key] = KEYS) -> None:
        super().__init__()
        self._blocks = help_page(places, keys)

    def compose(self) -> ComposeResult:
        """One page."""
        yield Page(self._blocks, id="help")

    def on_mount(self) -> None:
        """Say how to get out."""
        self.query_one(Page).set_title(f"Keys · {key('help.close')} closes")

    def action_close(self) -> None:
        """Back to the screen below."""
        self.close()
