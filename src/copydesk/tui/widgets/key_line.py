"""The line below every screen: the keys of what has the focus."""

from collections.abc import Iterable

from textual import getters
from textual.content import Content

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, footer
from copydesk.tui.widgets.drawn import Standing

_GAP = Content("  ")
_LAST = 2
"""Help and quit."""


class KeyLine(Standing):
    """Keys and a word for each; what does not fit is in the help."""

    app = getters.app(DeskApp)

    def __init__(self, where: Iterable[Where]) -> None:
        super().__init__()
        self._where = tuple(where)

    def show(self, where: Iterable[Where]) -> None:
        """Show the keys of these places."""
        self._where = tuple(where)
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """As many as there is room for, whole ones only; the last, which lead to help and out, stay the longest."""
        words = [
            Content.assemble((keys, "key"), " ", (word, "dim")) for keys, word in footer(self._where, self.app.keys)
        ]
        line = _GAP.join(words)
        while words and line.cell_length > width:
            del words[-_LAST - 1 if len(words) > _LAST else -1]
            line = _GAP.join(words)
        return [line]
