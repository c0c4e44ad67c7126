"""The plan of an experiment: how many posts it needs, and when its variants are compared.

The comparisons have the thresholds of O'Brien and Fleming: comparing four times, and stopping at the first one below
its threshold, calls a difference in 4% of the experiments without one.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil, log, log1p, sqrt
from statistics import NormalDist, fmean, pstdev

import msgspec

from copydesk.experiments.observations import Observation, between_post_cv, observe
from copydesk.experiments.sentences import describe_plan
from copydesk.model.experiment import (
    MAX_PLANNED_POSTS,
    MIN_POSTS,
    Comparison,
    ExperimentPlan,
    LiftNeed,
    Metric,
    MetricHistory,
    Participant,
)

COMPARISONS = 4
_BOUNDARY = 2.14
"""Standard deviations at the last comparison; at comparison i of n, this times sqrt(n / i)."""
_POWER = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)) ** 2
"""For a power of 80% at 5%, times the sum of the variances of two variants."""
LIFTS = (1.25, 1.5, 2.0)
"""Lifts for which the posts needed are shown."""
DEFAULT_LIFT = 1.5
MAX_LIFT = 20.0
_MAX_ACCEPTANCE = 0.98
"""Highest acceptance that `smallest_lift` tries."""
MIN_HISTORY = 20
"""Drafts or posts below which typical values are assumed."""
RATE_WINDOW = timedelta(weeks=8)
_TYPICAL = {
    Metric.ACCEPTANCE: MetricHistory(mean=0.6, deviation=0.49),
    Metric.EDITS: MetricHistory(mean=0.3, deviation=0.4),
    Metric.ENGAGEMENT: MetricHistory(mean=12.0, deviation=0.7),
}


def plan_comparisons(posts_per_variant: int) -> tuple[Comparison, ...]:
    """Return the comparisons at a quarter, half, three quarters and all of the posts, without those below MIN_POSTS."""
    comparisons = []
    for number in range(1, COMPARISONS + 1):
        posts = ceil(posts_per_variant * number / COMPARISONS)
        threshold = 2 * (1 - NormalDist().cdf(_BOUNDARY * sqrt(COMPARISONS / number)))
        # At five posts it would have no chance to show anything, and invites reading something into it.
        if posts >= MIN_POSTS:
            comparisons.append(Comparison(number=number, posts=posts, threshold=threshold))
    return tuple(comparisons)


def build_plan(metric: Metric, variants: int, posts_per_variant: int | None, history: MetricHistory) -> ExperimentPlan:
    """Return the plan; by default as many posts as DEFAULT_LIFT needs."""
    needed: list[LiftNeed] = []
    for lift in LIFTS:
        reached = _reachable(metric, lift, history)
        # An acceptance of 0.9 cannot double: several lifts are then cut to the same one.
        if not any(other.lift == reached for other in needed):
            posts = posts_needed(metric, reached, history)
            needed.append(LiftNeed(lift=reached, posts_per_variant=posts, weeks=_weeks(posts * variants, history)))
    size = posts_per_variant or min(
        posts_needed(metric, _reachable(metric, DEFAULT_LIFT, history), history), MAX_PLANNED_POSTS
    )
    plan = ExperimentPlan(
        metric=metric,
        posts_per_variant=size,
        weeks=_weeks(size * variants, history),
        posts_per_week=history.per_week,
        needed=tuple(needed),
        based_on=history.sample_size,
    )
    return msgspec.structs.replace(plan, sentence=describe_plan(plan))


def _weeks(posts: int, history: MetricHistory) -> float | None:
    return round(posts / history.per_week, 1) if history.per_week else None


def posts_needed(metric: Metric, lift: float, history: MetricHistory) -> int:
    """Return how many posts per variant find `lift` in four of five experiments."""
    mean, deviation = history.mean, history.deviation
    if metric is Metric.ENGAGEMENT:
        # On the logarithmic scale: the spread between posts, and that of the counts themselves.
        variance = 2 * (log1p(deviation**2) + 1 / mean)
        difference = log(lift)
    elif metric is Metric.EDITS:
        variance, difference = 2 * deviation**2, mean - mean / lift
    else:
        other = mean * lift
        variance, difference = mean * (1 - mean) + other * (1 - other), other - mean
    return max(ceil(_POWER * variance / difference**2), MIN_POSTS)


def _reachable(metric: Metric, lift: float, history: MetricHistory) -> float:
    """Return the lift, for acceptance at most the one that halves what is not accepted."""
    return min(lift, (1 + history.mean) / 2 / history.mean) if metric is Metric.ACCEPTANCE else lift


def smallest_lift(metric: Metric, posts: int, history: MetricHistory) -> float | None:
    """Return the smallest lift that `posts` per variant find in four of five experiments, None if there is none."""
    low, high = 1.0, _MAX_ACCEPTANCE / history.mean if metric is Metric.ACCEPTANCE else MAX_LIFT
    if high <= low:
        return None
    if posts_needed(metric, high, history) > posts:
        return None
    # Bisection: 30 halvings are finer than any number that is shown. The formula has no closed inverse for acceptance.
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if posts_needed(metric, middle, history) <= posts else (middle, high)
    return high


def read_history(metric: Metric, participants: Sequence[Participant], now: datetime) -> MetricHistory:
    """Return the user's past values of the metric, or typical ones if there are fewer than MIN_HISTORY."""
    observations = sorted(observe(metric, participants), key=lambda observation: observation.at)
    recent = [observation.at for observation in observations if observation.at > now - RATE_WINDOW]
    # At least a week: ten drafts on the first day are no rate of seventy a week.
    weeks = max((now - min(recent)) / timedelta(weeks=1), 1.0) if recent else 1.0
    per_week = round(len(recent) / weeks, 1) if recent else None
    # With few drafts their own spread is noise, and a plan based on it would jump with every decision.
    history = measure(metric, observations) if len(observations) >= MIN_HISTORY else _TYPICAL[metric]
    return msgspec.structs.replace(history, per_week=per_week)


def measure(metric: Metric, observations: Sequence[Observation]) -> MetricHistory:
    """Return mean and deviation of the observations."""
    values = [observation.value for observation in observations]
    size = len(values)
    if metric is Metric.ENGAGEMENT:
        return MetricHistory(
            mean=max(fmean(values), 0.5), deviation=between_post_cv(observations) or 0.7, sample_size=size
        )
    # Away from the bounds, where no lift would be possible.
    mean = min(max(fmean(values), 1 / (size + 2)), 1 - 1 / (size + 2))
    return MetricHistory(mean=mean, deviation=max(pstdev(values), 0.05), sample_size=size)
