"""The window over a long list: what is known of it is right, and what is looked at gets known."""

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
    """What the desk would say; drafts stand in the order of their numbers."""
    stands = int(wish.place.key) if wish.place is not None and wish.place.key is not None else 0
    if wish.way in (Way.BEFORE, Way.END):
        before = [each for each in shelf if wish.way is Way.END or each < stands]
        some, more = before[-PAGE:], len(before) > PAGE
    else:
        after = [each for each in shelf if each > stands] if wish.way is Way.AFTER else shelf[wish.at :]
        some, more = after[:PAGE], len(after) > PAGE
    return Slice(tuple(DRAFTS[each] for each in some), tuple(Place(each, f"draft-{each}") for each in some), more)


def look(window: Window, shelf: Shelf, top: int) -> int:
    """Look at a screen of rows until nothing more is wanted; where its top is then."""
    for _ in range(10):
        top = max(min(top, window.total - HEIGHT), 0)
        wish = window.wish(top, top + HEIGHT - 1)
        if wish is None:
            return top
        top += window.take(wish, read(shelf, wish))
    raise AssertionError("it wants without end")


def opened(shelf: Shelf) -> Window:
    """The window as it is at first."""
    window = Window(len(shelf))
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    return window


def known(window: Window, top: int) -> list[str]:
    """The ids on the screen; every row has to be known."""
    rows = window[top : top + HEIGHT]
    assert all(row is not None for row in rows)
    return [row.id for row in rows if row is not None]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 4000), st.lists(st.integers(0, 4000), max_size=12))
def test_wherever_one_looks_the_right_rows_are_there(size: int, tops: list[int]) -> None:
    shelf = list(range(size))
    window = opened(shelf)
    for asked in tops:
        top = look(window, shelf, asked)
        assert known(window, top) == [f"draft-{each}" for each in shelf[top : top + HEIGHT]]
        assert window.total == size
        assert len(window.rows) <= MOST


@settings(max_examples=150, deadline=None)
@given(st.integers(300, 3000), st.lists(st.tuples(st.integers(-500, 3000), st.integers(0, 9)), min_size=1, max_size=12))
def test_while_drafts_go_and_come_no_row_is_shown_twice_or_out_of_order(
    size: int, steps: list[tuple[int, int]]
) -> None:
    """What goes stays on the screen until it is read anew; what is read around it fits to it."""
    shelf = list(range(0, size, 2))
    window, top = opened(shelf), 0
    for move, every in steps:
        shelf = [each for each in range(size) if (each * 7919 + move) % 10 >= every]
        top = look(window, shelf, top + move)
        numbers = [int(draft_id.removeprefix("draft-")) for draft_id in known(window, top)]
        assert numbers == sorted(set(numbers))
        assert window.start >= 0
        assert window.stop <= window.total


def test_step_by_step_through_all_of_it_each_row_is_seen_once() -> None:
    shelf = list(range(2500))
    window = opened(shelf)
    seen = []
    for top in range(2500):
        look(window, shelf, top)
        row = window[top]
        assert row is not None
        seen.append(row.id)
    assert seen == [f"draft-{number}" for number in shelf]


def test_a_list_that_became_shorter_is_put_right_at_its_end_and_at_its_beginning() -> None:
    window = opened(list(range(2000)))
    shelf = list(range(500, 1500))
    look(window, shelf, 1990)
    assert window[window.total - 1] == DRAFTS[1499]
    top = window.total - HEIGHT
    while top > 0:
        top = look(window, shelf, top - 50)
    assert window[0] == DRAFTS[500]


def test_the_next_rows_are_wanted_before_one_gets_there() -> None:
    shelf = list(range(1000))
    window = opened(shelf)
    assert window.wish(0, AHEAD - 1) is None
    wish = window.wish(AHEAD - 10, AHEAD + 10)
    assert wish == Wish(Way.AFTER, Place(PAGE - 1, f"draft-{PAGE - 1}"))
    window.take(wish, read(shelf, wish))
    assert window.wish(AHEAD - 10, AHEAD + 10) is None


def test_an_answer_for_rows_that_are_gone_is_left_out() -> None:
    shelf = list(range(1000))
    window = opened(shelf)
    late = Wish(Way.AFTER, Place(7, "draft-7"))
    assert window.take(late, read(shelf, late)) == 0
    assert window.stop == PAGE


def test_of_a_list_that_is_not_looked_at_little_is_kept() -> None:
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


def test_it_is_a_sequence_that_ends_and_that_can_be_counted_from_its_end() -> None:
    window = Window(400)
    window.take(Wish(Way.END), read(list(range(400)), Wish(Way.END)))
    known = [f"draft-{each}" for each in range(400 - PAGE, 400)]
    assert [row.id if row else None for row in window] == [None] * (400 - PAGE) + known
    assert (window[-1], window[-400], window[398:]) == (DRAFTS[399], None, [DRAFTS[398], DRAFTS[399]])
    for past in (400, -401):
        with pytest.raises(IndexError):
            window[past]


def test_a_list_that_was_not_counted_is_put_right_when_it_is() -> None:
    shelf = list(range(1000))
    window = Window()
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    assert (window.total, window.sure) == (PAGE + 1, False)
    assert (window.count(1000), window.total, window.sure) == (0, 1000, True)


def test_where_the_end_was_read_first_its_rows_move_to_where_they_stand() -> None:
    shelf = list(range(1000))
    window = Window()
    window.take(Wish(Way.START), read(shelf, Wish(Way.START)))
    window.take(Wish(Way.END), read(shelf, Wish(Way.END)))
    wish = Wish(Way.BEFORE, window.places[0])
    window.take(wish, read(shelf, wish))
    assert window.total < 1000
    last = window.total - 1
    moved = window.count(1000)
    assert (window[last + moved], window[999], window.total) == (DRAFTS[999], DRAFTS[999], 1000)
    assert (look(window, shelf, 0), window[0]) == (0, DRAFTS[0])


def test_a_short_list_is_counted_when_it_is_read() -> None:
    for way in (Way.START, Way.END):
        window = Window()
        window.take(Wish(way), read([1, 2], Wish(way)))
        assert (window.total, window.sure) == (2, True)


def test_of_an_empty_list_nothing_is_wanted() -> None:
    window = opened([])
    assert window.wish(0, 20) is None
    assert len(window) == 0
