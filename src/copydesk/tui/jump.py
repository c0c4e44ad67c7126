"""Jump mode: every tab, pane and row on the screen gets letters, and typing them goes there."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.lines import JumpTarget, LineScrollView, StaticLines

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
"""In the order in which they are given out: those under the fingers first."""


def list_targets(screen: Screen[object]) -> list[JumpTarget]:
    """Return the places of the visible widgets, from the top left to the bottom right."""
    widgets = [widget for widget in screen.query() if isinstance(widget, StaticLines | LineScrollView)]
    # A pane that a narrow terminal hides has no region.
    targets = [target for widget in widgets if widget.region and widget.visible for target in widget.jump_targets()]
    return sorted(targets, key=lambda target: (target.y, target.x))


def make_labels(count: int) -> list[str]:
    """Return labels of one or two letters, none of which begins with another; fewer if there are not enough."""
    # As few letters as possible begin two-letter labels; the others are labels of their own.
    pairs = next((pairs for pairs in range(len(LETTERS)) if len(LETTERS) - pairs + pairs * len(LETTERS) >= count), 26)
    split = len(LETTERS) - pairs
    return [*LETTERS[:split], *(first + second for first in LETTERS[split:] for second in LETTERS)][:count]


class JumpDialog(Dialog[JumpTarget | None], inherit_bindings=False):
    """Shows the letters over the screen. Return the place whose letters are typed, or None."""

    CSS_PATH = stylesheet_path("jump.tcss")
    WHERE = (KeyContext.JUMP,)
    BINDINGS = bindings(KeyContext.JUMP)

    def __init__(self, targets: Sequence[JumpTarget]) -> None:
        super().__init__()
        self._targets = dict(zip(make_labels(len(targets)), targets, strict=False))
        self._typed = ""

    def compose(self) -> ComposeResult:
        for label, target in self._targets.items():
            static = Static(Content(label), name=label)
            static.styles.offset = (target.x, target.y)
            yield static

    def on_key(self, event: events.Key) -> None:
        """Take a letter; one that begins no label is ignored."""
        if event.character is None or not any(
            label.startswith(self._typed + event.character) for label in self._targets
        ):
            return
        event.stop()
        self._typed += event.character
        if target := self._targets.get(self._typed):
            self.close(target)
            return
        for static in self.query(Static):
            static.display = (static.name or "").startswith(self._typed)

    def action_leave(self) -> None:
        """Close and stay where the cursor is."""
        self.close(None)
