"""The lists of the Sources screen: sources, runs, and the feeds of an import."""

from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.tui import labels
from copydesk.tui.sources.pages import source_row
from copydesk.tui.sources.run_page import run_row
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.widgets.line_list import LineList, TimestampedList

if TYPE_CHECKING:
    from copydesk.desk.sources.feed_import import FeedImportResult
    from copydesk.desk.sources.overview import SourceOverview
    from copydesk.model.run import Run


class SourceList(TimestampedList["SourceOverview"]):
    """One line per source, the oldest first."""

    def draw(self, row: "SourceOverview", width: int) -> Content:
        return source_row(row, self.clock(), width)


class RunList(TimestampedList["Run"]):
    """One line per run, the latest first."""

    def draw(self, row: "Run", width: int) -> Content:
        return run_row(row, self.clock(), width)


class FeedList(LineList["FeedImportResult"]):
    """One line per feed, in the order in which their tests finished."""

    def draw(self, row: "FeedImportResult", width: int) -> Content:
        """Render the result, the feed's name, and the reason of a failure."""
        label = labels.IMPORT_OUTCOME[row.outcome]
        name_width = min(30, width // 2)
        reason = safe_line(row.error) if row.error else label.text
        head = Content.assemble((label.letter, label.role), " ")
        text = f"{fit(safe_line(row.feed.name), name_width)} {reason}"
        return head + Content(fit(text, width - head.cell_length))
