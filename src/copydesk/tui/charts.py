"""Charts made of characters: every one has its scale in figures, and can be read without a colour."""

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from copydesk.tui.cells import cell, fit

EIGHTHS = "▁▂▃▄▅▆▇█"
SHADES = "░▒▓█"
"""From a little to the most."""
WITHOUT = "·"
"""There is something here, but what is drawn is not known of it."""
HEIGHT = 6
"""Lines of the columns of a chart."""
WIDEST = 4
"""Cells of a column and the gap behind it."""
LEAST_BAR, MOST_BAR = 6, 30
LEAST_SCALE, MOST_SCALE = 12, 60
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def percent(share: float) -> str:
    """A rate as people read it: two places below ten per cent, for most rates are small."""
    return f"{share:.1%}" if share >= 0.0995 else f"{share:.2%}"


def scale_top(most: float) -> float:
    """The end of an axis: the next round number whose half is round, too, and that nothing is above."""
    if most <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(most))
    return next((unit * step for step in _STEPS if unit * step >= most * (1 - 1e-9)), unit * 10)


def sparkline(values: Sequence[float]) -> str:
    """A character for each value, on a scale from 0 to the largest; a blank for nothing."""
    most = max(values, default=0.0)
    return "".join(EIGHTHS[_level(value, most, len(EIGHTHS)) - 1] if value > 0 else " " for value in values)


class Point(NamedTuple):
    """One column: what stands below it, its height, and how many it is made of."""

    label: str
    value: float | None
    """None where it is not known."""
    of: int


