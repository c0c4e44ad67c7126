"""The measure of other tests: it tells work that grows with its input from work that grows faster."""

import pytest

from growth import assert_in_proportion


def test_work_in_proportion_passes_however_long_it_takes() -> None:
    assert_in_proportion(range, sum, 200_000)
    assert_in_proportion(range, sum, 800)
    assert_in_proportion(range, lambda _: None, 8)


def test_work_that_grows_with_the_square_does_not() -> None:
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_in_proportion(range, lambda each: [number in [-1] * len(each) for number in each], 1_600)
