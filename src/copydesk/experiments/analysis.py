"""The statistics of one look: a permutation test over all variants, and the estimate of each."""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from copydesk.experiments import posterior
from copydesk.experiments.observations import Observation, have_impressions, score, to_rate
from copydesk.experiments.posterior import MeanEstimate
from copydesk.model.experiment import Look, Metric
from copydesk.statistics.permutation import permutation_p

MIN_P_BEST = 0.9
"""A difference alone does not say which variant is the best of several."""
MIN_INTERACTIONS = 30
"""Of all posts of a look; fewer say nothing about engagement."""

Arms = tuple[tuple[Observation, ...], ...]
"""The observations of each variant, in the order in which they became known."""


class LookAnalysis(NamedTuple):
    """The statistics of one look."""

    look: Look
    p: float
    estimates: tuple[MeanEstimate, ...]

    @property
    def is_different(self) -> bool:
        """True if the variants differ."""
        return self.p < self.look.threshold

    @property
    def best(self) -> int | None:
        """The index of the variant that is clearly the best, or None."""
        chances = [estimate.p_best for estimate in self.estimates]
        return chances.index(max(chances)) if self.is_different and max(chances) >= MIN_P_BEST else None


def take_looks(metric: Metric, arms: Arms, looks: Sequence[Look], seed: str) -> LookAnalysis | None:
    """Return the last look that was due: the first one that shows a difference, or else the latest.

    Each look uses as many observations of each variant as were planned for it, the first ones. What comes later cannot
    change it.
    """
    taken = None
    for look in looks:
        if min(map(len, arms)) < look.posts:
            break
        first = tuple(arm[: look.posts] for arm in arms)
        if metric is Metric.ENGAGEMENT and sum(post.value for arm in first for post in arm) < MIN_INTERACTIONS:
            continue
        taken = LookAnalysis(look, difference_p(metric, first, f"{seed}:{look.number}"), ())
        if taken.is_different:
            break
    if taken is None:
        return None
    first = tuple(arm[: taken.look.posts] for arm in arms)
    return taken._replace(estimates=estimate_means(metric, first, f"{seed}:{taken.look.number}"))


# Cached because the console shows the same results again with each refresh.
@lru_cache(maxsize=256)
def difference_p(metric: Metric, arms: Arms, seed: str) -> float:
    """Return the p-value of the hypothesis that the variants are alike, shuffling within each stratum."""
    scores = score(metric, [post for arm in arms for post in arm])
    strata: dict[str, list[list[float]]] = {}
    position = 0
    for index, arm in enumerate(arms):
        for post in arm:
            strata.setdefault(post.stratum, [[] for _ in arms])[index].append(scores[position])
            position += 1
    return permutation_p(list(strata.values()), Random(seed))  # noqa: S311 - nothing secret


@lru_cache(maxsize=256)
def estimate_means(metric: Metric, arms: Arms, seed: str) -> tuple[MeanEstimate, ...]:
    """Return the estimate of each variant's mean; the first variant is the control."""
    random = Random(seed)  # noqa: S311 - nothing secret
    if metric is Metric.ACCEPTANCE:
        samples = [
            posterior.sample_proportion(round(sum(post.value for post in arm)), len(arm), random) for arm in arms
        ]
    elif metric is Metric.EDITS:
        samples = [posterior.sample_share([post.value for post in arm], random) for arm in arms]
    elif have_impressions([post for arm in arms for post in arm]):
        samples = posterior.sample_rates([[to_rate(post) for post in arm] for arm in arms], random)
    else:
        samples = [posterior.sample_count([int(post.value) for post in arm], random) for arm in arms]
    return tuple(posterior.compare(samples, lower_is_better=metric is Metric.EDITS))
