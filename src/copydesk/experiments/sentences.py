"""The plan and the verdict of an experiment in plain words."""

from copydesk.model.experiment import (
    Estimate,
    ExperimentPlan,
    ExperimentResults,
    LiftNeed,
    Metric,
    VariantResults,
    VerdictKind,
)
from copydesk.text.formatting import plural


def describe_plan(plan: ExperimentPlan) -> str:
    """Return the size, how long it takes, and what other sizes would find."""
    counted = plan.metric.counted
    size = f"{plural(plan.posts_per_variant, counted)} per variant"
    if plan.weeks is None:
        size += f"; how long that takes is not known before you have {counted}s"
    else:
        size += f", about {_weeks(plan.weeks)} at your {plan.posts_per_week:g} a week"
    needs = "; ".join(_need(plan.metric, need) for need in plan.needed)
    source = "" if plan.based_on else f" Typical figures are assumed until you have 20 {counted}s."
    return f"{size}. {counted.capitalize()}s per variant needed to detect {needs}.{source}"


def _need(metric: Metric, need: LiftNeed) -> str:
    more = f"{1 - 1 / need.lift:.0%} fewer" if metric is Metric.EDITS else f"{need.lift - 1:.0%} more"
    weeks = "" if need.weeks is None else f" ({_weeks(need.weeks)})"
    return f"{more}: {need.posts_per_variant:,}{weeks}"


def _weeks(weeks: float) -> str:
    return plural(max(round(weeks), 1), "week")


def describe_verdict(results: ExperimentResults, post_count: int) -> str:
    """Return the verdict in plain words; `post_count` is the number of posts of the variant with the fewest."""
    verdict, plan, made = results.verdict, results.plan, results.comparison
    counted = plan.metric.counted
    progress = f"{min(post_count, plan.posts_per_variant)} of {plural(plan.posts_per_variant, counted)} per variant"
    if verdict.kind is VerdictKind.NOT_ENOUGH_DATA:
        return f"Not enough data: {progress}. Nothing can be said yet."
    if verdict.kind is VerdictKind.TOO_EARLY:
        so_far = f"No difference at comparison {made.number} of {made.of}" if made else "Too early"
        return f"{so_far}: {progress}. The next comparison is at {verdict.next_comparison}."
    if verdict.kind is VerdictKind.NO_DIFFERENCE_SEEN:
        return f"No difference seen in {progress}. {_smallest(results)}"
    assert made is not None
    basis = f"Comparison {made.number} of {made.of}, {plural(made.posts, counted)} per variant."
    if verdict.kind is VerdictKind.BEST_UNCLEAR:
        best = sorted(results.arms, key=_chance, reverse=True)[:2]
        names = f"{best[0].name} or {best[1].name}"
        next_comparison = f" The next comparison is at {verdict.next_comparison}." if verdict.next_comparison else ""
        return f"The variants differ, but it is not clear which is the best: {names}. {basis}{next_comparison}"
    winner = next(arm for arm in results.arms if arm.id == verdict.variant)
    rest = [arm for arm in results.arms if arm is not winner]
    return f"“{winner.name}” is better: {_values(results, winner, rest)}. {basis}"


def _chance(arm: VariantResults) -> float:
    return arm.estimate.p_best if arm.estimate else 0.0


def _smallest(results: ExperimentResults) -> str:
    lift = results.verdict.smallest_lift
    if lift is None:
        return "It was too small to see any difference."
    return f"A {_change(results.plan.metric, lift)} would probably have been seen; a smaller one may have been missed."


def _change(metric: Metric, lift: float) -> str:
    if metric is Metric.EDITS:
        return f"difference of {1 - 1 / lift:.0%}"
    return f"difference of {lift - 1:.0%}"


def _values(results: ExperimentResults, winner: VariantResults, rest: list[VariantResults]) -> str:
    values = ", ".join(f"{_value(results, arm.estimate)} with {arm.name}" for arm in rest)
    chance = f"{_chance(winner):.0%}" if _chance(winner) < 0.995 else "over 99%"
    return (
        f"{_metric_label(results)} {_value(results, winner.estimate)}, {values};"
        f" the probability that it is the best is {chance}"
    )


def _metric_label(results: ExperimentResults) -> str:
    if results.plan.metric is Metric.ACCEPTANCE:
        return "accepted without edits"
    if results.plan.metric is Metric.EDITS:
        return "words changed"
    return "engagement rate" if results.metric.denominator == "impressions" else "typical interactions per post"


def _value(results: ExperimentResults, estimate: Estimate | None) -> str:
    assert estimate is not None
    if results.metric.denominator == "none":
        return f"{estimate.value:.1f}"
    return f"{estimate.value:.2%}" if estimate.value < 0.0995 else f"{estimate.value:.0%}"
