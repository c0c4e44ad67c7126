"""The time of the week at which posts do better, if the posts show one.

A week has 168 hours and a user has few posts: the best of the raw means is nearly always luck. So means are shrunk, and
a permutation test decides if any time is named at all. Posts are compared with those of the same platform and format
that were published shortly before and after, which removes the growth of an account.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from math import exp
from random import Random
from statistics import fmean, median, pstdev
from typing import NamedTuple

from copydesk.model.engagement import BestTime, EngagementMetric, HourLift, TimeBlock
from copydesk.statistics.permutation import permutation_p
from copydesk.statistics.shrinkage import GroupEstimate, shrink_means
from copydesk.text.formatting import plural

MIN_POSTS = 40
MAX_POSTS = 500
"""Newest posts that are tested; the test takes a fraction of a second."""
MAX_P_VALUE = 0.05
BLOCK_HOURS = 3
_NEIGHBOURS = 20
"""Posts before and after, with which a post is compared."""
_MAX_DEVIATIONS = 2.5
"""Standard deviations to which values are limited: one viral post must not name the hour."""
_INTERVAL_ERRORS = 1.96
_SEED = 0
_GAINS = {
    EngagementMetric.INTERACTIONS: "about {lift:.0%} more interactions",
    EngagementMetric.RATE: "an engagement rate about {lift:.0%} higher",
}


class TimedValue(NamedTuple):
    """A post's time in the user's time zone, and the logarithm of its metric."""

    at: datetime
    platform: str
    format: str
    value: float


class _Block(NamedTuple):
    """Some hours of the working days or of the weekend: the posts of one hour of the week are too few for a test."""

    is_weekend: bool
    number: int


def find_best_time(posts: Iterable[TimedValue], metric: EngagementMetric) -> tuple[BestTime, tuple[HourLift, ...]]:
    """Return the time that stands out, if one does, and the estimate of each hour of the week with posts."""
    recent = sorted(posts, key=lambda post: post.at)[-MAX_POSTS:]
    strata: defaultdict[tuple[str, str], list[TimedValue]] = defaultdict(list)
    for post in recent:
        strata[post.platform, post.format].append(post)
    values = {key: _remove_trend([post.value for post in stratum]) for key, stratum in strata.items()}
    pairs = [pair for key, stratum in strata.items() for pair in zip(stratum, values[key], strict=True)]
    hours: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    blocks: defaultdict[_Block, list[float]] = defaultdict(list)
    for post, value in pairs:
        hours[post.at.isoweekday() % 7, post.at.hour].append(value)
        blocks[_block(post.at)].append(value)
    lifts = tuple(
        HourLift(day_of_week=day, hour=hour, posts=estimate.size, lift=exp(estimate.mean) - 1)
        for (day, hour), estimate in sorted(shrink_means(hours).items())
    )
    if len(recent) < MIN_POSTS:
        return _result(len(recent), None, None, metric), lifts
    numbers = {block: number for number, block in enumerate(sorted(blocks))}
    p_value = compare_blocks(tuple(_group(stratum, values[key], numbers) for key, stratum in sorted(strata.items())))
    best = _best_block(shrink_means(blocks)) if p_value <= MAX_P_VALUE else None
    return _result(len(recent), p_value, best, metric), lifts


# Most periods end with the same posts: who goes through them, or comes back, does not wait for the same test again.
@lru_cache(maxsize=8)
def compare_blocks(strata: tuple[tuple[tuple[float, ...], ...], ...]) -> float:
    """Return the p-value of the hypothesis that all times are alike, from the values by stratum and block."""
    return permutation_p(strata, Random(_SEED))  # noqa: S311 - no secret; the same posts give the same sentence


def _result(posts: int, p_value: float | None, best: TimeBlock | None, metric: EngagementMetric) -> BestTime:
    sentence = describe_best_time(posts, p_value, best, metric)
    return BestTime(posts=posts, needed=MIN_POSTS, p_value=p_value, best=best, sentence=sentence)


def _block(at: datetime) -> _Block:
    return _Block(at.isoweekday() >= 6, at.hour // BLOCK_HOURS)


def _remove_trend(values: Sequence[float]) -> list[float]:
    """Return the differences from the median of the neighbours, centred, with extremes limited."""
    differences = [
        value - median([*values[max(0, index - _NEIGHBOURS) : index], *values[index + 1 : index + _NEIGHBOURS + 1]])
        if len(values) > 1
        else 0.0
        for index, value in enumerate(values)
    ]
    mean, limit = fmean(differences), _MAX_DEVIATIONS * pstdev(differences)
    return [max(-limit, min(limit, difference - mean)) for difference in differences]


def _group(
    posts: Sequence[TimedValue], values: Sequence[float], numbers: dict[_Block, int]
) -> tuple[tuple[float, ...], ...]:
    groups: list[list[float]] = [[] for _ in numbers]
    for post, value in zip(posts, values, strict=True):
        groups[numbers[_block(post.at)]].append(value)
    return tuple(map(tuple, groups))


def _best_block(estimates: dict[_Block, GroupEstimate]) -> TimeBlock | None:
    """Return the block with the highest lower bound, or None if even that may be no better than the others."""
    block, estimate = max(estimates.items(), key=lambda item: _lower_bound(item[1]))
    low = _lower_bound(estimate)
    if low <= 0:
        return None
    return TimeBlock(
        weekend=block.is_weekend,
        first_hour=block.number * BLOCK_HOURS,
        last_hour=(block.number + 1) * BLOCK_HOURS,
        posts=estimate.size,
        lift=exp(estimate.mean) - 1,
        low=exp(low) - 1,
        high=exp(estimate.mean + _INTERVAL_ERRORS * estimate.error) - 1,
    )


def _lower_bound(estimate: GroupEstimate) -> float:
    return estimate.mean - _INTERVAL_ERRORS * estimate.error


def describe_best_time(posts: int, p_value: float | None, best: TimeBlock | None, metric: EngagementMetric) -> str:
    """Return the sentence: the time that stands out with its interval, or why none does."""
    if p_value is None:
        return f"No time stands out yet: {posts} of {plural(MIN_POSTS, 'post')} needed for a test."
    chance = f"p = {p_value:.2f}" if p_value >= 0.01 else "p < 0.01"
    if best is None:
        return f"No time stands out yet: in {plural(posts, 'post')} the differences may be chance ({chance})."
    days = "Saturday and Sunday" if best.weekend else "Monday to Friday"
    gain = _GAINS[metric].format(lift=best.lift)
    return (
        f"{days} {best.first_hour:02}:00 to {best.last_hour:02}:00 stands out: {gain} than similar posts"
        f" ({best.low:.0%} to {best.high:.0%}; {plural(best.posts, 'post')}; {chance})."
    )
