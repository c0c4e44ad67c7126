"""The experiments, those that go on first."""

from collections.abc import Callable
from datetime import datetime

from textual.content import Content

from copydesk.tui.pages.experiment import Tried, experiment_row
from copydesk.tui.widgets.line_list import LineList


class ExperimentList(LineList[Tried]):
    """One line an experiment."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw(self, row: Tried, width: int) -> Content:
        """One experiment in `width` cells."""
        return experiment_row(row, self._clock(), width)
