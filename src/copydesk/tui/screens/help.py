"""The help dialog: the keys of a screen, and the meaning of its letters."""

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
    """Return the contexts whose keys work on a screen: its own, those of its lists and pages, then the console's."""
    present_widgets = {Where.LIST: bool(screen.query("LineList")), Where.PAGE: bool(screen.query(Page))}
    own_contexts = [where for where in getattr(screen, "WHERE", ()) if where not in present_widgets]
    return [*own_contexts, *(where for where, present in present_widgets.items() if present), Where.CONSOLE]


class HelpScreen(Over[None], inherit_bindings=False):
    """The help page over a screen, until it is closed."""

    CSS_PATH = sheet("help.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.PAGE, Where.HELP)
    BINDINGS = bindings(Where.HELP)

    def __init__(self, places: Iterable[Where] = Where, keys: Iterable[Key] = KEYS) -> None:
        super().__init__()
        self._blocks = help_page(places, keys)

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="help")

    def on_mount(self) -> None:
        self.query_one(Page).set_title(f"Keys · {key('help.close')} closes")

    def action_close(self) -> None:
        self.close()