class Columns(NamedTuple):
    """Values side by side above an axis, and below it a line of how many each is made of."""

    points: Sequence[Point]
    unit: Callable[[float], str] = percent
    counted: str = "posts"

    def lines(self, width: int) -> list[Content]:
        """The chart; where there is no room for all columns, it is of the last ones."""
        top = scale_top(max((point.value or 0.0 for point in self.points), default=0.0))
        names = (self.unit(top), self.unit(top / 2), self.unit(0.0), self.counted)
        left = max(len(name) for name in names)
        shown, each = self._fitting(width - left - 2)
        lines = [self._line(level, top, left, shown, each) for level in range(HEIGHT, 0, -1)]
        lines.append(Content.styled(f"{names[2]:>{left}} └{'─' * (len(shown) * each)}", "dim"))
        counts = self._counts(left, shown, each)
        most = f"  most {max((point.of for point in shown), default=0)}"
        if counts.cell_length + len(most) <= width:
            counts += Content.styled(most, "dim")
        return [*lines, self._labels(left, shown, each), counts]

    def _fitting(self, room: int) -> tuple[Sequence[Point], int]:
        """The columns that there is room for, and the cells of each."""
        shown = self.points[-max(room, 1) :]
        return shown, max(min(room // max(len(shown), 1), WIDEST), 1)

    def _line(self, level: int, top: float, left: int, shown: Sequence[Point], each: int) -> Content:
        name = {HEIGHT: self.unit(top), HEIGHT // 2: self.unit(top / 2)}.get(level, "")
        axis = Content.styled(f"{name:>{left}} {'┤' if name else '│'}", "dim")
        return axis + Content("").join([_column(point, level, top, each) for point in shown])

    def _labels(self, left: int, shown: Sequence[Point], each: int) -> Content:
        """As many of the labels as there is room for, each beginning below its column."""
        line = ""
        for at, point in enumerate(shown):
            if at * each >= len(line) + 2 * bool(line) and at * each + len(point.label) <= len(shown) * each:
                line = line.ljust(at * each) + point.label
        return Content.styled(f"{'':>{left}}  {line}", "dim")

    def _counts(self, left: int, shown: Sequence[Point], each: int) -> Content:
        counts = sparkline([point.of for point in shown])
        spread = "".join(mark * (each - 1) + " " if each > 1 else mark for mark in counts)
        return Content.assemble((f"{self.counted:>{left}}  ", "dim"), spread)


def _column(point: Point, level: int, top: float, each: int) -> Content:
    """One line of one column, with its gap."""
    if point.value is None:
        mark, role = (WITHOUT if level == 1 and point.of else " "), "dim"
    else:
        eighths = max(round(point.value / top * HEIGHT * 8), 1 if point.value or level == 1 else 0)
        here = min(max(eighths - (level - 1) * 8, 0), 8)
        mark, role = (EIGHTHS[here - 1] if here else " "), "accent"
    return Content.styled(mark * max(each - 1, 1), role) + " " * (each > 1)


class Bar(NamedTuple):
    """One bar: its name, its length, and what is said of it."""

    name: str
    value: float | None
    says: str


class Bars(NamedTuple):
    """Values below each other, on one scale from 0 to the largest."""

    bars: Sequence[Bar]
    unit: Callable[[float], str] = percent

    def lines(self, width: int) -> list[Content]:
        """A line a bar; where it is narrow what is said gives way."""
        most = max((bar.value or 0.0 for bar in self.bars), default=0.0)
        names = [cell(bar.name) for bar in self.bars]
        left = min(max((cell_len(name) for name in names), default=0), max(width // 4, 8))
        figures = [self.unit(bar.value) if bar.value is not None else "–" for bar in self.bars]
        right = max((len(figure) for figure in figures), default=0)
        says = max((cell_len(cell(bar.says)) for bar in self.bars), default=0)
        room = min(max(width - left - right - says - 6, LEAST_BAR), MOST_BAR)
        return [
            Content.assemble(
                f"{fit(name, left)}  ",
                (_bar(bar.value, most, room), "accent"),
                f"  {figure:>{right}}  ",
                (cell(bar.says), "dim"),
            ).truncate(width, ellipsis=True)
            for bar, name, figure in zip(self.bars, names, figures, strict=True)
        ]


def _bar(value: float | None, most: float, room: int) -> str:
    full = max(round(room * value / most), 1) if value and most else 0
    return ("━" * full).ljust(room)


class Estimate(NamedTuple):
    """One value on a scale, and between what it may lie where that is known."""

    name: str
    value: float | None
    says: str
    interval: tuple[float, float] | None = None


class Estimates(NamedTuple):
    """Values below each other as marks on one scale from 0, which stands below them."""

    estimates: Sequence[Estimate]
    unit: Callable[[float], str] = percent

    def lines(self, width: int) -> list[Content]:
        """A line for each, and one for the scale."""
        ends = [high for each in self.estimates for high in (each.value, *(each.interval or ())) if high is not None]
        top = scale_top(max(ends, default=0.0))
        names = [cell(each.name) for each in self.estimates]
        left = min(max((cell_len(name) for name in names), default=0), max(width // 4, 8))
        figures = [self.unit(each.value) if each.value is not None else "–" for each in self.estimates]
        right = max((len(figure) for figure in figures), default=0)
        says = max((cell_len(cell(each.says)) for each in self.estimates), default=0)
        room = min(max(width - left - right - says - 7, LEAST_SCALE), MOST_SCALE)
        lines = [
            Content.assemble(
                f"{fit(name, left)} ",
                ("│", "dim"),
                (_mark(each, top, room), "accent"),
                f"  {figure:>{right}}  ",
                (cell(each.says), "dim"),
            ).truncate(width, ellipsis=True)
            for each, name, figure in zip(self.estimates, names, figures, strict=True)
        ]
        return [*lines, Content.styled(f"{'':{left}} {self._scale(top, room)}".rstrip(), "dim").truncate(width)]

    def _scale(self, top: float, room: int) -> str:
        """0 at its beginning, the middle where there is room for it, the top at its end."""
        begin, middle, end = (self.unit(top * part) for part in (0, 0.5, 1))
        between = room + 1 - len(begin) - len(end)
        return f"{begin}{middle if between > len(middle) + 1 else '':^{max(between, 1)}}{end}"


def _mark(estimate: Estimate, top: float, room: int) -> str:
    """A dot where the value is, and a line over its interval."""
    cells = [" "] * room
    if estimate.interval is not None:
        low, high = (_place(end, top, room) for end in estimate.interval)
        cells[low : high + 1] = "─" * (high + 1 - low)
        cells[low], cells[high] = "├", "┤"
    if estimate.value is not None:
        cells[_place(estimate.value, top, room)] = "●"
    return "".join(cells)


def _place(value: float, top: float, room: int) -> int:
    return min(max(round(value / top * (room - 1)), 0), room - 1)


class Heat(NamedTuple):
    """The hours of a week, Monday first: the darker the more, and what shade is how much stands below."""

    hours: Mapping[tuple[int, int], float | None]
    """By (day, hour), Monday is 0; None where there is something of which it is not known."""
    unit: Callable[[float], str] = percent

    def lines(self, width: int) -> list[Content]:
        """A line a day."""
        each = 2 if width >= 5 + 48 else 1
        top = max((value for value in self.hours.values() if value), default=0.0)
        days = [self._day(day, each, top) for day in range(7)]
        return [self._head(each), *days, *self._legend(top, width)]

    def _head(self, each: int) -> Content:
        step = 3 if each > 1 else 6
        marks = "".join(f"{hour:<{step * each}}" for hour in range(0, 24, step))
        return Content.styled(f"{'':5}{marks.rstrip()}", "dim")

    def _day(self, day: int, each: int, top: float) -> Content:
        marks = "".join(self._mark(day, hour, top) * each for hour in range(24))
        return Content.assemble((f"{DAYS[day]:<5}", "dim"), (marks, "accent"))

    def _mark(self, day: int, hour: int, top: float) -> str:
        if (day, hour) not in self.hours:
            return " "
        value = self.hours[day, hour]
        return WITHOUT if value is None else SHADES[_level(value, top, len(SHADES)) - 1]

    def _legend(self, top: float, width: int) -> list[Content]:
        """Up to how much each shade stands for."""
        parts = [f"{WITHOUT} no rate"]
        if top:
            parts += [f"{shade} ≤{self.unit(top * part / 4)}" for part, shade in enumerate(SHADES, 1)]
        return Content.styled(f"{'':5}{'  '.join(parts)}", "dim").wrap(max(width, 1))


def _level(value: float, most: float, levels: int) -> int:
    """1 to `levels`: of equal parts of the way to `most` the one that `value` is in."""
    if most <= 0:
        return 1
    return min(max(-int(-(value / most * levels) // 1), 1), levels)
