"""Shown on a terminal that is too small for the console."""

from textual.content import Content

from copydesk.tui.layout import lay_out_blocks, paragraph
from copydesk.tui.widgets.drawn import StaticLines


class TooSmall(StaticLines):
    """Replaces everything else."""

    def lines(self, width: int) -> list[Content]:
        return lay_out_blocks([paragraph("Copydesk needs 40 columns and 10 lines.", "warn")], max(width, 1))
