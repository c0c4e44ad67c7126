"""Tests for the charts of characters: scales, columns, bars, heat maps and widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from copydesk.tui.charts import (
    CHART_HEIGHT,
    EIGHTHS,
    MIN_TILE_WIDTH,
    NO_VALUE,
    SHADES,
    Bar,
    BarChart,
    ColumnChart,
    Estimate,
    EstimateChart,
    HeatMap,
    Point,
    Tile,
    Tiles,
    axis_maximum,
    format_percent,
    sparkline,
)
from copydesk.tui.layout import Block

shares = st.one_of(st.none(), st.floats(0, 1))
points = st.lists(st.builds(Point, st.just("11 Feb"), shares, st.integers(0, 10**6)), max_size=120)


def render(chart: Block, width: int = 60) -> list[str]:
    return [line.plain for line in chart.lines(width)]


def test_small_percentages_have_two_decimals() -> None:
    assert [format_percent(value) for value in (0.0, 0.0333, 0.0999, 0.5, 1.0)] == [
        "0.00%",
        "3.33%",
        "10.0%",
        "50.0%",
        "100.0%",
    ]


@given(st.floats(1e-9, 1e9))
def test_scale_top_is_just_above_maximum(maximum: float) -> None:
    assert maximum * (1 - 1e-6) <= axis_maximum(maximum) <= maximum * 1.5 * (1 + 1e-6)


@pytest.mark.parametrize("largest", [-1.0, 0.0, 5e-324])
def test_scale_without_a_visible_value_ends_at_one(largest: float) -> None:
    assert axis_maximum(largest) == 1.0


def test_sparkline_has_one_cell_per_value() -> None:
    assert sparkline([0, 1, 4, 8]) == f" {EIGHTHS[0]}{EIGHTHS[3]}{EIGHTHS[7]}"
    assert sparkline([]) == ""


def test_highest_column_reaches_axis_top() -> None:
    lines = render(ColumnChart([Point("1 Feb", 0.04, 2), Point("2 Feb", 0.02, 1), Point("3 Feb", None, 1)]))

    assert lines[0].startswith("4.00% ┤███")
    assert lines[CHART_HEIGHT // 2].startswith("2.00% ┤███ ███")
    assert lines[CHART_HEIGHT - 1].rstrip().endswith(NO_VALUE * 3)
    assert lines[CHART_HEIGHT] == "    0 └────────────"
    assert "most 2" in lines[-1]


def test_zero_rate_differs_from_unknown_rate() -> None:
    zero, unknown, empty = Point("a", 0.0, 1), Point("b", None, 1), Point("c", None, 0)
    bottom = render(ColumnChart([zero, unknown, empty, Point("d", 1.0, 1)]))[CHART_HEIGHT - 1]

    assert bottom.split("│")[1].split() == [EIGHTHS[0] * 3, NO_VALUE * 3, "███"]


def test_columns_chart_keeps_last_points() -> None:
    chart = ColumnChart([Point(f"{number}", number / 100, 1) for number in range(100)])

    assert render(chart, 30)[CHART_HEIGHT + 1].split()[0] == "78"
    assert all(cell_len(line) <= 30 for line in render(chart, 30))


@given(points, st.integers(20, 200))
def test_columns_fit_width(point_list: list[Point], width: int) -> None:
    lines = render(ColumnChart(point_list), width)

    assert len(lines) == CHART_HEIGHT + 3
    assert all(cell_len(line) <= width for line in lines)


def test_bars_share_one_scale() -> None:
    """A bar without a value is not drawn."""
    first, second, missing = render(
        BarChart([Bar("x", 0.04, "2 posts"), Bar("threads", 0.02, "1 post"), Bar("y", None, "1 post")])
    )

    assert first.count("━") == 2 * second.count("━") > 0
    assert "━" not in missing
    assert "–" in missing
    assert first.index("4.00%") == second.index("2.00%")


@given(st.lists(st.builds(Bar, st.text(max_size=40), shares, st.text(max_size=40)), max_size=8), st.integers(30, 200))
def test_bars_fit_width(bars: list[Bar], width: int) -> None:
    assert all(cell_len(line) <= width for line in render(BarChart(bars), width))


def test_heat_map_shades_and_legend() -> None:
    head, monday, *rest = render(HeatMap({(0, 0): -0.2, (0, 1): 0.5, (6, 23): 0.0, (2, 12): 0.15}), 80)

    assert head.split() == ["0", "3", "6", "9", "12", "15", "18", "21"]
    assert monday.rstrip() == f"Mon  {SHADES[0] * 2}{SHADES[3] * 2}"
    assert rest[5].endswith(SHADES[1] * 2)
    assert rest[1][5 + 24 : 5 + 26] == SHADES[2] * 2
    assert rest[6].strip() == "░ over 10% less  ▒ average  ▓ more  █ over 30% more"


@pytest.mark.parametrize("width", [30, 52, 53, 120])
def test_heat_map_has_24_hours_at_any_width(width: int) -> None:
    lines = render(HeatMap({(day, hour): 1.0 for day in range(7) for hour in range(24)}), width)
    cells_per_hour = 2 if width >= 53 else 1

    assert all(line.count("█") == 24 * cells_per_hour for line in lines[1:8])
    assert all(cell_len(line) <= width for line in lines)


TILE_ROW = [Tile("posts", "12", "▲ 20%", [1, 2, 4]), Tile("rate", "–", "", [None, None, None])]


def test_tiles_side_by_side() -> None:
    assert [line.rstrip() for line in render(Tiles(TILE_ROW), 40)] == [
        "posts               rate",
        "12                  –",
        "▲ 20%",
        "▂▄█",
    ]


def test_course_keeps_unknown_values_blank() -> None:
    (*_, course) = render(Tiles([Tile("rate", "1%", "", [0.0, None, 2.0, 1.0]), TILE_ROW[1]]), 40)
    assert course.rstrip() == "▁ █▄"


tiles = st.builds(Tile, st.text(max_size=9), st.text(max_size=9), st.text(max_size=30), st.lists(shares, max_size=400))


@given(st.lists(tiles, min_size=4, max_size=4), st.integers(20, 200))
def test_tiles_fit_width(tile_list: list[Tile], width: int) -> None:
    lines = render(Tiles(tile_list), width)
    assert all(cell_len(line) <= width for line in lines)
    assert len(lines) == (4 if width >= 4 * MIN_TILE_WIDTH else 9)


def test_estimates_share_one_scale() -> None:
    """An interval is drawn only where the estimate has one."""
    estimate = Estimate("two", 0.02, "9 posts", (0.01, 0.04))
    first, second, missing, scale = render(
        EstimateChart([Estimate("none", 0.04, "9 posts"), estimate, Estimate("five", None, "–")])
    )

    assert first.index("●") == second.index("┤") > second.index("●") > second.index("├")
    assert "─" not in first
    assert "●" not in missing
    assert scale.split() == ["0.00%", "2.00%", "4.00%"]
    assert first.index("●") == len(scale.rstrip()) - 1


ends = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted).map(tuple)
estimates = st.builds(Estimate, st.text(max_size=30), shares, st.text(max_size=30), st.one_of(st.none(), ends))


@given(st.lists(estimates, max_size=5), st.integers(30, 200))
def test_estimates_fit_width(estimate_list: list[Estimate], width: int) -> None:
    assert all(cell_len(line) <= width for line in render(EstimateChart(estimate_list), width))
