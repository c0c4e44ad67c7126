"""The list of experiments, running ones first."""

from textual.content import Content

from copydesk.tui.pages.experiment import ExperimentView, experiment_row
from copydesk.tui.widgets.aged import TimestampedList


class ExperimentList(TimestampedList[ExperimentView]):
    """One line per experiment."""

    def draw(self, row: ExperimentView, width: int) -> Content:
        return experiment_row(row, self.clock(), width)
