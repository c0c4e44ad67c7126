"""The help dialog: the keys of a screen, and the meaning of its letters."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.screen import Screen

from copydesk.tui.keys import KEYS, Key, KeyContext, bindings
from copydesk.tui.modals.over import Dialog
from copydesk.tui.naming import key_label
from copydesk.tui.pages.help import help_page
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.widgets.ink import ROLE_CLASSES
from copydesk.tui.widgets.page import Page


def key_contexts(screen: Screen[object]) -> list[KeyContext]:
    """Return the contexts whose keys work on a screen: its own, those of its lists and pages, then the console's."""
    present_widgets = {KeyContext.LIST: bool(screen.query("LineList")), KeyContext.PAGE: bool(screen.query(Page))}
    own_contexts = [where for where in getattr(screen, "WHERE", ()) if where not in present_widgets]
    return [*own_contexts, *(where for where, present in present_widgets.items() if present), KeyContext.CONSOLE]


class HelpDialog(Dialog[None], inherit_bindings=False):
    """The help page over a screen, until it is closed."""

    CSS_PATH = stylesheet_path("help.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.PAGE, KeyContext.HELP)
    BINDINGS = bindings(KeyContext.HELP)

    def __init__(self, contexts: Iterable[KeyContext] = KeyContext, keys: Iterable[Key] = KEYS) -> None:
        super().__init__()
        self._blocks = help_page(contexts, keys)

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="help")

    def on_mount(self) -> None:
        self.query_one(Page).set_title(f"Keys · {key_label('help.close')} closes")

    def action_close(self) -> None:
        self.close()
