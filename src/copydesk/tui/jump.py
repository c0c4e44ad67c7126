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
from copydesk.tui.widgets.lines import LineScrollView, Place, StaticLines

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
"""In the order in which they are given out: those under the fingers first."""


def list_places(screen: Screen[object]) -> list[Place]:
    """Return the places of the visible widgets, from the top left to the bottom right."""
    widgets = [widget for widget in screen.query() if isinstance(widget, StaticLines | LineScrollView)]
    # A pane that a narrow terminal hides has no region.
    places = [place for widget in widgets if widget.region and widget.visible for place in widget.places()]
    return sorted(places, key=lambda place: (place.y, place.x))


def make_labels(count: int) -> list[str]:
    """Return labels of one or two letters, none of which begins with another; fewer if there are not enough."""
    # As few letters as possible begin two-letter labels; the others are labels of their own.
    pairs = next((pairs for pairs in range(len(LETTERS)) if len(LETTERS) - pairs + pairs * len(LETTERS) >= count), 26)
    split = len(LETTERS) - pairs
    return [*LETTERS[:split], *(first + second for first in LETTERS[split:] for second in LETTERS)][:count]


class JumpDialog(Dialog[Place | None], inherit_bindings=False):
    """Shows the letters over the screen. Return the place whose letters are typed, or None."""

    CSS_PATH = stylesheet_path("jump.tcss")
    WHERE = (KeyContext.JUMP,)
    BINDINGS = bindings(KeyContext.JUMP)

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__()
        self._places = dict(zip(make_labels(len(places)), places, strict=False))
        self._typed = ""

    def compose(self) -> ComposeResult:
        for label, place in self._places.items():
            static = Static(Content(label), name=label)
            static.styles.offset = (place.x, place.y)
            yield static

    def on_key(self, event: events.Key) -> None:
        """Take a letter; one that begins no label is ignored."""
        if event.character is None or not any(
            label.startswith(self._typed + event.character) for label in self._places
        ):
            return
        event.stop()
        self._typed += event.character
        if place := self._places.get(self._typed):
            self.close(place)
            return
        for static in self.query(Static):
            static.display = (static.name or "").startswith(self._typed)

    def action_leave(self) -> None:
        """Close and stay where the cursor is."""
        self.close(None)
