"""Marks: on single rows, on ranges, on everything."""

from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.window import Place
from copydesk.tui.marks import Marks, Span

SIZE = 30


def place(at: int) -> Place:
    """Where the row at this position stands."""
    return Place(at, f"draft-{at}")


def marks() -> Marks:
    """Nothing is marked."""
    return Marks(lambda one, other: (one.key or 0) < (other.key or 0))


def span(first: int, last: int) -> Span:
    """From one row to another."""
    return Span(place(first), place(last), first, last)


STEPS = st.one_of(
    st.integers(0, SIZE - 1),
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(lambda ends: tuple(sorted(ends))),
    st.just("all"),
    st.just("none"),
)


@given(st.lists(STEPS, max_size=15))
def test_what_is_marked_is_what_a_set_of_rows_would_hold_and_counted_right(steps: list) -> None:
    made, held = marks(), set()
    for step in steps:
        if step == "all":
            made.mark_all()
            held = set(range(SIZE))
        elif step == "none":
            made.clear()
            held = set()
        elif isinstance(step, int):
            made.toggle(place(step))
            held ^= {step}
        else:
            made.mark_span(span(*step))
            held |= set(range(step[0], step[1] + 1))
        assert {at for at in range(SIZE) if made.has(place(at))} == held
        assert made.count(SIZE) == len(held)


def test_what_is_left_over_of_a_bulk_is_marked_by_its_ids() -> None:
    made = marks()
    made.mark_span(span(3, 9))
    made.mark_only({"draft-4": place(4), "draft-7": None})
    assert [at for at in range(SIZE) if made.has(place(at))] == [4, 7]


def test_what_is_left_over_of_a_bulk_becomes_part_of_a_range_over_it() -> None:
    made = marks()
    made.mark_only({"draft-4": place(4)})
    made.mark_span(span(3, 9))
    assert made.count(SIZE) == 7


def test_a_range_keeps_its_size_when_the_list_learns_that_it_stands_elsewhere() -> None:
    made = marks()
    made.mark_span(span(3, 9))
    made.move(100, place(0))
    assert made.count(SIZE) == 7
    made.mark_span(Span(place(8), place(12), 108, 112))
    assert made.count(SIZE) == 10


def test_what_stands_before_the_rows_that_move_stays() -> None:
    made = marks()
    made.mark_span(span(1, 3))
    made.mark_span(span(5, 9))
    made.move(100, place(8))
    assert [(each.first_at, each.last_at) for each in made.spans] == [(1, 3), (5, 109)]


def test_what_went_from_the_list_is_marked_no_more_and_the_rest_stands_where_it_stands_now() -> None:
    made = marks()
    made.mark_span(span(3, 9))
    made.mark_span(span(20, 25))
    made.toggle(place(4))
    made.toggle(place(12))
    made.toggle(place(14))
    assert made.single() == ("draft-12", "draft-14", "draft-4")
    gone = {span(20, 25): None, span(3, 9): Span(place(3), place(9), 2, 6)}
    made.settle(gone, {"draft-12": None, "draft-14": place(11), "draft-4": None})
    assert made.count(SIZE) == 6
    assert list(made.ids) == ["draft-14"]
    assert not made.but
