"""Tests for marks: single rows, ranges, and the whole list."""

from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.filters import DraftPosition
from copydesk.tui.review.marks import Marks, Span

SIZE = 30


def position(index: int) -> DraftPosition:
    """Return the position of the row at `index`."""
    return DraftPosition(index, f"draft-{index}")


def empty_marks() -> Marks:
    return Marks(lambda one, other: (one.key or 0) < (other.key or 0))


def span(first: int, last: int) -> Span:
    """Return the span from row `first` to row `last`."""
    return Span(position(first), position(last), first, last)


STEPS = st.one_of(
    st.integers(0, SIZE - 1),
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(lambda ends: tuple(sorted(ends))),
    st.just("all"),
    st.just("none"),
)


@given(st.lists(STEPS, max_size=15))
def test_marks_match_set_model(steps: list) -> None:
    actual, expected = empty_marks(), set()
    for step in steps:
        if step == "all":
            actual.mark_all()
            expected = set(range(SIZE))
        elif step == "none":
            actual.clear()
            expected = set()
        elif isinstance(step, int):
            actual.toggle(position(step))
            expected ^= {step}
        else:
            actual.mark_span(span(*step))
            expected |= set(range(step[0], step[1] + 1))
        assert {index for index in range(SIZE) if actual.is_marked(position(index))} == expected
        assert actual.count(SIZE) == len(expected)


def test_failed_rows_of_bulk_stay_marked() -> None:
    actual = empty_marks()
    actual.mark_span(span(3, 9))
    actual.mark_only({"draft-4": position(4), "draft-7": None})
    assert [index for index in range(SIZE) if actual.is_marked(position(index))] == [4, 7]


def test_range_absorbs_marked_ids() -> None:
    actual = empty_marks()
    actual.mark_only({"draft-4": position(4)})
    actual.mark_span(span(3, 9))
    assert actual.count(SIZE) == 7


def test_range_moves_with_corrected_positions() -> None:
    actual = empty_marks()
    actual.mark_span(span(3, 9))
    actual.shift(100, position(0))
    assert actual.count(SIZE) == 7
    actual.mark_span(Span(position(8), position(12), 108, 112))
    assert actual.count(SIZE) == 10


def test_range_before_moved_rows_stays() -> None:
    actual = empty_marks()
    actual.mark_span(span(1, 3))
    actual.mark_span(span(5, 9))
    actual.shift(100, position(8))
    assert [(moved.first_index, moved.last_index) for moved in actual.spans] == [(1, 3), (5, 109)]


def test_removed_rows_lose_marks() -> None:
    actual = empty_marks()
    actual.mark_span(span(3, 9))
    actual.mark_span(span(20, 25))
    actual.toggle(position(4))
    actual.toggle(position(12))
    actual.toggle(position(14))
    assert actual.individual_ids() == ("draft-12", "draft-14", "draft-4")
    spans = {span(20, 25): None, span(3, 9): Span(position(3), position(9), 2, 6)}
    actual.update_positions(spans, {"draft-12": None, "draft-14": position(11), "draft-4": None})
    assert actual.count(SIZE) == 6
    assert list(actual.ids) == ["draft-14"]
    assert not actual.excluded
