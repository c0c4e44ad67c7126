"""The measure of other tests: it tells work that grows with its input from work that grows faster."""

from functools import cache

import pytest

from copydesk.text import digest
from growth import assert_in_proportion, assert_no_dearer


def test_work_in_proportion_passes_however_long_it_takes() -> None:
    assert_in_proportion(range, sum, 200_000)
    assert_in_proportion(range, sum, 800)
    assert_in_proportion(range, lambda _: None, 8)


def test_work_that_grows_with_the_square_does_not() -> None:
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_in_proportion(range, lambda each: [number in [-1] * len(each) for number in each], 1_600)


def test_work_of_which_the_result_is_kept_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    @cache
    def kept(text: str) -> list[bool]:
        return [letter in ["b"] * len(text) for letter in text]

    monkeypatch.setattr(digest, "kept", kept, raising=False)
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_in_proportion("a".__mul__, kept, 1_600)


def test_work_that_has_a_limit_costs_no_more_beyond_it() -> None:
    assert_no_dearer(range, lambda each: sum(each[:1_000]), 80_000)
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_no_dearer(range, sum, 80_000)
