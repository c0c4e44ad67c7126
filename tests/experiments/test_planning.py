"""Tests for the plan of an experiment."""

from datetime import UTC, datetime, timedelta

import pytest

from copydesk.experiments.planning import build_plan, plan_comparisons, posts_needed, read_history, smallest_lift
from copydesk.model.experiment import DraftMetrics, Metric, MetricHistory, Participant

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
POSTS = MetricHistory(mean=12, deviation=0.7)
REVIEWS = MetricHistory(mean=0.6, deviation=0.49)


def reviewed(days: float, *, edit_ratio: float = 0.0, accepted: bool = True) -> Participant:
    at = NOW - timedelta(days=days)
    return Participant(variant_id="", stratum="", decided_at=at, is_accepted=accepted, edit_ratio=edit_ratio)


@pytest.mark.parametrize(("lift", "posts"), [(1.25, 152), (1.5, 47), (2.0, 16)])
def test_posts_needed_for_more_engagement(lift, posts):
    assert posts_needed(Metric.ENGAGEMENT, lift, POSTS) == posts


def test_a_quarter_more_acceptance_needs_150_posts():
    assert posts_needed(Metric.ACCEPTANCE, 1.25, REVIEWS) == 150


def test_comparisons_are_at_quarters_with_growing_thresholds():
    comparisons = plan_comparisons(40)
    assert [comparison.posts for comparison in comparisons] == [10, 20, 30, 40]
    thresholds = [comparison.threshold for comparison in comparisons]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] < 0.0001
    assert 0.03 < thresholds[-1] < 0.04


def test_comparisons_below_ten_posts_are_left_out():
    assert [(comparison.number, comparison.posts) for comparison in plan_comparisons(20)] == [(2, 10), (3, 15), (4, 20)]
    assert [comparison.number for comparison in plan_comparisons(10)] == [4]


def test_plan_in_words():
    history = MetricHistory(mean=12, deviation=0.7, sample_size=64, per_week=4.0)
    plan = build_plan(Metric.ENGAGEMENT, 2, 46, history)
    assert plan.sentence == (
        "46 measured posts per variant, about 23 weeks at your 4 a week. Measured posts per variant"
        " needed to detect 25% more: 152 (76 weeks); 50% more: 47 (24 weeks); 100% more: 16 (8 weeks)."
    )


def test_plan_without_history_says_so():
    plan = build_plan(Metric.ACCEPTANCE, 3, None, read_history(Metric.ACCEPTANCE, [], NOW))
    assert (plan.based_on, plan.weeks, plan.posts_per_variant) == (0, None, 79)
    assert "not known before you have reviewed drafts" in plan.sentence
    assert "Typical figures are assumed until you have 20 reviewed drafts." in plan.sentence


def test_acceptance_cannot_be_lifted_beyond_the_whole():
    plan = build_plan(Metric.ACCEPTANCE, 2, None, MetricHistory(mean=0.9, deviation=0.3))
    assert [need.lift for need in plan.needed] == [pytest.approx(0.95 / 0.9)]


def test_plan_after_48_drafts_that_were_all_accepted():
    history = read_history(Metric.ACCEPTANCE, [reviewed(day) for day in range(48)], NOW)
    (need,) = build_plan(Metric.ACCEPTANCE, 2, None, history).needed
    assert 1 - need.lift * history.mean == pytest.approx((1 - history.mean) / 2)
    assert need.posts_per_variant > posts_needed(Metric.ACCEPTANCE, 0.95 / 0.9, MetricHistory(0.9, 0.3))


def test_history_is_the_users_own():
    drafts = [reviewed(day, accepted=day % 4 != 0) for day in range(28)]
    history = read_history(Metric.ACCEPTANCE, drafts, NOW)
    assert (history.mean, history.sample_size) == (0.75, 28)
    assert history.per_week == pytest.approx(7.3, abs=0.1)


def test_short_history_gives_only_the_rate():
    history = read_history(Metric.ACCEPTANCE, [reviewed(1), reviewed(2), reviewed(100)], NOW)
    assert (history.mean, history.sample_size, history.per_week) == (0.6, 0, 2.0)


def test_spread_of_posts_is_the_users_own():
    def posted(number: int) -> Participant:
        metrics = DraftMetrics(interactions=12, impressions=400, complete_at=NOW - timedelta(days=number))
        return Participant(variant_id="", stratum="", published_on=("x",), metrics=metrics)

    history = read_history(Metric.ENGAGEMENT, [posted(number) for number in range(20)], NOW)
    assert (history.mean, history.sample_size) == (12, 20)
    assert history.deviation < 0.3


@pytest.mark.parametrize("metric", Metric)
def test_smallest_lift_is_the_inverse_of_posts_needed(metric):
    history = {Metric.ENGAGEMENT: POSTS, Metric.ACCEPTANCE: REVIEWS, Metric.EDITS: MetricHistory(0.3, 0.4)}[metric]
    lift = smallest_lift(metric, 150, history)
    assert 149 <= posts_needed(metric, lift, history) <= 150
    assert smallest_lift(Metric.ACCEPTANCE, 10, MetricHistory(mean=0.99, deviation=0.1)) is None
