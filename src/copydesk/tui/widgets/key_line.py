"""The line below every screen: the keys of what has the focus."""

from collections.abc import Iterable

from textual import getters
from textual.content import Content

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, footer
from copydesk.tui.widgets.drawn import Standing

_GAP = Content("  ")


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
        """As many as there is room for, whole ones only."""
        line = Content("")
        for keys, word in footer(self._where, self.app.keys):
            more = Content.assemble((keys, "key"), " ", (word, "dim"))
            longer = line + _GAP + more if line else more
            if longer.cell_length > width:
                break
            line = longer
        return [line]
