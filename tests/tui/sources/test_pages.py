"""Tests for the pages and rows of sources and runs."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console_driver import NOW, make_run, successful_run
from copydesk.desk.sources.overview import SourceOverview
from copydesk.model.run import ErrorCount, PeriodTotals, RunStatistics, RunStatus
from copydesk.model.source import Health, SourceConfig
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Block, lay_out_blocks
from copydesk.tui.sources.pages import (
    EXAMPLES,
    MAX_ERROR_LENGTH,
    first_steps,
    format_count,
    format_next_fetch,
    format_settings,
    run_header,
    run_page,
    run_row,
    source_header,
    source_page,
    source_row,
    sparkline,
)
from sources_driver import make_source


def overview(**values: Any) -> SourceOverview:
    return SourceOverview(
        source=make_source(**values), next_fetch=NOW + timedelta(hours=3), drafts=4, days=(0,) * 13 + (5,)
    )


def render(blocks: list[Block], width: int = 80) -> str:
    return "\n".join(line.plain for line in lay_out_blocks(blocks, width))


@given(st.text(max_size=80), st.integers(20, 200), st.integers(0, 10**10))
def test_source_row_has_exact_width(name: str, width: int, items: int) -> None:
    row = overview(name=name or "x", item_count=items)
    assert cell_len(source_row(row, NOW, width).plain) == width


@pytest.mark.parametrize("width", [39, 52, 60, 72, 79, 119])
def test_source_heads_align_with_columns(width: int) -> None:
    row = source_row(overview(item_count=12, fail_count=3), NOW, width).plain
    names = source_header(width)
    assert row.index("One") == names.index("name")
    if width >= 72:
        assert names.index("14 days") == row.index("·····")
    assert row[names.index("fails") : names.index("fails") + 5].strip() == "3"


def test_run_heads_align_with_columns() -> None:
    row, names = run_row(successful_run(), NOW, 60).plain, run_header(60)
    for head, value in (("items", "54"), ("stories", "41"), ("drafts", "7")):
        end = names.index(head) + len(head)
        assert row[:end].endswith(f" {value}")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=14))
def test_sparkline_has_cell_per_day(counts: list[int]) -> None:
    cells = sparkline(counts)
    assert len(cells) == len(counts)
    assert [cell == "·" for cell in cells] == [count == 0 for count in counts]
    if max(counts):
        assert cells[counts.index(max(counts))] == "█"


def test_next_fetch_is_abbreviated() -> None:
    assert format_next_fetch(overview(), NOW) == "3h"
    assert format_next_fetch(overview(), NOW + timedelta(hours=4)) == "due"
    assert format_next_fetch(overview(enabled=False), NOW) == "off"
    assert format_next_fetch(overview(), NOW + timedelta(hours=3, seconds=-5)) == "1m"


def test_large_numbers_keep_column_width() -> None:
    assert [format_count(number) for number in (0, 999_999, 12_300_000, 10**12)] == ["0", "999999", "12.3M", "many"]


def test_health_letters_are_unique() -> None:
    rows = [source_row(overview(health=health), NOW, 80).plain[0] for health in Health]
    assert len(set(rows)) == len(Health)


def test_long_error_is_truncated() -> None:
    page = render(source_page(overview(last_error="a\x1b[2Jb" + "x" * 10_000), None, NOW))
    assert "abx" in page
    assert page.count("x") <= MAX_ERROR_LENGTH + 10
    assert "\x1b" not in page


def test_settings_are_described() -> None:
    config = SourceConfig(weight=2, max_items=5, include=("a", "b"), replies=True)
    assert format_settings(config) == "weight 2 · max items 5 · include a, b · replies yes"
    assert format_settings(None) == ""


def test_run_page_lists_counts_and_errors() -> None:
    page = render(run_page(successful_run(), None, NOW))
    assert "54  items" in page
    assert "1 failed" in page
    failed = run_row(make_run(RunStatus.FAILED, error="No \x1b[2Jsource could be read."), NOW, 70).plain
    assert failed.startswith("F")
    assert "No source could be read." in failed


def test_statistics_list_error_categories() -> None:
    statistics = RunStatistics(
        total_runs=4,
        success_rate=0.5,
        average_duration=2.0,
        average_items_per_run=3.0,
        average_drafts_per_run=1.0,
        top_errors=(ErrorCount(category="unreachable", count=2),),
        last30_days=PeriodTotals(runs=1, items=2, drafts=3),
        ended_runs=4,
    )
    page = render(run_page(None, statistics, NOW))
    assert "4 · 50% succeeded" in page
    assert "unreachable 2×" in page
    assert "1 run · 2 items · 3 drafts" in page


def test_examples_have_keys() -> None:
    """An example that was added is not offered."""
    page = render(first_steps())
    assert [key_label(example.action) for example in EXAMPLES] == ["7", "8", "9"]
    assert all(example.name in page for example in EXAMPLES)
    assert EXAMPLES[0].name not in render(first_steps(frozenset({EXAMPLES[0].url})))
