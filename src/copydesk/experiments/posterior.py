"""Estimates of the variants' means with the post as the unit, as draws from their posterior.

Engagement rates have a hierarchical beta-binomial model. Each post has a rate of its own, drawn from a beta
distribution around the mean of its variant, and its interactions are binomial. The spread between posts is shared by
the variants and estimated with them. The parameters are integrated over a grid, from which the posterior is sampled:
nothing has to converge, and the result is the same each time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, expm1, inf, lgamma, log, log1p, sqrt
from random import Random
from typing import NamedTuple

DRAWS = 2_000
_GRID_POINTS = 32
_GRID_HALF_WIDTH = 5.0
"""In standard errors of the mean."""
_SHAPES = tuple(0.08 * 1.65**step for step in range(14))
"""First parameters of the beta distribution, near 1 / CV² where rates are small."""
_COARSENING = 0.8
"""Power of the likelihood below 1: the rates of posts have a heavier tail than a beta distribution, and intervals that
rely on it are too narrow ("coarsened posterior": Miller and Dunson, 2019)."""
_PRIOR = 0.75
"""Added to the numbers of yes and no, or of shares of 1 and 0. Jeffreys' prior, 0.5, is too sure of the extremes: with
five posts and a true proportion of 0.6, its intervals contain that in 91% of cases."""


class MeanEstimate(NamedTuple):
    """The estimate of one variant's mean, compared with the others; intervals are 95% credible intervals."""

    mean: float
    low: float
    high: float
    lift_low: float | None
    lift_high: float | None
    """Interval of the ratio to the first variant's mean, less one; None if that mean may be 0."""
    p_best: float
    expected_loss: float
    """Expected distance from the best mean if this variant is chosen."""


def sample_proportion(successes: int, count: int, random: Random, draws: int = DRAWS) -> list[float]:
    """Return draws of a proportion: yes or no per post leaves no spread to estimate."""
    first, second = successes + _PRIOR, count - successes + _PRIOR
    return [random.betavariate(first, second) for _ in range(draws)]


def sample_share(values: Sequence[float], random: Random, draws: int = DRAWS) -> list[float]:
    """Return draws of the mean of shares of 0 to 1, many of which may be exactly 0 or 1.

    The Bayesian bootstrap (Rubin, 1981), which knows no other values than those that occurred, besides 0 and 1. Of
    shares that are all 0 or 1 it is the beta distribution of a proportion.
    """
    weights = Counter[float](values)
    # Without them, drafts that were all accepted unchanged have no spread, and an interval of no width.
    counts = {**weights, 0.0: weights[0.0] + _PRIOR, 1.0: weights[1.0] + _PRIOR}
    return [_draw_mean(counts, random) for _ in range(draws)]


def _draw_mean(counts: Mapping[float, float], random: Random) -> float:
    """Return a mean of values that occurred so often, with weights from a Dirichlet distribution."""
    total = weighted = 0.0
    for value, count in counts.items():
        weight = random.gammavariate(count, 1)
        total += weight
        weighted += weight * value
    return weighted / total


def sample_count(counts: Sequence[int], random: Random) -> list[float]:
    """Return draws of the typical count: the mean of log(1 + count), as a count."""
    # On the logarithmic scale, because one viral post would decide the mean of the counts alone.
    return [max(expm1(mean), 0.0) for mean in _sample_mean([log1p(count) for count in counts], random)]


def _sample_mean(values: Sequence[float], random: Random) -> list[float]:
    """Return draws from Student's t distribution around the mean."""
    count = len(values)
    mean = sum(values) / count
    squares = sum((value - mean) ** 2 for value in values)
    # A single value has no degree of freedom left; the distribution must still be proper, only very wide.
    freedom = max(count - 1, 0.5)
    return [random.gauss(mean, sqrt(squares / (2 * random.gammavariate(freedom / 2, 1) * count))) for _ in range(DRAWS)]


def compare(samples: Sequence[Sequence[float]], *, lower_is_better: bool = False) -> list[MeanEstimate]:
    """Return the estimates from the draws of all variants; the first is the control."""
    control, best_of = samples[0], min if lower_is_better else max
    best = [(top := best_of(values), values.count(top)) for values in zip(*samples, strict=True)]
    return [_estimate(draws, control, best) for draws in samples]


