"""Sum post metrics by day, week, month or hour of the week in the user's time zone.

The store sums by quarter of an hour, the finest offset of any time zone, so that all of these can be derived from it.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo

from copydesk.model.trend import HourSummary, Interval, PeriodSummary, RateSummary
from copydesk.store.live import QUARTER_HOUR_SECONDS, QuarterHour


def metrics_by_span(
    quarters: Iterable[QuarterHour], zone: tzinfo, first: date | None, last: date, step: Interval
) -> tuple[PeriodSummary, ...]:
    """Return the metrics per span from `first` (default: the day of the first post) to `last`, oldest first.

    The first and last spans are cut off at these dates and may be shorter than the step.
    """
    days: defaultdict[date, RateSummary] = defaultdict(RateSummary)
    for quarter in quarters:
        days[_local(quarter, zone).date()] += quarter.rate
    if first is None:
        if not days:
            return ()
        first = min(days)
    last = max(last, *days) if days else last
    totals: defaultdict[date, RateSummary] = defaultdict(RateSummary)
    for day, rate in days.items():
        totals[_span_start(day, step)] += rate
    return tuple(
        PeriodSummary(
            first=max(begin, first),
            last=min(_next_span_start(begin, step) - timedelta(days=1), last),
            rate=totals[begin],
        )
        for begin in _iter_span_starts(first, last, step)
    )


def metrics_by_hour(quarters: Iterable[QuarterHour], zone: tzinfo) -> tuple[HourSummary, ...]:
    """Return the metrics per hour of the week for hours with posts, Sunday first."""
    hours: defaultdict[tuple[int, int], RateSummary] = defaultdict(RateSummary)
    for quarter in quarters:
        at = _local(quarter, zone)
        # isoweekday() is 7 on Sunday; here Sunday is 0.
        hours[at.isoweekday() % 7, at.hour] += quarter.rate
    return tuple(HourSummary(day_of_week=day, hour=hour, rate=rate) for (day, hour), rate in sorted(hours.items()))


def _local(quarter: QuarterHour, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(quarter.number * QUARTER_HOUR_SECONDS, UTC).astimezone(zone)


def _iter_span_starts(first: date, last: date, step: Interval) -> Iterable[date]:
    start = _span_start(first, step)
    while start <= last:
        yield start
        start = _next_span_start(start, step)


def _span_start(day: date, step: Interval) -> date:
    if step is Interval.MONTH:
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if step is Interval.WEEK else day


def _next_span_start(start: date, step: Interval) -> date:
    if step is Interval.MONTH:
        # 31 days after the first of a month is always in the next month.
        return (start + timedelta(days=31)).replace(day=1)
    return start + timedelta(days=7 if step is Interval.WEEK else 1)
