"""Tests for permutation tests: of the difference between variants, and of how drafts are split."""

from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.statistics.permutation import assignment_p, permutation_p

VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=8)


def test_p_is_that_of_all_assignments():
    """Of the 70 ways to choose four of eight, only two separate them completely."""
    p = permutation_p([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]], Random(1))
    assert p == pytest.approx(2 / comb(8, 4), abs=0.01)


def test_equal_values_do_not_differ():
    assert permutation_p([[[1.0] * 5, [1.0] * 5]], Random(1)) == 1.0
    assert permutation_p([], Random(1)) == 1.0


def test_strata_are_compared_within():
    """A variant that is only more often on the better platform is not better."""
    mixed = [[[1.0] * 9 + [10.0], [1.0] + [10.0] * 9]]
    separate = [[[1.0] * 9, [1.0]], [[10.0], [10.0] * 9]]
    assert permutation_p(mixed, Random(1)) < 0.01
    assert permutation_p(separate, Random(1)) == 1.0


@given(st.lists(VALUES, min_size=2, max_size=5), st.integers(0, 5))
def test_p_is_a_probability_and_the_same_each_time(groups, seed):
    p = permutation_p([groups], Random(seed))
    assert 0 < p <= 1
    assert p == permutation_p([groups], Random(seed))


def test_p_is_valid_without_a_difference():
    random = Random(7)
    groups = [[[random.gauss(0, 1) for _ in range(10)] for _ in range(2)] for _ in range(300)]
    assert sum(permutation_p([pair], random) < 0.1 for pair in groups) / 300 < 0.15


def test_split_of_two_variants_is_binomial():
    assert assignment_p([18, 2], Random(1)) == pytest.approx(2 * (1 + 20 + 190) / 2**20)
    assert assignment_p([10, 10], Random(1)) == 1.0
    assert assignment_p([0, 0], Random(1)) == 1.0


def test_split_of_several_variants():
    assert assignment_p([28, 6, 6], Random(1)) < 0.001
    assert assignment_p([14, 13, 13], Random(1)) > 0.5
