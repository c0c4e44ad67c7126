"""Tests for the estimates of means."""

from math import lgamma
from random import Random
from statistics import fmean

import pytest

from copydesk.experiments.posterior import (
    PostRate,
    _Grid,
    compare,
    credible_interval,
    sample_count,
    sample_proportion,
    sample_rates,
    sample_share,
)


def test_proportion_is_a_beta_distribution():
    draws = sample_proportion(12, 20, Random(1), 20_000)
    assert fmean(draws) == pytest.approx(12.5 / 21, abs=0.005)
    # Quantiles of Beta(12.5, 8.5).
    assert credible_interval(draws) == pytest.approx((0.383, 0.789), abs=0.01)


def test_likelihood_is_that_of_the_beta_binomial():
    """Its differences between means, against the definition."""

    def log_beta(a: float, b: float) -> float:
        return lgamma(a) + lgamma(b) - lgamma(a + b)

    posts, shape = [PostRate(3, 50), PostRate(0, 9), PostRate(12, 200)], 2.0
    grid = _Grid(posts)

    def defined(mean: float) -> float:
        other = shape * (1 - mean) / mean
        return sum(
            log_beta(post.interactions + shape, post.impressions - post.interactions + other) - log_beta(shape, other)
            for post in posts
        )

    assert grid._log_likelihood(0.05, shape) - grid._log_likelihood(0.1, shape) == pytest.approx(
        defined(0.05) - defined(0.1)
    )


def test_rates_are_estimated_by_post():
    """One post with most of the impressions is one post."""
    posts = [PostRate(5, 100)] * 19 + [PostRate(1_000, 100_000)]
    (draws,) = sample_rates([posts], Random(1))
    assert 0.035 < fmean(draws) < 0.06


def test_more_posts_narrow_the_interval():
    few, many = (sample_rates([[PostRate(5, 100), PostRate(9, 100)] * count], Random(1))[0] for count in (5, 40))
    widths = [high - low for low, high in map(credible_interval, (few, many))]
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("posts", [[PostRate(0, 10)] * 10, [PostRate(10, 10)] * 10, [PostRate(0, 1)]])
def test_extreme_rates_have_an_estimate(posts):
    (draws,) = sample_rates([posts], Random(1))
    assert all(0 < draw < 1 for draw in draws)


def test_shares_of_none_and_all_are_a_proportion():
    shares = credible_interval(sample_share([1.0] * 7 + [0.0] * 13, Random(1), 20_000))
    assert shares == pytest.approx(credible_interval(sample_proportion(7, 20, Random(2), 20_000)), abs=0.01)


def test_shares_without_any_change_are_not_certain():
    low, high = credible_interval(sample_share([0.0] * 10, Random(1)))
    assert 0 < low < 0.01
    assert 0.1 < high < 0.4


def test_typical_count_is_not_the_mean():
    draws = sample_count([3] * 19 + [9_000], Random(1))
    assert 2 < fmean(draws) < 12


def test_comparison_names_the_best():
    worse, better = compare([[1.0, 2.0, 1.0], [2.0, 3.0, 0.5]])
    assert (worse.p_best, better.p_best) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert worse.expected_loss == pytest.approx(2 / 3)
    assert better.expected_loss == pytest.approx(0.5 / 3)
    assert compare([[1.0], [2.0]], lower_is_better=True)[0].p_best == 1


def test_variants_that_share_the_best_value_have_even_chances():
    assert [estimate.p_best for estimate in compare([[0.0, 2.0], [0.0, 1.0]])] == [0.75, 0.25]


def test_lift_is_unknown_if_the_control_may_be_zero():
    control, other = compare([[0.0, 1.0] * 20, [1.0, 2.0] * 20])
    assert (control.lift_low, control.lift_high, other.lift_low, other.lift_high) == (None,) * 4


def test_lift_does_not_depend_on_a_rare_control_of_zero():
    _, other = compare([[0.0] + [1.0] * 99, [2.0] * 100])
    assert (other.lift_low, other.lift_high) == (1, 1)
