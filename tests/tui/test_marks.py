"""Tests for marks: single rows, ranges, and the whole list."""

from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.window import Place
from copydesk.tui.marks import Marks, Span

SIZE = 30


def place(at: int) -> Place:
    """Return the position of the row at `index`."""
    return Place(at, f"draft-{at}")


def marks() -> Marks:
    return Marks(lambda one, other: (one.key or 0) < (other.key or 0))


def span(first: int, last: int) -> Span:
    """Return the span from row `first` to row `last`."""
    return Span(place(first), place(last), first, last)


STEPS = st.one_of(
    st.integers(0, SIZE - 1),
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(lambda ends: tuple(sorted(ends))),
    st.just("all"),
    st.just("none"),
)


@given(st.lists(STEPS, max_size=15))
def test_marks_match_set_model(steps: list) -> None:
    actual, expected = marks(), set()
    for step in steps:
        if step == "all":
            actual.mark_all()
            expected = set(range(SIZE))
        elif step == "none":
            actual.clear()
            expected = set()
        elif isinstance(step, int):
            actual.toggle(place(step))
            expected ^= {step}
        else:
            actual.mark_span(span(*step))
            expected |= set(range(step[0], step[1] + 1))
        assert {index for index in range(SIZE) if actual.has(place(index))} == expected
        assert actual.count(SIZE) == len(expected)


def test_failed_rows_of_bulk_stay_marked() -> None:
    actual = marks()
    actual.mark_span(span(3, 9))
    actual.mark_only({"draft-4": place(4), "draft-7": None})
    assert [index for index in range(SIZE) if actual.has(place(index))] == [4, 7]


def test_range_absorbs_marked_ids() -> None:
    actual = marks()
    actual.mark_only({"draft-4": place(4)})
    actual.mark_span(span(3, 9))
    assert actual.count(SIZE) == 7


def test_range_moves_with_corrected_positions() -> None:
    actual = marks()
    actual.mark_span(span(3, 9))
    actual.move(100, place(0))
    assert actual.count(SIZE) == 7
    actual.mark_span(Span(place(8), place(12), 108, 112))
    assert actual.count(SIZE) == 10


def test_range_before_moved_rows_stays() -> None:
    actual = marks()
    actual.mark_span(span(1, 3))
    actual.mark_span(span(5, 9))
    actual.move(100, place(8))
    assert [(moved.first_at, moved.last_at) for moved in actual.spans] == [(1, 3), (5, 109)]


def test_removed_rows_lose_marks() -> None:
    actual = marks()
    actual.mark_span(span(3, 9))
    actual.mark_span(span(20, 25))
    actual.toggle(place(4))
    actual.toggle(place(12))
    actual.toggle(place(14))
    assert actual.single() == ("draft-12", "draft-14", "draft-4")
    spans = {span(20, 25): None, span(3, 9): Span(place(3), place(9), 2, 6)}
    actual.settle(spans, {"draft-12": None, "draft-14": place(11), "draft-4": None})
    assert actual.count(SIZE) == 6
    assert list(actual.ids) == ["draft-14"]
    assert not actual.but
