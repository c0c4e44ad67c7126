"""Shrinkage of group means towards the mean of all: with few values each, the highest mean is mostly luck."""

from collections.abc import Hashable, Mapping, Sequence
from math import sqrt
from statistics import fmean
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)


class GroupEstimate(NamedTuple):
    """The estimated difference of a group's mean from the mean of all values."""

    mean: float
    error: float
    """Standard error of the estimate; 0 if the groups differ no more than chance makes them."""
    size: int


def shrink_means(groups: Mapping[Key, Sequence[float]]) -> dict[Key, GroupEstimate]:
    """Return the empirical Bayes estimate of each group; groups without values are left out.

    The variance between the true means is estimated by the method of moments. A group's mean keeps the share
    n * between / (n * between + within) of its difference from the mean of all.
    """
    filled = {key: values for key, values in groups.items() if values}
    if not filled:
        return {}
    overall = fmean(value for values in filled.values() for value in values)
    means = {key: fmean(values) - overall for key, values in filled.items()}
    sizes = {key: len(values) for key, values in filled.items()}
    total, count = sum(sizes.values()), len(filled)
    errors = sum((value - overall - means[key]) ** 2 for key, values in filled.items() for value in values)
    # With one value per group nothing tells the groups from the noise.
    within = errors / (total - count) if total > count else 0.0
    if count < 2 or total <= count:
        return {key: GroupEstimate(0.0, 0.0, size) for key, size in sizes.items()}
    weighted = sum(sizes[key] * mean**2 for key, mean in means.items())
    between = max(0.0, (weighted - (count - 1) * within) / (total - sum(size**2 for size in sizes.values()) / total))
    return {key: _estimate(mean, sizes[key], between, within) for key, mean in means.items()}


def _estimate(mean: float, size: int, between: float, within: float) -> GroupEstimate:
    if not between:
        return GroupEstimate(0.0, 0.0, size)
    weight = size * between / (size * between + within)
    return GroupEstimate(weight * mean, sqrt(weight * within / size), size)
