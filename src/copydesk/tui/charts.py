"""Charts made of characters. Each has a numeric scale and is readable without colours."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from copydesk.tui import labels
from copydesk.tui.terminal.cells import fit, safe_line

EIGHTHS = "▁▂▃▄▅▆▇█"
SHADES = "░▒▓█"
"""From low to high."""
NO_VALUE = "·"
"""Marks a column or an hour that has data but no value."""
CHART_HEIGHT = 6
"""Lines of the columns of a column chart."""
MAX_COLUMN_WIDTH = 4
"""Cells of a column including the gap behind it."""
MIN_BAR_WIDTH, MAX_BAR_WIDTH = 6, 30
MIN_SCALE_WIDTH, MAX_SCALE_WIDTH = 12, 60
LIFT_STEPS = (-0.1, 0.1, 0.3)
"""Differences from the mean at which the shade of an hour changes."""
MIN_TILE_WIDTH = 15
MAX_COURSE_WIDTH = 16
_AXIS_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def format_percent(share: float) -> str:
    """Format a rate with two decimals below ten per cent, where most rates are."""
    return f"{share:.1%}" if share >= 0.0995 else f"{share:.2%}"


def axis_maximum(largest: float) -> float:
    """Return the end of an axis: the smallest round number not below `largest` whose half is round, too."""
    # Of subnormal numbers the unit could be 0.
    if largest < sys.float_info.min:
        return 1.0
    unit = 10.0 ** floor(log10(largest))
    # The tolerance absorbs rounding errors: 0.3 must not end up above a top of 0.3.
    return next((unit * step for step in _AXIS_STEPS if unit * step >= largest * (1 - 1e-9)), unit * 10)


def sparkline(values: Sequence[float]) -> str:
    """Return one character per value on a scale from 0 to the largest; a blank for 0."""
    largest = max(values, default=0.0)
    return "".join(EIGHTHS[_level(value, largest, len(EIGHTHS)) - 1] if value > 0 else " " for value in values)


class Point(NamedTuple):
    """A column: its label, its height and the number of items behind it."""

    label: str
    value: float | None
    """None if unknown."""
    sample_size: int


class ColumnChart(NamedTuple):
    """A column chart with an axis, and below it a line with the number of items in each column."""

    points: Sequence[Point]
    unit: Callable[[float], str] = format_percent
    count_label: str = labels.COLUMN_COUNTS

    def lines(self, width: int) -> list[Content]:
        """Render the chart in `width` cells. If it does not fit, only the last columns are shown."""
        top = axis_maximum(max((point.value or 0.0 for point in self.points), default=0.0))
        axis_labels = (self.unit(top), self.unit(top / 2), "0", self.count_label)
        axis_width = max(len(name) for name in axis_labels)
        points, column_width = self._fit_points(width - axis_width - 2)
        lines = [self._line(level, top, axis_width, points, column_width) for level in range(CHART_HEIGHT, 0, -1)]
        lines.append(Content.styled(f"{axis_labels[2]:>{axis_width}} └{'─' * (len(points) * column_width)}", "dim"))
        counts = self._count_line(axis_width, points, column_width)
        largest = f"  {labels.largest_column(max((point.sample_size for point in points), default=0))}"
        if counts.cell_length + len(largest) <= width:
            counts += Content.styled(largest, "dim")
        return [*lines, self._labels(axis_width, points, column_width), counts]

    def _fit_points(self, room: int) -> tuple[Sequence[Point], int]:
        """Return the points that fit into `room` cells, and the width of a column."""
        points = self.points[-max(room, 1) :]
        return points, max(min(room // max(len(points), 1), MAX_COLUMN_WIDTH), 1)

    def _line(self, level: int, top: float, axis_width: int, points: Sequence[Point], column_width: int) -> Content:
        label = {CHART_HEIGHT: self.unit(top), CHART_HEIGHT // 2: self.unit(top / 2)}.get(level, "")
        axis = Content.styled(f"{label:>{axis_width}} {'┤' if label else '│'}", "dim")
        return axis + Content("").join([_column(point, level, top, column_width) for point in points])

    def _labels(self, axis_width: int, points: Sequence[Point], column_width: int) -> Content:
        """Place as many labels as fit, each starting below its column."""
        line = ""
        for index, point in enumerate(points):
            # Keep two blanks between labels, and none may extend beyond the last column.
            if (
                index * column_width >= len(line) + 2 * bool(line)
                and index * column_width + len(point.label) <= len(points) * column_width
            ):
                line = line.ljust(index * column_width) + point.label
        return Content.styled(f"{'':>{axis_width}}  {line}", "dim")

    def _count_line(self, axis_width: int, points: Sequence[Point], column_width: int) -> Content:
        counts = sparkline([point.sample_size for point in points])
        line = "".join(mark * (column_width - 1) + " " if column_width > 1 else mark for mark in counts)
        return Content.assemble((f"{self.count_label:>{axis_width}}  ", "dim"), line)


def _column(point: Point, level: int, top: float, column_width: int) -> Content:
    """Render one line of one column, with its gap."""
    if point.value is None:
        mark, role = (NO_VALUE if level == 1 and point.sample_size else " "), "dim"
    else:
        # A small value still gets one eighth, so that it differs from a missing one; zero shows as a baseline.
        eighths = max(round(point.value / top * CHART_HEIGHT * 8), 1 if point.value or level == 1 else 0)
        filled = min(max(eighths - (level - 1) * 8, 0), 8)
        mark, role = (EIGHTHS[filled - 1] if filled else " "), "accent"
    return Content.styled(mark * max(column_width - 1, 1), role) + " " * (column_width > 1)


class Bar(NamedTuple):
    """A bar: its name, its length and a note."""

    name: str
    value: float | None
    note: str


class BarChart(NamedTuple):
    """Horizontal bars on a common scale from 0 to the largest."""

    bars: Sequence[Bar]
    unit: Callable[[float], str] = format_percent

    def lines(self, width: int) -> list[Content]:
        """Render a line per bar; in a narrow space the notes are truncated first."""
        largest = max((bar.value or 0.0 for bar in self.bars), default=0.0)
        names = [safe_line(bar.name) for bar in self.bars]
        name_width = min(max((cell_len(name) for name in names), default=0), max(width // 4, 8))
        values = [self.unit(bar.value) if bar.value is not None else "–" for bar in self.bars]
        value_width = max((len(value) for value in values), default=0)
        note_width = max((cell_len(safe_line(bar.note)) for bar in self.bars), default=0)
        # 6 blanks between the parts; notes are truncated rather than the bars below their minimum width.
        room = min(max(width - name_width - value_width - note_width - 6, MIN_BAR_WIDTH), MAX_BAR_WIDTH)
        return [
            Content.assemble(
                f"{fit(name, name_width)}  ",
                (_bar(bar.value, largest, room), "accent"),
                f"  {value:>{value_width}}  ",
                (safe_line(bar.note), "dim"),
            ).truncate(width, ellipsis=True)
            for bar, name, value in zip(self.bars, names, values, strict=True)
        ]


def _bar(value: float | None, largest: float, width: int) -> str:
    filled = max(round(width * value / largest), 1) if value and largest else 0
    return ("━" * filled).ljust(width)


class Estimate(NamedTuple):
    """A value on a scale, with its confidence interval if known."""

    name: str
    value: float | None
    note: str
    interval: tuple[float, float] | None = None


class EstimateChart(NamedTuple):
    """Estimates as marks on a common scale that starts at 0 and is printed below them."""

    estimates: Sequence[Estimate]
    unit: Callable[[float], str] = format_percent

    def lines(self, width: int) -> list[Content]:
        """Render a line per estimate, and one for the scale."""
        bounds = [
            bound
            for estimate in self.estimates
            for bound in (estimate.value, *(estimate.interval or ()))
            if bound is not None
        ]
        top = axis_maximum(max(bounds, default=0.0))
        names = [safe_line(estimate.name) for estimate in self.estimates]
        name_width = min(max((cell_len(name) for name in names), default=0), max(width // 4, 8))
        values = [self.unit(estimate.value) if estimate.value is not None else "–" for estimate in self.estimates]
        value_width = max((len(value) for value in values), default=0)
        note_width = max((cell_len(safe_line(estimate.note)) for estimate in self.estimates), default=0)
        room = min(max(width - name_width - value_width - note_width - 7, MIN_SCALE_WIDTH), MAX_SCALE_WIDTH)
        lines = [
            Content.assemble(
                f"{fit(name, name_width)} ",
                ("│", "dim"),
                (_draw(estimate, top, room), "accent"),
                f"  {value:>{value_width}}  ",
                (f"{safe_line(estimate.note):>{note_width}}", "dim"),
            ).truncate(width, ellipsis=True)
            for estimate, name, value in zip(self.estimates, names, values, strict=True)
        ]
        return [*lines, Content.styled(f"{'':{name_width}} {self._scale(top, room)}".rstrip(), "dim").truncate(width)]

    def _scale(self, top: float, room: int) -> str:
        """Return the scale: 0 at the start, the middle if there is room, the top at the end."""
        start, middle, end = (self.unit(top * fraction) for fraction in (0, 0.5, 1))
        between = room + 1 - len(start) - len(end)
        return f"{start}{middle if between > len(middle) + 1 else '':^{max(between, 1)}}{end}"


def _draw(estimate: Estimate, top: float, room: int) -> str:
    """Draw a dot at the value and a line over its interval."""
    cells = [" "] * room
    if estimate.interval is not None:
        low, high = (_to_cell(end, top, room) for end in estimate.interval)
        cells[low : high + 1] = "─" * (high + 1 - low)
        cells[low], cells[high] = "├", "┤"
    if estimate.value is not None:
        cells[_to_cell(estimate.value, top, room)] = "●"
    return "".join(cells)


def _to_cell(value: float, top: float, room: int) -> int:
    return min(max(round(value / top * (room - 1)), 0), room - 1)


class HeatMap(NamedTuple):
    """A heat map of the hours of a week, Monday first, with a legend of the shades."""

    hours: Mapping[tuple[int, int], float]
    """Difference from the mean by (day, hour), Monday is 0: 0.2 is a fifth more."""

    def lines(self, width: int) -> list[Content]:
        """Render a line per day."""
        # 5 cells of day names, then 24 hours of one or two cells.
        hour_width = 2 if width >= 5 + 48 else 1
        days = [self._day(day, hour_width) for day in range(7)]
        return [self._head(hour_width), *days, *self._legend(width)]

    def _head(self, hour_width: int) -> Content:
        step = 3 if hour_width > 1 else 6
        marks = "".join(f"{hour:<{step * hour_width}}" for hour in range(0, 24, step))
        return Content.styled(f"{'':5}{marks.rstrip()}", "dim")

    def _day(self, day: int, hour_width: int) -> Content:
        marks = "".join(self._draw(day, hour) * hour_width for hour in range(24))
        return Content.assemble((f"{labels.DAYS[day]:<5}", "dim"), (marks, "accent"))

    def _draw(self, day: int, hour: int) -> str:
        if (day, hour) not in self.hours:
            return " "
        return SHADES[bisect_right(LIFT_STEPS, self.hours[day, hour])]

    def _legend(self, width: int) -> list[Content]:
        """Return the range of each shade. They are fixed, so that hours without a difference look alike."""
        parts = [f"{shade} {name}" for shade, name in zip(SHADES, labels.lift_ranges(LIFT_STEPS), strict=True)]
        return Content.styled(f"{'':5}{'  '.join(parts)}", "dim").wrap(max(width, 1))


class Tile(NamedTuple):
    """A value with its name, its change against the period before, and its course."""

    name: str
    value: str
    change: str
    course: Sequence[float | None]
    """None where the value is unknown."""


class Tiles(NamedTuple):
    """Tiles side by side, in rows of two where they are too narrow."""

    tiles: Sequence[Tile]

    def lines(self, width: int) -> list[Content]:
        """Render the tiles in rows of equal columns."""
        columns = len(self.tiles) if width >= len(self.tiles) * MIN_TILE_WIDTH else 2
        tile_width = max(width // columns, 1)
        lines: list[Content] = []
        for start in range(0, len(self.tiles), columns):
            if start:
                lines.append(Content(""))
            rendered = [_tile_lines(tile, tile_width) for tile in self.tiles[start : start + columns]]
            lines += [Content("").join(cells).rstrip() for cells in zip(*rendered, strict=True)]
        return lines


def _tile_lines(tile: Tile, width: int) -> list[Content]:
    room = max(width - 2, 1)
    course = _merge_neighbours(tile.course, min(room, MAX_COURSE_WIDTH))
    # A zero is drawn as the lowest step: a blank is an unknown value.
    known = [value for value in course if value is not None]
    marks = iter(sparkline([max(value, 1e-9) for value in known]) if any(known) else EIGHTHS[0] * len(known))
    line = "".join(" " if value is None else next(marks) for value in course)
    parts = ((tile.name, "dim"), (tile.value, "strong"), (tile.change, "dim"), (line, "accent"))
    return [Content.styled(fit(text, room), role).pad_right(width - room) for text, role in parts]


def _merge_neighbours(values: Sequence[float | None], count: int) -> list[float | None]:
    """Return at most `count` values, the means of neighbours."""
    size = -(-len(values) // max(count, 1)) or 1
    groups = [[value for value in values[i : i + size] if value is not None] for i in range(0, len(values), size)]
    return [sum(group) / len(group) if group else None for group in groups]


def _level(value: float, largest: float, levels: int) -> int:
    """Return the level of `value`, from 1 to `levels`, on a scale from 0 to `largest`."""
    if largest <= 0:
        return 1
    return min(max(-int(-(value / largest * levels) // 1), 1), levels)
