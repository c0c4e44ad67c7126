"""What a terminal shows that has no room for the console."""

from textual.content import Content

from copydesk.tui.layout import lay_out, plain
from copydesk.tui.widgets.drawn import Standing


class TooSmall(Standing):
    """Stands in the place of everything else."""

    def lines(self, width: int) -> list[Content]:
        """One sentence."""
        return lay_out([plain("Copydesk needs 40 columns and 10 lines.", "warn")], max(width, 1))
