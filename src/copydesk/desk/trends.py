"""Posts laid onto the user's calendar: what is summed up by quarters of an hour becomes days, weeks and hours. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo

from copydesk.model.trend import Rated, Span, Step, WeekHour
from copydesk.store.live import QUARTER, Quarter


def over_time(
    quarters: Iterable[Quarter], zone: tzinfo, first: date | None, last: date, step: Step
) -> tuple[Span, ...]:
    """The spans from `first`, or the first post's day, to `last`; the first one and the last may be shorter."""
    days: defaultdict[date, Rated] = defaultdict(Rated)
    for each in quarters:
        days[_local(each, zone).date()] += each.rate
    if first is None:
        if not days:
            return ()
        first = min(days)
    last = max(last, *days) if days else last
    sums: defaultdict[date, Rated] = defaultdict(Rated)
    for day, rate in days.items():
        sums[_begin(day, step)] += rate
    return tuple(
        Span(first=max(begin, first), last=min(_next(begin, step) - timedelta(days=1), last), rate=sums[begin])
        for begin in _begins(first, last, step)
    )


def by_hour(quarters: Iterable[Quarter], zone: tzinfo) -> tuple[WeekHour, ...]:
    """The hours of the week that have posts, Sunday's first."""
    hours: defaultdict[tuple[int, int], Rated] = defaultdict(Rated)
    for each in quarters:
        at = _local(each, zone)
        hours[at.isoweekday() % 7, at.hour] += each.rate
    return tuple(WeekHour(day_of_week=day, hour=hour, rate=rate) for (day, hour), rate in sorted(hours.items()))


def _local(quarter: Quarter, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(quarter.number * QUARTER, UTC).astimezone(zone)


def _begins(first: date, last: date, step: Step) -> Iterable[date]:
    begin = _begin(first, step)
    while begin <= last:
        yield begin
        begin = _next(begin, step)


def _begin(day: date, step: Step) -> date:
    if step is Step.MONTH:
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if step is Step.WEEK else day


def _next(begin: date, step: Step) -> date:
    if step is Step.MONTH:
        return (begin + timedelta(days=31)).replace(day=1)
    return begin + timedelta(days=7 if step is Step.WEEK else 1)
