"""Charts of characters: a scale in figures, whole columns, nothing wider than its room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from copydesk.tui.charts import (
    EIGHTHS,
    HEIGHT,
    SHADES,
    WITHOUT,
    Bar,
    Bars,
    Columns,
    Estimate,
    Estimates,
    Heat,
    Point,
    percent,
    scale_top,
    sparkline,
)
from copydesk.tui.layout import Block

shares = st.one_of(st.none(), st.floats(0, 1))
points = st.lists(st.builds(Point, st.just("11 Feb"), shares, st.integers(0, 10**6)), max_size=120)


def drawn(chart: Block, width: int = 60) -> list[str]:
    return [line.plain for line in chart.lines(width)]


def test_a_rate_has_two_places_where_it_is_small() -> None:
    assert [percent(share) for share in (0.0, 0.0333, 0.0999, 0.5, 1.0)] == [
        "0.00%",
        "3.33%",
        "10.0%",
        "50.0%",
        "100.0%",
    ]


@given(st.floats(1e-9, 1e9))
def test_nothing_is_above_the_end_of_the_axis_and_little_room_is_lost(most: float) -> None:
    assert most * (1 - 1e-6) <= scale_top(most) <= most * 1.5 * (1 + 1e-6)


def test_a_sparkline_is_as_long_as_its_values_and_blank_for_nothing() -> None:
    assert sparkline([0, 1, 4, 8]) == f" {EIGHTHS[0]}{EIGHTHS[3]}{EIGHTHS[7]}"
    assert sparkline([]) == ""


def test_the_highest_column_reaches_the_top_where_the_axis_ends_at_it() -> None:
    lines = drawn(Columns([Point("1 Feb", 0.04, 2), Point("2 Feb", 0.02, 1), Point("3 Feb", None, 1)]))

    assert lines[0].startswith("4.00% ┤███")
    assert lines[HEIGHT // 2].startswith("2.00% ┤███ ███")
    assert lines[HEIGHT - 1].rstrip().endswith(WITHOUT * 3)
    assert lines[HEIGHT] == "0.00% └────────────"
    assert "most 2" in lines[-1]


def test_a_rate_of_nothing_is_no_rate_that_is_not_known() -> None:
    nothing, unknown, none = Point("a", 0.0, 1), Point("b", None, 1), Point("c", None, 0)
    bottom = drawn(Columns([nothing, unknown, none, Point("d", 1.0, 1)]))[HEIGHT - 1]

    assert bottom.split("│")[1].split() == [EIGHTHS[0] * 3, WITHOUT * 3, "███"]


def test_where_there_is_no_room_the_last_columns_are_shown() -> None:
    chart = Columns([Point(f"{number}", number / 100, 1) for number in range(100)])

    assert drawn(chart, 30)[HEIGHT + 1].split()[0] not in {"0", "1"}
    assert all(cell_len(line) <= 30 for line in drawn(chart, 30))


@given(points, st.integers(20, 200))
def test_no_line_of_columns_is_wider_than_its_room(some: list[Point], width: int) -> None:
    lines = drawn(Columns(some), width)

    assert len(lines) == HEIGHT + 3
    assert all(cell_len(line) <= width for line in lines)


def test_bars_are_on_one_scale_and_one_that_is_not_known_is_no_bar() -> None:
    one, two, none = drawn(Bars([Bar("x", 0.04, "2 posts"), Bar("threads", 0.02, "1 post"), Bar("y", None, "1 post")]))

    assert one.count("━") == 2 * two.count("━") > 0
    assert "━" not in none
    assert "–" in none
    assert one.index("4.00%") == two.index("2.00%")


@given(st.lists(st.builds(Bar, st.text(max_size=40), shares, st.text(max_size=40)), max_size=8), st.integers(30, 200))
def test_no_bar_is_wider_than_its_room(bars: list[Bar], width: int) -> None:
    assert all(cell_len(line) <= width for line in drawn(Bars(bars), width))


def test_an_hour_is_darker_the_more_and_says_how_much_a_shade_stands_for() -> None:
    hours = {(0, 0): 0.01, (0, 1): 0.04, (6, 23): None, (2, 12): 0.0}
    head, monday, *rest = drawn(Heat(hours))

    assert head.split() == ["0", "3", "6", "9", "12", "15", "18", "21"]
    assert monday.rstrip() == f"Mon  {SHADES[0] * 2}{SHADES[3] * 2}"
    assert rest[5].endswith(WITHOUT * 2)
    assert rest[1][5 + 24 : 5 + 26] == SHADES[0] * 2
    assert f"{SHADES[3]} ≤4.00%" in rest[6]


@pytest.mark.parametrize("width", [30, 52, 53, 120])
def test_every_hour_has_its_place_at_every_width(width: int) -> None:
    lines = drawn(Heat({(day, hour): 1.0 for day in range(7) for hour in range(24)}), width)
    each = 2 if width >= 53 else 1

    assert all(line.count("█") == 24 * each for line in lines[1:8])
    assert all(cell_len(line) <= width for line in lines)


def test_without_any_rate_no_shade_is_explained() -> None:
    assert drawn(Heat({(0, 0): None}))[-1].strip() == f"{WITHOUT} no rate"


def test_estimates_are_marks_on_one_scale_and_an_interval_is_drawn_only_where_there_is_one() -> None:
    known = Estimate("two", 0.02, "9 posts", (0.01, 0.04))
    one, two, none, scale = drawn(Estimates([Estimate("none", 0.04, "9 posts"), known, Estimate("five", None, "–")]))

    assert one.index("●") == two.index("┤") > two.index("●") > two.index("├")
    assert "─" not in one
    assert "●" not in none
    assert scale.split() == ["0.00%", "2.00%", "4.00%"]
    assert one.index("●") == len(scale.rstrip()) - 1


ends = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted).map(tuple)
estimates = st.builds(Estimate, st.text(max_size=30), shares, st.text(max_size=30), st.one_of(st.none(), ends))


@given(st.lists(estimates, max_size=5), st.integers(30, 200))
def test_no_estimate_is_wider_than_its_room(some: list[Estimate], width: int) -> None:
    assert all(cell_len(line) <= width for line in drawn(Estimates(some), width))
