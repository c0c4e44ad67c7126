"""Tests for the row window over a long list: loaded rows are correct, and visible rows get loaded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console_driver import make_draft
from copydesk.model.filters import DraftPosition, DraftSlice
from copydesk.tui.review.row_window import (
    MAX_HIDDEN_ROWS,
    MAX_ROWS,
    PAGE_SIZE,
    READ_AHEAD,
    RowOrigin,
    RowRequest,
    Window,
)
from sampling import sample_size

HEIGHT = 20
DRAFTS = {number: make_draft(number) for number in range(4000)}
Numbers = list[int]


def load_rows(shelf: Numbers, request: RowRequest) -> DraftSlice:
    """Return the desk's answer to a request; drafts are ordered by their numbers."""
    position = int(request.position.key) if request.position is not None and request.position.key is not None else 0
    if request.origin in (RowOrigin.BEFORE, RowOrigin.END):
        preceding = [number for number in shelf if request.origin is RowOrigin.END or number < position]
        numbers, has_more = preceding[-PAGE_SIZE:], len(preceding) > PAGE_SIZE
    else:
        following = (
            [number for number in shelf if number > position]
            if request.origin is RowOrigin.AFTER
            else shelf[request.start_index :]
        )
        numbers, has_more = following[:PAGE_SIZE], len(following) > PAGE_SIZE
    return DraftSlice(
        tuple(DRAFTS[number] for number in numbers),
        tuple(DraftPosition(number, f"draft-{number}") for number in numbers),
        has_more,
    )


def scroll_to(window: Window, shelf: Numbers, top: int) -> int:
    """Scroll to `top` and load rows until none are requested; return the resulting top row."""
    for _ in range(10):
        top = max(min(top, window.total - HEIGHT), 0)
        request = window.next_request(top, top + HEIGHT - 1)
        if request is None:
            return top
        top += window.merge(request, load_rows(shelf, request))
    raise AssertionError("it wants without end")


def open_window(shelf: Numbers) -> Window:
    """Return a window with its first rows loaded."""
    window = Window(len(shelf))
    window.merge(RowRequest(RowOrigin.START), load_rows(shelf, RowRequest(RowOrigin.START)))
    return window


def visible_ids(window: Window, top: int) -> list[str]:
    """Return the ids on the screen; all rows must be loaded."""
    rows = window[top : top + HEIGHT]
    assert all(row is not None for row in rows)
    return [row.id for row in rows if row is not None]


@settings(max_examples=sample_size(150), deadline=None)
@given(st.integers(0, 4000), st.lists(st.integers(0, 4000), max_size=12))
def test_visible_rows_are_loaded_and_correct(size: int, tops: list[int]) -> None:
    shelf = list(range(size))
    window = open_window(shelf)
    for requested_top in tops:
        top = scroll_to(window, shelf, requested_top)
        assert visible_ids(window, top) == [f"draft-{number}" for number in shelf[top : top + HEIGHT]]
        assert window.total == size
        assert len(window.rows) <= MAX_ROWS


@settings(max_examples=sample_size(150), deadline=None)
@given(st.integers(300, 3000), st.lists(st.tuples(st.integers(-500, 3000), st.integers(0, 9)), min_size=1, max_size=12))
def test_concurrent_changes_keep_rows_unique_and_ordered(size: int, steps: list[tuple[int, int]]) -> None:
    """Removed rows stay until the next refresh; rows loaded around them must fit."""
    shelf = list(range(0, size, 2))
    window, top = open_window(shelf), 0
    for move, threshold in steps:
        shelf = [number for number in range(size) if (number * 7919 + move) % 10 >= threshold]
        top = scroll_to(window, shelf, top + move)
        numbers = [int(draft_id.removeprefix("draft-")) for draft_id in visible_ids(window, top)]
        assert numbers == sorted(set(numbers))
        assert window.start >= 0
        assert window.stop <= window.total


def test_scrolling_visits_rows_once() -> None:
    shelf = list(range(2500))
    window = open_window(shelf)
    visited = []
    for top in range(2500):
        scroll_to(window, shelf, top)
        row = window[top]
        assert row is not None
        visited.append(row.id)
    assert visited == [f"draft-{number}" for number in shelf]


