"""The list of experiments, running ones first."""

from textual.content import Content

from copydesk.tui.pages.experiment import Tried, experiment_row
from copydesk.tui.widgets.aged import Aged


class ExperimentList(Aged[Tried]):
    """One line per experiment."""

    def draw(self, row: Tried, width: int) -> Content:
        return experiment_row(row, self.clock(), width)
