"""Tests for experiment results: counts and raw rates at any time, estimates and a verdict as planned."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from copydesk.experiments.results import build_results, is_decided
from copydesk.model.experiment import (
    DraftMetrics,
    ExperimentPlan,
    ExperimentResults,
    Metric,
    Participant,
    Variant,
    VerdictKind,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
VARIANTS = tuple(Variant(id=name, label=name.upper(), config={"hook": name}) for name in "abc")
IMPRESSIONS = 400


def reviewed(variant: str, minute: int, edit_ratio: float = 0.0, *, accepted: bool = True) -> Participant:
    at = NOW - timedelta(days=9) + timedelta(minutes=minute)
    return Participant(variant_id=variant, stratum="SHORT:", decided_at=at, is_accepted=accepted, edit_ratio=edit_ratio)


def posted(variant: str, minute: int, interactions: int, impressions: int | None = IMPRESSIONS) -> Participant:
    at = NOW - timedelta(days=9) + timedelta(minutes=minute)
    metrics = DraftMetrics(interactions=interactions, impressions=impressions, complete_at=at)
    return Participant(
        variant_id=variant,
        stratum="SHORT:",
        decided_at=at,
        is_accepted=True,
        is_published=True,
        published_on=("x",),
        metrics=metrics,
    )


def evaluate(
    participants: Iterable[Participant],
    *,
    metric: Metric = Metric.ACCEPTANCE,
    posts: int = 20,
    variants: int = 2,
    assigned: dict[str, int] | None = None,
) -> ExperimentResults:
    plan = ExperimentPlan(metric=metric, posts_per_variant=posts)
    return build_results("experiment", "hook", VARIANTS[:variants], plan, list(participants), assigned or {}, NOW)


def review_both(count: int, unedited: dict[str, int]) -> list[Participant]:
    """Return `count` reviewed drafts of each variant, of which so many were accepted as they were."""
    return [
        reviewed(variant, number, 0.0 if number < share else 0.3)
        for variant, share in unedited.items()
        for number in range(count)
    ]


def publish_both(count: int, means: dict[str, int], *, impressions: int | None = IMPRESSIONS) -> list[Participant]:
    random = Random(1)
    return [
        posted(variant, number, round(mean * random.uniform(0.5, 1.5)), impressions)
        for variant, mean in means.items()
        for number in range(count)
    ]


def test_counts_are_shown_at_any_time():
    drafts = [
        reviewed("a", 1),
        reviewed("a", 2, 0.5),
        reviewed("a", 3, accepted=False),
        Participant(variant_id="a", stratum="SHORT:"),
        Participant(variant_id="a", stratum="SHORT:", has_text=False),
        posted("b", 4, 12),
        Participant(variant_id="b", stratum="SHORT:", is_published=True, is_too_young=True),
        Participant(variant_id="b", stratum="SHORT:", is_published=True),
    ]
    a, b = evaluate(drafts, assigned={"a": 6, "b": 3}).arms
    assert (a.is_control, b.is_control) == (True, False)
    assert (a.assigned, a.drafted, a.accepted, a.unedited, a.rejected) == (6, 4, 2, 1, 1)
    assert (b.published, b.measured, b.too_young, b.no_metrics, b.interactions, b.impressions) == (3, 1, 1, 1, 12, 400)


def test_rates_are_hidden_below_ten_posts():
    nine, ten = (evaluate(publish_both(count, {"a": 12, "b": 12})).arms[0] for count in (9, 10))
    hidden = (nine.acceptance_rate, nine.edit_distance, nine.mean_edit_ratio, nine.rate_pooled, nine.rate_median_post)
    assert (*hidden, nine.interactions_per_post) == (None,) * 6
    shown = (ten.acceptance_rate, ten.edit_distance, ten.mean_edit_ratio, ten.rate_pooled, ten.rate_median_post)
    assert None not in (*shown, ten.interactions_per_post)


def test_lift_over_no_interactions_is_unknown():
    (_, b) = evaluate(publish_both(20, {"a": 0, "b": 12}, impressions=None), metric=Metric.ENGAGEMENT).arms
    assert b.estimate is not None
    assert (b.estimate.lift, b.estimate.lift_low, b.estimate.lift_high) == (None, None, None)


def test_rates_are_over_decided_drafts():
    drafts = [reviewed("a", number, 0.25 if number < 8 else 0.0, accepted=number < 16) for number in range(20)]
    (a, _) = evaluate(drafts).arms
    assert a.acceptance_rate == 0.4
    assert a.edit_distance == pytest.approx((8 * 0.25 + 4) / 20)
    assert a.mean_edit_ratio == pytest.approx(8 * 0.25 / 16)


def test_nothing_is_said_below_ten_posts():
    results = evaluate(review_both(9, {"a": 9, "b": 0}))
    assert results.verdict.kind is VerdictKind.NOT_ENOUGH_DATA
    assert results.sentence == "Not enough data: 9 of 20 reviewed drafts per variant. Nothing can be said yet."
    assert (results.comparison, results.arms[0].estimate) == (None, None)


def test_no_verdict_between_comparisons():
    """Of 40 planned posts a comparison is due after 10, 20, 30 and 40. A difference that begins at 11 waits for 20."""
    for count in range(11, 20):
        results = evaluate(review_both(10, {"a": 5, "b": 5}) + review_both(count, {"a": 0, "b": 0})[:0], posts=40)
        drafts = review_both(10, {"a": 5, "b": 5})
        drafts += [reviewed(variant, number, 0.3 * (variant == "a")) for variant in "ab" for number in range(10, count)]
        assert evaluate(drafts, posts=40).comparison == results.comparison
        assert evaluate(drafts, posts=40).verdict.kind is VerdictKind.TOO_EARLY
    assert results.comparison is not None
    assert results.sentence.startswith("No difference at comparison 1 of 4: 10 of 40 reviewed drafts per variant.")


def test_better_variant_is_named():
    results = evaluate(review_both(20, {"a": 4, "b": 18}))
    assert (results.verdict.kind, results.verdict.variant) == (VerdictKind.BETTER, "b")
    assert results.sentence.startswith("“B” is better: accepted without edits ")
    assert is_decided(results)
    a, b = (arm.estimate for arm in results.arms)
    assert a.low < 0.2 < a.high < b.low < 0.9 < b.high
    assert b.p_best > 0.99 > a.p_best
    assert b.expected_loss < 0.01
    assert a.expected_loss > 0.5
    assert (a.lift, b.lift_low > 0) == (0, True)


def test_fewer_edits_are_better():
    drafts = [reviewed(variant, n, ratio) for variant, ratio in (("a", 0.1), ("b", 0.6)) for n in range(20)]
    results = evaluate(drafts, metric=Metric.EDITS)
    assert (results.verdict.variant, results.metric.higher_is_better) == ("a", False)


def test_no_difference_names_the_smallest_lift():
    results = evaluate(review_both(20, {"a": 10, "b": 10}))
    assert results.verdict.kind is VerdictKind.NO_DIFFERENCE_SEEN
    assert 0.5 < results.verdict.smallest_lift - 1 < 1.1
    assert results.sentence.startswith("No difference seen in 20 of 20 reviewed drafts per variant. A difference of ")


def test_difference_without_a_best_variant():
    results = evaluate(review_both(20, {"a": 1, "b": 16, "c": 16}), variants=3)
    assert results.verdict.kind is VerdictKind.BEST_UNCLEAR
    assert "B or C" in results.sentence
    assert (results.verdict.next_comparison, is_decided(results)) == (None, True)


def test_difference_without_a_best_variant_is_compared_again():
    def review(count: int) -> ExperimentResults:
        drafts = review_both(20, {"a": 1, "b": 16, "c": 16})
        later = {"a": 0.3, "b": 0.0, "c": 0.3}
        drafts += [reviewed(name, number, edited) for name, edited in later.items() for number in range(20, count)]
        return evaluate(drafts, posts=40, variants=3)

    first = review(20)
    assert (first.verdict.kind, first.comparison.posts, is_decided(first)) == (VerdictKind.BEST_UNCLEAR, 20, False)
    assert first.sentence.endswith("Comparison 2 of 4, 20 reviewed drafts per variant. The next comparison is at 30.")
    assert review(29).verdict == first.verdict
    second = review(30)
    assert (second.verdict.kind, second.verdict.variant, second.comparison.posts) == (VerdictKind.BETTER, "b", 30)
    assert is_decided(second)
    assert review(40).comparison == second.comparison


@pytest.mark.parametrize("later", [0.0, 0.9])
def test_verdict_of_a_comparison_is_not_changed_by_later_data(later):
    drafts = review_both(20, {"a": 4, "b": 18})
    taken = evaluate(drafts)
    drafts += [reviewed(variant, number, later) for variant in "ab" for number in range(100, 200)]
    again = evaluate(drafts)
    assert (again.comparison, again.verdict, [arm.estimate for arm in again.arms]) == (
        taken.comparison,
        taken.verdict,
        [arm.estimate for arm in taken.arms],
    )


def test_engagement_is_compared_as_a_rate():
    results = evaluate(publish_both(20, {"a": 8, "b": 24}), metric=Metric.ENGAGEMENT)
    assert (results.metric.denominator, results.metric.age_hours) == ("impressions", 48)
    assert results.verdict.variant == "b"
    assert results.arms[1].estimate.low < 0.06 < results.arms[1].estimate.high


def test_post_measured_later_does_not_change_the_unit_of_the_comparison():
    posts = publish_both(20, {"a": 8, "b": 24})
    taken = evaluate(posts, metric=Metric.ENGAGEMENT)
    again = evaluate([*posts, posted("a", 500, 9, None)], metric=Metric.ENGAGEMENT)
    assert (again.metric, again.sentence, again.warnings) == (taken.metric, taken.sentence, taken.warnings)


def test_interactions_are_compared_without_impressions():
    results = evaluate(publish_both(20, {"a": 8, "b": 24}, impressions=None), metric=Metric.ENGAGEMENT)
    assert results.metric.denominator == "none"
    assert (results.arms[0].impressions, results.arms[0].rate_pooled) == (None, None)
    assert results.verdict.variant == "b"
    assert "typical interactions per post" in results.sentence


def test_posts_read_at_once_may_lack_impressions():
    posts = [posted("a", 0, 5, impressions) for impressions in (IMPRESSIONS, None, 0)]
    results = evaluate(posts, metric=Metric.ENGAGEMENT)
    assert [arm.measured for arm in results.arms] == [3, 0]


def test_few_interactions_say_nothing():
    results = evaluate(publish_both(20, {"a": 0, "b": 1}), metric=Metric.ENGAGEMENT)
    assert results.verdict.kind is VerdictKind.NOT_ENOUGH_DATA


def warning_codes(results: ExperimentResults) -> set[str]:
    return {warning.code for warning in results.warnings}


def test_unequal_split_is_warned_of():
    drafts = [reviewed("a", number) for number in range(18)] + [reviewed("b", number) for number in range(2)]
    (warning,) = evaluate(drafts).warnings
    assert (warning.code, warning.message) == (
        "assignment_ratio",
        "The drafts are split 18 : 2, which is unlikely by chance (p = 0.0004): the comparison may not be fair.",
    )
    assert warning_codes(evaluate(review_both(10, {"a": 5, "b": 5}))) == set()


def test_review_as_a_filter_is_warned_of():
    drafts = publish_both(20, {"a": 12, "b": 12})
    drafts += [reviewed("a", number, accepted=False) for number in range(20)]
    drafts += [Participant(variant_id="b", stratum="SHORT:") for _ in range(20)]
    assert warning_codes(evaluate(drafts, metric=Metric.ENGAGEMENT)) == {"acceptance_differs"}
    assert warning_codes(evaluate(drafts)) == set()


def test_posts_that_mislead_are_warned_of():
    drafts = publish_both(10, {"a": 12, "b": 12}, impressions=None)
    drafts[0] = posted("a", 0, 9_000, None)
    assert warning_codes(evaluate(drafts, metric=Metric.ENGAGEMENT)) == {"missing_impressions", "one_post_dominates"}


def test_heavy_edits_and_another_writer_are_warned_of():
    drafts = [
        Participant(variant_id=variant, stratum="SHORT:", decided_at=NOW, is_accepted=True, edit_ratio=0.6, writer=name)
        for variant, name in (("a", "one"), ("b", "two"))
    ]
    assert warning_codes(evaluate(drafts, metric=Metric.ENGAGEMENT)) == {"heavy_edits", "model_changed"}
