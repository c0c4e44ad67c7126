"""The value of each metric for each draft, and the scores that are compared."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import log, log1p, sqrt
from statistics import fmean, variance
from typing import NamedTuple

from copydesk.experiments.posterior import PostRate
from copydesk.model.experiment import Metric, Participant

_SHRINKAGE = 3.0
"""Interactions at the rate of all posts that are added to each post before its rate is compared."""
_MIN_VARIANCE = 0.05
"""Least variance assumed between the logarithms of posts' rates."""


class Observation(NamedTuple):
    """The value of a metric for one draft."""

    at: datetime
    """When it became known. It is fixed from then on, so the first n observations are always the same."""
    variant_id: str
    stratum: str
    value: float
    impressions: int | None = None


def observe(metric: Metric, participants: Iterable[Participant]) -> tuple[Observation, ...]:
    """Return the observations of the metric in the order in which they became known."""
    if metric is Metric.ENGAGEMENT:
        observations = _observe_engagement(participants)
    else:
        observations = _observe_review(metric, participants)
    return tuple(sorted(observations, key=_order))


def _order(observation: Observation) -> tuple[object, ...]:
    # None is no number that could be compared: posts of the same minute may have impressions or not.
    return (*observation[:-1], observation.impressions or 0)


def _observe_review(metric: Metric, participants: Iterable[Participant]) -> Iterable[Observation]:
    for draft in participants:
        if draft.decided_at is not None:
            edited = draft.edit_ratio if draft.is_accepted else 1.0
            value = edited if metric is Metric.EDITS else float(edited == 0)
            yield Observation(draft.decided_at, draft.variant_id, draft.stratum, value)


def _observe_engagement(participants: Iterable[Participant]) -> Iterable[Observation]:
    for draft in participants:
        if draft.metrics is not None:
            # Metrics of different platforms are not comparable.
            stratum = f"{draft.stratum.partition(':')[0]}:{'+'.join(draft.published_on)}"
            metrics = draft.metrics
            yield Observation(
                metrics.complete_at, draft.variant_id, stratum, metrics.interactions, metrics.impressions or None
            )


def have_impressions(observations: Sequence[Observation]) -> bool:
    """Return True if engagement can be compared as a rate: all posts have impressions."""
    return bool(observations) and all(observation.impressions for observation in observations)


def to_rate(observation: Observation) -> PostRate:
    """Return the interactions and impressions; platforms may report interactions before their impressions."""
    impressions = observation.impressions or 0
    return PostRate(min(int(observation.value), impressions), impressions)


def score(metric: Metric, observations: Sequence[Observation]) -> list[float]:
    """Return the values of which the variants' means are compared.

    Of rates these are the logarithms, each shrunk towards the rate of all posts: a post with few impressions says
    little about its variant.
    """
    if metric is not Metric.ENGAGEMENT:
        return [observation.value for observation in observations]
    if not have_impressions(observations):
        return [log1p(observation.value) for observation in observations]
    rates = [to_rate(observation) for observation in observations]
    mean = _pooled_rate(rates)
    return [log((rate.interactions + _SHRINKAGE) / (rate.impressions + _SHRINKAGE / mean)) for rate in rates]


def between_post_cv(observations: Sequence[Observation]) -> float | None:
    """Return the coefficient of variation of engagement between posts beyond that of counts, None below two posts."""
    if len(observations) < 2:
        return None
    if have_impressions(observations):
        return sqrt(_spread(_log_rates(observations), _count_variances(observations)))
    logs = [log(observation.value + 0.5) for observation in observations]
    mean = max(fmean(observation.value for observation in observations), 0.5)
    return sqrt(_spread(logs, [1 / mean] * len(logs)))


def _log_rates(observations: Sequence[Observation]) -> list[float]:
    return [log((rate.interactions + 0.5) / (rate.impressions + 1)) for rate in map(to_rate, observations)]


def _count_variances(observations: Sequence[Observation]) -> list[float]:
    """Return the variance of the logarithm of each post's interactions that chance alone gives."""
    rates = [to_rate(observation) for observation in observations]
    mean = _pooled_rate(rates)
    return [1 / max(rate.impressions * mean, 0.25) for rate in rates]


def _pooled_rate(rates: Sequence[PostRate]) -> float:
    return max(sum(rate.interactions for rate in rates), 0.5) / sum(rate.impressions for rate in rates)


def _spread(logs: Sequence[float], noise: Sequence[float]) -> float:
    """Return the variance between posts: that of their logarithms without that of chance."""
    return max(variance(logs) - fmean(noise), _MIN_VARIANCE)
