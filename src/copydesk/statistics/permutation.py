"""Permutation tests: the share of random assignments in which the variants differ at least as much as they do.

They assume nothing about how the values are distributed, and stay exact with the few and very unequal posts that an
experiment of one user has.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import comb
from random import Random

MAX_ROUNDS = 4_999
MIN_ROUNDS = 1_999
MAX_SHUFFLED_VALUES = 1_500_000
"""Values shuffled in all rounds of one test: large experiments get fewer rounds."""
ENOUGH_EXCEEDANCES = 60
"""Rounds in which the variants differ at least as much, after which a test ends: the p-value is certainly not small."""
_TOLERANCE = 1e-9


class Stratum:
    """The values of the posts of one stratum, in the order of their variants."""

    def __init__(self, groups: Sequence[Sequence[float]]) -> None:
        values = [value for group in groups for value in group]
        mean = sum(values) / len(values) if values else 0.0
        self.values = [value - mean for value in values]
        self.bounds = [0, *accumulate(len(group) for group in groups)]

    def sums(self) -> list[float]:
        """Return the sum of each variant's values."""
        return [sum(self.values[start:end]) for start, end in zip(self.bounds, self.bounds[1:], strict=False)]

    def shuffle(self, random: Random) -> None:
        """Assign the values to the variants at random."""
        values, size, draw = self.values, len(self.values), random.random
        # Values of the last variant follow from the others. Not random.shuffle, which takes three times as long.
        for index in range(self.bounds[-2]):
            other = index + int(draw() * (size - index))
            values[index], values[other] = values[other], values[index]


def permutation_p(strata: Sequence[Sequence[Sequence[float]]], random: Random) -> float:
    """Return the p-value of the hypothesis that all variants are alike.

    `strata` has the values by stratum, by variant; they are shuffled within their stratum only. The statistic is the
    sum of squared differences between the variants' means and the mean of all. The p-value is valid for any number of
    rounds (Besag and Clifford, 1991).
    """
    groups = [Stratum(stratum) for stratum in strata if sum(map(len, stratum)) > 1]
    if not groups:
        return 1.0
    sizes = [sum(column) for column in zip(*([len(group) for group in stratum] for stratum in strata), strict=True)]
    observed = _between(groups, sizes) - _TOLERANCE
    size = sum(len(group.values) for group in groups)
    rounds = max(min(MAX_ROUNDS, MAX_SHUFFLED_VALUES // size), MIN_ROUNDS)
    exceedances = 0
    for done in range(1, rounds + 1):
        for group in groups:
            group.shuffle(random)
        if _between(groups, sizes) >= observed:
            exceedances += 1
            if exceedances == ENOUGH_EXCEEDANCES:
                return exceedances / done
    return (exceedances + 1) / (rounds + 1)


def _between(groups: Sequence[Stratum], sizes: Sequence[int]) -> float:
    sums = groups[0].sums() if len(groups) == 1 else map(sum, zip(*(group.sums() for group in groups), strict=True))
    return sum(total * total / size for total, size in zip(sums, sizes, strict=True) if size)


def assignment_p(counts: Sequence[int], random: Random) -> float:
    """Return the p-value of the hypothesis that each draft had the same chance of each variant."""
    total = sum(counts)
    if len(counts) == 2:
        return _binomial_p(min(counts), total)
    observed, exceedances = sum(count * count for count in counts), 0
    ends = [(index + 1) / len(counts) for index in range(len(counts) - 1)]
    for done in range(1, MIN_ROUNDS + 1):
        drawn = [0] * len(counts)
        for _ in range(total):
            drawn[bisect_right(ends, random.random())] += 1
        if sum(count * count for count in drawn) >= observed:
            exceedances += 1
            if exceedances == ENOUGH_EXCEEDANCES:
                return exceedances / done
    return (exceedances + 1) / (MIN_ROUNDS + 1)


def _binomial_p(smaller: int, total: int) -> float:
    tail = sum(comb(total, count) for count in range(smaller + 1))
    return float(min(1.0, 2 * tail / 2**total))
