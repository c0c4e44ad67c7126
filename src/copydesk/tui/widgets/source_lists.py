"""The lists of the screen Sources: sources, runs, and the feeds of a list as they are tested."""

from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.tui.cells import cell, fit
from copydesk.tui.pages.run import run_row
from copydesk.tui.pages.source_row import source_row
from copydesk.tui.widgets.aged import Aged
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.words import Sign

if TYPE_CHECKING:
    from copydesk.desk.feed_import import TriedFeed
    from copydesk.desk.overviews import SourceOverview
    from copydesk.model.run import Run

OUTCOME = {
    "added": Sign("A", "good", "added"),
    "known": Sign("=", "dim", "there already"),
    "failed": Sign("F", "bad", "failed"),
}


class SourceList(Aged["SourceOverview"]):
    """One line a source, the oldest first."""

    def draw(self, row: "SourceOverview", width: int) -> Content:
        """One source in `width` cells."""
        return source_row(row, self.clock(), width)


class RunList(Aged["Run"]):
    """One line a run, the latest first."""

    def draw(self, row: "Run", width: int) -> Content:
        """One run in `width` cells."""
        return run_row(row, self.clock(), width)


class FeedList(LineList["TriedFeed"]):
    """One line a feed, in the order in which they were settled."""

    def draw(self, row: "TriedFeed", width: int) -> Content:
        """What became of it, its name, and why it failed."""
        sign = OUTCOME[row.outcome]
        name = min(30, width // 2)
        why = cell(row.why) if row.why else sign.words
        head = Content.assemble((sign.letter, sign.role), " ")
        words = f"{fit(cell(row.feed.name), name)} {why}"
        return head + Content(fit(words, width - head.cell_length))