def _estimate(draws: Sequence[float], control: Sequence[float], best: Sequence[tuple[float, int]]) -> MeanEstimate:
    """Return the estimate from a variant's draws; `best` has the best value of each draw, and how many have it."""
    low, high = credible_interval(draws)
    lift_low, lift_high = _lift_interval(draws, control)
    return MeanEstimate(
        mean=sum(draws) / len(draws),
        low=low,
        high=high,
        lift_low=lift_low,
        lift_high=lift_high,
        # Of variants that share the best value none is more likely than the others.
        p_best=sum((value == top) / count for value, (top, count) in zip(draws, best, strict=True)) / len(draws),
        expected_loss=sum(abs(top - value) for value, (top, _) in zip(draws, best, strict=True)) / len(draws),
    )


def _lift_interval(draws: Sequence[float], control: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    # With more draws at 0 than an interval leaves out, the ratio has no upper bound.
    if credible_interval(control)[0] <= 0:
        return None, None
    # Draw by draw: the interval of a ratio does not follow from the intervals of both means.
    return credible_interval([value / base - 1 if base else inf for value, base in zip(draws, control, strict=True)])


def credible_interval(draws: Sequence[float]) -> tuple[float, float]:
    """Return the bounds between which 95% of the draws are."""
    ordered = sorted(draws)
    tail = round(0.025 * len(ordered))
    return ordered[tail], ordered[-tail - 1]


class PostRate(NamedTuple):
    """Interactions and impressions of one post."""

    interactions: int
    impressions: int


def sample_rates(variants: Sequence[Sequence[PostRate]], random: Random) -> list[list[float]]:
    """Return draws from the joint posterior of the variants' mean rates, a list for each variant.

    Shapes are drawn by the evidence of all variants for them, and for each shape the means of the variants.
    """
    grids = [_Grid(posts) for posts in variants]
    weighed = [[grid.weigh(shape) for grid in grids] for shape in _SHAPES]
    evidences = [sum(evidence for _, evidence in row) for row in weighed]
    # Subtracted before exp: the evidences are logarithms of hundreds of posts, whose exponentials underflow to 0.
    largest = max(evidences)
    shapes = random.choices(range(len(_SHAPES)), [exp(value - largest) for value in evidences], k=DRAWS)
    samples: list[list[float]] = [[] for _ in grids]
    # Sorted, so that the same seed gives the same draws: the console must show the same numbers after each refresh.
    for index, count in sorted(Counter(shapes).items()):
        for sample, grid, (weights, _) in zip(samples, grids, weighed[index], strict=True):
            sample.extend(grid.sample(weights, count, random))
    return samples


class _Grid:
    """The mean rates of one variant that are considered, evenly spaced in their log-odds."""

    def __init__(self, posts: Sequence[PostRate]) -> None:
        # With the halves a post without interactions has a rate above 0, so that its logarithm exists.
        rates = [(post.interactions + 0.5) / (post.impressions + 1) for post in posts]
        mean = sum(rates) / len(rates)
        variation = sum((rate / mean - 1) ** 2 for rate in rates) / len(rates)
        half = _GRID_HALF_WIDTH * sqrt((variation + 0.5) / len(rates))
        self._posts = posts
        self._step = 2 * half / (_GRID_POINTS - 1)
        self._points = [log(mean / (1 - mean)) - half + index * self._step for index in range(_GRID_POINTS)]

    def weigh(self, shape: float) -> tuple[list[float], float]:
        """Return the relative weights of the points for a shape, and the logarithm of the evidence for it."""
        # Outside the loop over the points, because it does not depend on the mean.
        fixed = sum(lgamma(post.interactions + shape) for post in self._posts)
        logs = [_COARSENING * (fixed + self._log_likelihood(_expit(point), shape)) for point in self._points]
        largest = max(logs)
        weights = [exp(value - largest) for value in logs]
        return weights, largest + log(sum(weights) * self._step)

    def _log_likelihood(self, mean: float, shape: float) -> float:
        """Return the beta-binomial log-likelihood without the terms that do not depend on the mean."""
        other = shape * (1 - mean) / mean
        both = shape + other
        total = len(self._posts) * (lgamma(both) - lgamma(shape) - lgamma(other))
        for interactions, impressions in self._posts:
            total += lgamma(impressions - interactions + other) - lgamma(impressions + both)
        return total

    def sample(self, weights: Sequence[float], count: int, random: Random) -> list[float]:
        """Return mean rates around the points, drawn by their weights."""
        points = random.choices(self._points, weights, k=count)
        # Spread within the step: on the bare grid all draws would have one of 32 values, and ties would hide the best.
        return [_expit(point + self._step * (random.random() - 0.5)) for point in points]


def _expit(point: float) -> float:
    return 1 / (1 + exp(-point))
