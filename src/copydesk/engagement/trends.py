"""Periods on the user's calendar, and the figures of the posts in them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from copydesk.model.draft import Format
from copydesk.model.engagement import (
    INTERACTION_METRICS,
    METRICS,
    EngagementFigures,
    EngagementMetric,
    FormatFigures,
    Interval,
    PlatformFigures,
    PostSums,
)

QUARTER_HOUR = timedelta(minutes=15)
"""The offsets of all time zones are multiples of it, so a local day is a whole number of quarters."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_DAILY_DAYS = 45
MAX_WEEKLY_DAYS = 180


def choose_step(first: date, last: date) -> Interval:
    """Return the step of a chart from `first` to `last`."""
    days = (last - first).days + 1
    if days <= MAX_DAILY_DAYS:
        return Interval.DAY
    return Interval.WEEK if days <= MAX_WEEKLY_DAYS else Interval.MONTH


def split_period(first: date, last: date, step: Interval) -> tuple[tuple[date, date], ...]:
    """Return the first and last day of each day, week or month from `first` to `last`, which cut the outer ones."""
    spans, start = [], first
    while start <= last:
        following = _next_start(start, step)
        spans.append((start, min(following - timedelta(days=1), last)))
        start = following
    return tuple(spans)


def _next_start(day: date, step: Interval) -> date:
    if step is Interval.MONTH:
        # 31 days after the first of a month is always in the next month.
        return (day.replace(day=1) + timedelta(days=31)).replace(day=1)
    return day + timedelta(days=7 - day.weekday() if step is Interval.WEEK else 1)


def start_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the start (UTC) of a day in the time zone."""
    # Midnight may not exist where clocks go forward at that time; Python then takes the offset before the change.
    return datetime.combine(day, time(), zone).astimezone(UTC)


def quarters_between(first: date, last: date, zone: tzinfo) -> tuple[int, int]:
    """Return the first quarter of an hour of the day `first`, and the first after the day `last`."""
    start, end = (start_of_day(day, zone) for day in (first, last + timedelta(days=1)))
    return (start - _EPOCH) // QUARTER_HOUR, (end - _EPOCH) // QUARTER_HOUR


def day_of_quarter(number: int, zone: tzinfo) -> date:
    """Return the local day of a quarter of an hour."""
    # Quarters are stored instead of days, because a user may change the time zone: days would have to be summed again.
    return (_EPOCH + number * QUARTER_HOUR).astimezone(zone).date()


def build_figures(sums: PostSums) -> EngagementFigures:
    """Return the figures; those of no post are unknown."""
    interactions = sum(getattr(sums, name) for name in INTERACTION_METRICS) if sums.with_interactions else None
    return EngagementFigures(
        posts=sums.posts,
        measured=sums.measured,
        interactions=interactions,
        interactions_per_post=interactions / sums.with_interactions if interactions is not None else None,
        with_interactions=sums.with_interactions,
        # The mean of the posts' rates would let a post with few impressions dominate.
        engagement_rate=sums.rated_interactions / sums.rated_impressions if sums.rated_impressions else None,
        rated=sums.rated,
        **{name: getattr(sums, name) if getattr(sums, f"with_{name}") else None for name in METRICS},
    )


def choose_metric(figures: EngagementFigures) -> EngagementMetric:
    """Return the rate if every post with interactions has one: otherwise it would leave out platforms."""
    is_complete = 0 < figures.rated >= figures.with_interactions
    return EngagementMetric.RATE if is_complete else EngagementMetric.INTERACTIONS


def group_by_platform(kinds: Iterable[tuple[str, PostSums]]) -> tuple[PlatformFigures, ...]:
    """Return the figures by platform, most posts first."""
    return tuple(
        PlatformFigures(platform=name, figures=figures, not_reported=_missing_metrics(figures))
        for name, figures in _group(kinds)
    )


def group_by_format(kinds: Iterable[tuple[Format, PostSums]]) -> tuple[FormatFigures, ...]:
    """Return the figures by format, most posts first."""
    return tuple(FormatFigures(format=Format(name), figures=figures) for name, figures in _group(kinds))


def _group(kinds: Iterable[tuple[str, PostSums]]) -> Sequence[tuple[str, EngagementFigures]]:
    sums: defaultdict[str, PostSums] = defaultdict(PostSums)
    for name, posts in kinds:
        sums[name] += posts
    # The name breaks ties, so that rows do not change places between two refreshes.
    ordered: Mapping[str, PostSums] = dict(sorted(sums.items(), key=lambda item: (-item[1].posts, item[0])))
    return [(name, build_figures(posts)) for name, posts in ordered.items()]


def _missing_metrics(figures: EngagementFigures) -> tuple[str, ...]:
    if not figures.measured:
        return ()
    return tuple(name for name in METRICS if getattr(figures, name) is None)
