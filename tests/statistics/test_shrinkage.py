"""Tests for shrinking the means of groups."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.statistics.shrinkage import GroupEstimate, shrink_means

GROUPS = st.dictionaries(st.integers(0, 9), st.lists(st.floats(-100, 100), max_size=8), max_size=9)


def test_equal_groups_have_no_difference():
    assert shrink_means({"a": [1.0, 3.0], "b": [3.0, 1.0]}) == {
        "a": GroupEstimate(0.0, 0.0, 2),
        "b": GroupEstimate(0.0, 0.0, 2),
    }


def test_single_values_tell_nothing():
    assert [estimate.mean for estimate in shrink_means({"a": [1.0], "b": [9.0]}).values()] == [0.0, 0.0]
    assert shrink_means({"a": [1.0, 9.0]})["a"].mean == 0.0
    assert shrink_means({"a": []}) == {}


def test_smaller_group_keeps_less_of_its_difference():
    random = Random(1)
    groups = {
        name: [random.gauss(mean, 1.0) for _ in range(40)] for name, mean in (("a", -2.0), ("b", 0.0), ("c", 1.0))
    }
    few = [2.0, 4.0]
    estimates = shrink_means({**groups, "few": few})
    overall = sum(sum(values) for values in (*groups.values(), few)) / 122
    kept = {name: estimates[name].mean / (sum(values) / len(values) - overall) for name, values in groups.items()}
    assert all(share > 0.9 for share in kept.values())
    assert 0.3 < estimates["few"].mean / (3.0 - overall) < 0.95


def test_error_is_smaller_than_true_error_of_means():
    """Estimates of 40 groups with a known variance between them are closer to the truth than their raw means."""
    random = Random(2)
    truth = {number: random.gauss(0.0, 0.5) for number in range(40)}
    groups = {number: [random.gauss(mean, 1.0) for _ in range(4)] for number, mean in truth.items()}
    centre = sum(truth.values()) / 40
    estimates = shrink_means(groups)
    shrunk = sum((estimates[number].mean - mean + centre) ** 2 for number, mean in truth.items())
    overall = sum(map(sum, groups.values())) / 160
    raw = sum((sum(groups[number]) / 4 - overall - mean + centre) ** 2 for number, mean in truth.items())
    assert shrunk < 0.75 * raw


@given(GROUPS)
def test_estimates_lie_between_zero_and_raw_difference(groups):
    filled = {key: values for key, values in groups.items() if values}
    overall = sum(map(sum, filled.values())) / max(sum(map(len, filled.values())), 1)
    estimates = shrink_means(groups)
    assert estimates.keys() == filled.keys()
    for key, values in filled.items():
        raw = sum(values) / len(values) - overall
        assert abs(estimates[key].mean) <= abs(raw) + 1e-6
        assert estimates[key].mean == pytest.approx(0.0, abs=1e-6) or estimates[key].mean * raw > 0
