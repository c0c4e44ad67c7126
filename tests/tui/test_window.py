"""Tests for the row window over a long list: loaded rows are correct, and visible rows get loaded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.window import Place, Slice
from copydesk.tui.window import AHEAD, KEPT, MOST, PAGE, Way, Window, Wish
from tui_fixtures import draft

HEIGHT = 20
DRAFTS = {number: draft(number) for number in range(4000)}
Shelf = list[int]


def read(shelf: Shelf, wish: Wish) -> Slice:
    """Return the desk's answer to a request; drafts are ordered by their numbers."""
    position = int(wish.place.key) if wish.place is not None and wish.place.key is not None else 0
    if wish.way in (Way.BEFORE, Way.END):
        preceding = [number for number in shelf if wish.way is Way.END or number < position]
        numbers, has_more = preceding[-PAGE:], len(preceding) > PAGE
    else:
        following = [number for number in shelf if number > position] if wish.way is Way.AFTER else shelf[wish.at :]
        numbers, has_more = following[:PAGE], len(following) > PAGE
    return Slice(
        tuple(DRAFTS[number] for number in numbers),
        tuple(Place(number, f"draft-{number}") for number in numbers),
        has_more,
    )


def look(window: Window, shelf: Shelf, top: int) -> int:
    """Scroll to `top` and load rows until none are requested; return the resulting top row."""
    for _ in range(10):
        top = max(min(top, window.total - HEIGHT), 0)
        request = window.wish(top, top + HEIGHT - 1)
        if request is None:
            return top
        top += window.take(request, read(shelf, request))
    raise AssertionError("it wants without end")


def opened(shelf: Shelf) -> Window:
    """Return a window with its first rows loaded."""
    window = Window(len(shelf))
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    return window


def known(window: Window, top: int) -> list[str]:
    """Return the ids on the screen; all rows must be loaded."""
    rows = window[top : top + HEIGHT]
    assert all(row is not None for row in rows)
    return [row.id for row in rows if row is not None]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 4000), st.lists(st.integers(0, 4000), max_size=12))
def test_visible_rows_are_loaded_and_correct(size: int, tops: list[int]) -> None:
    shelf = list(range(size))
    window = opened(shelf)
    for requested_top in tops:
        top = look(window, shelf, requested_top)
        assert known(window, top) == [f"draft-{number}" for number in shelf[top : top + HEIGHT]]
        assert window.total == size
        assert len(window.rows) <= MOST


@settings(max_examples=150, deadline=None)
@given(st.integers(300, 3000), st.lists(st.tuples(st.integers(-500, 3000), st.integers(0, 9)), min_size=1, max_size=12))
def test_concurrent_changes_keep_rows_unique_and_ordered(size: int, steps: list[tuple[int, int]]) -> None:
    """Removed rows stay until the next refresh; rows loaded around them must fit."""
    shelf = list(range(0, size, 2))
    window, top = opened(shelf), 0
    for move, threshold in steps:
        shelf = [number for number in range(size) if (number * 7919 + move) % 10 >= threshold]
        top = look(window, shelf, top + move)
        numbers = [int(draft_id.removeprefix("draft-")) for draft_id in known(window, top)]
        assert numbers == sorted(set(numbers))
        assert window.start >= 0
        assert window.stop <= window.total


def test_scrolling_visits_rows_once() -> None:
    shelf = list(range(2500))
    window = opened(shelf)
    visited = []
    for top in range(2500):
        look(window, shelf, top)
        row = window[top]
        assert row is not None
        visited.append(row.id)
    assert visited == [f"draft-{number}" for number in shelf]


def test_shortened_list_is_corrected_at_both_ends() -> None:
    window = opened(list(range(2000)))
    shelf = list(range(500, 1500))
    look(window, shelf, 1990)
    assert window[window.total - 1] == DRAFTS[1499]
    top = window.total - HEIGHT
    while top > 0:
        top = look(window, shelf, top - 50)
    assert window[0] == DRAFTS[500]


def test_next_rows_are_requested_early() -> None:
    shelf = list(range(1000))
    window = opened(shelf)
    assert window.wish(0, AHEAD - 1) is None
    request = window.wish(AHEAD - 10, AHEAD + 10)
    assert request == Wish(Way.AFTER, Place(PAGE - 1, f"draft-{PAGE - 1}"))
    window.take(request, read(shelf, request))
    assert window.wish(AHEAD - 10, AHEAD + 10) is None


def test_late_answer_for_dropped_rows_is_ignored() -> None:
    shelf = list(range(1000))
    window = opened(shelf)
    late = Wish(Way.AFTER, Place(7, "draft-7"))
    assert window.take(late, read(shelf, late)) == 0
    assert window.stop == PAGE


def test_hidden_list_keeps_few_rows() -> None:
    shelf = list(range(1000))
    window = opened(shelf)
    look(window, shelf, 500)
    window.shrink(505)
    assert len(window.rows) == KEPT
    assert window[505] == DRAFTS[505]
    assert window.total == 1000
    small = opened(list(range(7)))
    small.shrink(3)
    assert len(small.rows) == 7


def test_window_is_sequence_with_negative_indexes() -> None:
    window = Window(400)
    window.take(Wish(Way.END), read(list(range(400)), Wish(Way.END)))
    expected = [f"draft-{number}" for number in range(400 - PAGE, 400)]
    assert [row.id if row else None for row in window] == [None] * (400 - PAGE) + expected
    assert (window[-1], window[-400], window[398:]) == (DRAFTS[399], None, [DRAFTS[398], DRAFTS[399]])
    for index in (400, -401):
        with pytest.raises(IndexError):
            window[index]


def test_uncounted_list_is_corrected_by_count() -> None:
    shelf = list(range(1000))
    window = Window()
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    assert (window.total, window.sure) == (PAGE + 1, False)
    assert (window.count(1000), window.total, window.sure) == (0, 1000, True)


def test_rows_read_from_end_move_after_count() -> None:
    shelf = list(range(1000))
    window = Window()
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    window.take(Wish(Way.END), read(shelf, Wish(Way.END)))
    request = Wish(Way.BEFORE, window.places[0])
    window.take(request, read(shelf, request))
    assert window.total < 1000
    last = window.total - 1
    moved = window.count(1000)
    assert (window[last + moved], window[999], window.total) == (DRAFTS[999], DRAFTS[999], 1000)
    assert (look(window, shelf, 0), window[0]) == (0, DRAFTS[0])


def test_short_list_is_counted_when_loaded() -> None:
    for direction in (Way.START, Way.END):
        window = Window()
        window.take(Wish(direction), read([1, 2], Wish(direction)))
        assert (window.total, window.sure) == (2, True)


def test_empty_list_requests_nothing() -> None:
    window = opened([])
    assert window.wish(0, 20) is None
    assert len(window) == 0
