"""The experiments, those that go on first."""

from textual.content import Content

from copydesk.tui.pages.experiment import Tried, experiment_row
from copydesk.tui.widgets.aged import Aged


class ExperimentList(Aged[Tried]):
    """One line an experiment."""

    def draw(self, row: Tried, width: int) -> Content:
        """One experiment in `width` cells."""
        return experiment_row(row, self.clock(), width)