def test_shortened_list_is_corrected_at_both_ends() -> None:
    window = open_window(list(range(2000)))
    shelf = list(range(500, 1500))
    scroll_to(window, shelf, 1990)
    assert window[window.total - 1] == DRAFTS[1499]
    top = window.total - HEIGHT
    while top > 0:
        top = scroll_to(window, shelf, top - 50)
    assert window[0] == DRAFTS[500]


def test_next_rows_are_requested_early() -> None:
    shelf = list(range(1000))
    window = open_window(shelf)
    assert window.next_request(0, READ_AHEAD - 1) is None
    request = window.next_request(READ_AHEAD - 10, READ_AHEAD + 10)
    assert request == RowRequest(RowOrigin.AFTER, DraftPosition(PAGE_SIZE - 1, f"draft-{PAGE_SIZE - 1}"))
    window.merge(request, load_rows(shelf, request))
    assert window.next_request(READ_AHEAD - 10, READ_AHEAD + 10) is None


def test_late_answer_for_dropped_rows_is_ignored() -> None:
    shelf = list(range(1000))
    window = open_window(shelf)
    late = RowRequest(RowOrigin.AFTER, DraftPosition(7, "draft-7"))
    assert window.merge(late, load_rows(shelf, late)) == 0
    assert window.stop == PAGE_SIZE


def test_hidden_list_keeps_few_rows() -> None:
    shelf = list(range(1000))
    window = open_window(shelf)
    scroll_to(window, shelf, 500)
    window.shrink(505)
    assert len(window.rows) == MAX_HIDDEN_ROWS
    assert window[505] == DRAFTS[505]
    assert window.total == 1000
    small = open_window(list(range(7)))
    small.shrink(3)
    assert len(small.rows) == 7


def test_window_is_sequence_with_negative_indexes() -> None:
    window = Window(400)
    window.merge(RowRequest(RowOrigin.END), load_rows(list(range(400)), RowRequest(RowOrigin.END)))
    expected = [f"draft-{number}" for number in range(400 - PAGE_SIZE, 400)]
    assert [row.id if row else None for row in window] == [None] * (400 - PAGE_SIZE) + expected
    assert (window[-1], window[-400], window[398:]) == (DRAFTS[399], None, [DRAFTS[398], DRAFTS[399]])
    for index in (400, -401):
        with pytest.raises(IndexError):
            window[index]


def test_uncounted_list_is_corrected_by_count() -> None:
    shelf = list(range(1000))
    window = Window()
    window.merge(RowRequest(RowOrigin.START), load_rows(shelf, RowRequest(RowOrigin.START)))
    assert (window.total, window.is_total_exact) == (PAGE_SIZE + 1, False)
    assert (window.set_exact_total(1000), window.total, window.is_total_exact) == (0, 1000, True)


def test_rows_read_from_end_move_after_count() -> None:
    shelf = list(range(1000))
    window = Window()
    window.merge(RowRequest(RowOrigin.START), load_rows(shelf, RowRequest(RowOrigin.START)))
    window.merge(RowRequest(RowOrigin.END), load_rows(shelf, RowRequest(RowOrigin.END)))
    request = RowRequest(RowOrigin.BEFORE, window.positions[0])
    window.merge(request, load_rows(shelf, request))
    assert window.total < 1000
    last = window.total - 1
    moved = window.set_exact_total(1000)
    assert (window[last + moved], window[999], window.total) == (DRAFTS[999], DRAFTS[999], 1000)
    assert (scroll_to(window, shelf, 0), window[0]) == (0, DRAFTS[0])


def test_short_list_is_counted_when_loaded() -> None:
    for direction in (RowOrigin.START, RowOrigin.END):
        window = Window()
        window.merge(RowRequest(direction), load_rows([1, 2], RowRequest(direction)))
        assert (window.total, window.is_total_exact) == (2, True)


def test_empty_list_requests_nothing() -> None:
    window = open_window([])
    assert window.next_request(0, 20) is None
    assert len(window) == 0
