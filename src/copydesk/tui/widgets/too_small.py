"""Shown on a terminal that is too small for the console."""

from textual.content import Content

from copydesk.tui.layout import lay_out, plain
from copydesk.tui.widgets.drawn import Standing


class TooSmall(Standing):
    """Replaces everything else."""

    def lines(self, width: int) -> list[Content]:
        return lay_out([plain("Copydesk needs 40 columns and 10 lines.", "warn")], max(width, 1))
