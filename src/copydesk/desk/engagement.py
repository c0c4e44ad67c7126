"""Engagement metrics: recorded per draft and platform, summed up by platform and format and over time.

The store keeps sums by quarter of an hour, the finest offset of any time zone; a day, week or month in the user's time
zone is a range of them.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import chain, groupby
from math import log1p
from operator import attrgetter
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.engagement.best_time import MAX_POSTS as MAX_TESTED_POSTS
from copydesk.engagement.best_time import TimedValue, find_best_time
from copydesk.engagement.trends import (
    build_figures,
    choose_metric,
    choose_step,
    day_of_quarter,
    group_by_format,
    group_by_platform,
    quarters_between,
    split_period,
    start_of_day,
)
from copydesk.errors import FieldError, InvalidError
from copydesk.model.engagement import (
    EngagementMetric,
    EngagementRecord,
    EngagementSummary,
    EngagementTrends,
    FormatEngagement,
    Interval,
    LivePost,
    PeriodDays,
    PeriodFigures,
    PlatformEngagement,
    PostSums,
    RecordEngagement,
    TopPost,
    update_record,
    validate_record,
)
from copydesk.model.experiment import METRICS_AGE_HOURS
from copydesk.model.page import Page, PageSize, decode_cursor, encode_cursor
from copydesk.model.token import Scope
from copydesk.store import draft_updates, engagement, schedule
from copydesk.store.database import Transaction
from copydesk.store.engagement import EngagementTotal, KindSums, MeasuredPost
from copydesk.store.ids import new_id

MAX_TOP_POSTS = 50
PERMILLE = 1000
"""A rate in thousandths has the size of a number of interactions, for which the scale of the test is made."""
TopCount = Annotated[
    int, msgspec.Meta(ge=1, le=MAX_TOP_POSTS, description=f"takes a whole number from 1 to {MAX_TOP_POSTS}")
]


class Engagements:
    """The engagement records of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @needs(Scope.REVIEW)
    @operation
    async def record(self, values: RecordEngagement | Mapping[str, object]) -> EngagementRecord:
        """Create or update the record of a draft on a platform; fields that are not given keep their values.

        Metrics, or a post id, without a status set the record to posted; the draft itself does not change. Raise
        InvalidError that names every invalid field, NotFoundError if the user has no draft with this id.
        """
        request = validate_record(values)
        return await self._ctx.write_durable(_save_record, request, self._ctx.clock())

    @operation
    async def summary(self, top: TopCount = 10) -> EngagementSummary:
        """Return totals over all posts and the `top` best ones. Raise InvalidError for a `top` outside 1 to 50."""
        totals, best = await self._ctx.read(_load_summary, top)
        return summarize(totals, best)

    @operation
    async def trends(self, days: PeriodDays = 30, metric: EngagementMetric | None = None) -> EngagementTrends:
        """Return the engagement of the posts of the last `days` days, today included; 0 is all time.

        By default the hours compare rates if every post with metrics has one, else interactions.
        """
        inputs = await self._ctx.read(_load_trends, days, metric, self._ctx.clock())
        # In a thread: the permutation test takes a noticeable time.
        return await asyncio.to_thread(_build_trends, inputs)

    @operation
    async def top_posts(
        self,
        days: PeriodDays = 0,
        limit: TopCount = MAX_TOP_POSTS,
        metric: EngagementMetric = EngagementMetric.INTERACTIONS,
    ) -> tuple[LivePost, ...]:
        """Return the best posts of the last `days` days; 0 is all time. Posts without the metric come last."""
        return await self._ctx.read(_load_top_posts, days, limit, metric, self._ctx.clock())

    @operation
    async def posts(self, limit: PageSize = 25, cursor: str | None = None, days: PeriodDays = 0) -> Page[LivePost]:
        """Return a page of the posts of the last `days` days, newest records first; 0 is all time."""
        return await self._ctx.read(_load_page, limit, cursor, days, self._ctx.clock())


def summarize(totals: Iterable[EngagementTotal], top: tuple[TopPost, ...]) -> EngagementSummary:
    """Build the summary from the sums, one for each platform and format."""
    with_posts = [total for total in totals if total.posts]
    return EngagementSummary(
        total_posted=_sum(with_posts, "posts"),
        total_with_metrics=_sum(with_posts, "measured"),
        avg_engagement_rate=_mean_rate(with_posts),
        total_likes=_sum(with_posts, "likes"),
        total_replies=_sum(with_posts, "replies"),
        total_reposts=_sum(with_posts, "reposts"),
        total_impressions=_sum(with_posts, "impressions"),
        top_posts=top,
        by_format=tuple(FormatEngagement(format=name, **metrics) for name, metrics in _group_by(with_posts, "format")),
        by_platform=tuple(
            PlatformEngagement(platform=name, **metrics) for name, metrics in _group_by(with_posts, "platform")
        ),
        rated=_sum(with_posts, "rated"),
        total_clicks=_sum(with_posts, "clicks"),
    )


def _group_by(totals: list[EngagementTotal], name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each platform or format with its metrics, the one with the most posts first."""
    # groupby merges neighbours only, so sort by the same key first.
    groups = [
        (key, list(group_totals))
        for key, group_totals in groupby(sorted(totals, key=attrgetter(name)), key=attrgetter(name))
    ]
    for key, group_totals in sorted(groups, key=lambda entry: -_sum(entry[1], "posts")):
        posts, rated = _sum(group_totals, "posts"), _sum(group_totals, "rated")
        yield key, {"count": posts, "avg_engagement_rate": _mean_rate(group_totals), "rated": rated}


def _sum(totals: Iterable[EngagementTotal], name: str) -> int:
    return sum(getattr(total, name) for total in totals)


def _mean_rate(totals: list[EngagementTotal]) -> float:
    """Return the engagement rate of all posts that have one, weighted by impressions."""
    impressions = _sum(totals, "rated_impressions")
    return _sum(totals, "rated_interactions") / impressions if impressions else 0.0


def _load_summary(conn: Transaction, user_id: str, top: int) -> tuple[tuple[EngagementTotal, ...], tuple[TopPost, ...]]:
    return engagement.list_totals(conn, user_id), engagement.list_top(conn, user_id, top)


class _TrendInputs(NamedTuple):
    """Everything that trends are computed from."""

    zone: ZoneInfo
    metric: EngagementMetric
    first: date | None
    last: date
    step: Interval
    spans: tuple[tuple[date, date], ...]
    sums: tuple[tuple[KindSums, ...], ...]
    """By span."""
    undated: tuple[KindSums, ...]
    """Sums of the posts without a time, which only belong to all time."""
    before: tuple[date, date] | None
    """The period before; None for all time."""
    sums_before: tuple[KindSums, ...]
    measured: tuple[MeasuredPost, ...]


def _load_trends(
    conn: Transaction, user_id: str, days: int, metric: EngagementMetric | None, now: datetime
) -> _TrendInputs:
    zone = schedule.get_time_zone(conn, user_id)
    last = now.astimezone(zone).date()
    first = last - timedelta(days=days - 1) if days else _first_day(conn, user_id, zone)
    step = choose_step(first or last, last)
    spans = split_period(first, last, step) if first else ()
    before = (first - timedelta(days=days), first - timedelta(days=1)) if first and days else None
    quarters = [quarters_between(begin, end, zone) for begin, end in spans]
    quarters.append(quarters_between(*before, zone) if before else engagement.UNDATED)
    *sums, rest = engagement.sum_spans(conn, user_id, quarters)
    undated, sums_before = ((), rest) if before else (rest, ())
    chosen = metric or choose_metric(build_figures(_sum_kinds(chain(undated, *sums))))
    since = start_of_day(first or last, zone)
    # The metrics of newer posts still change: compared with older ones they would make their hour look worse.
    until = now - timedelta(hours=METRICS_AGE_HOURS)
    return _TrendInputs(
        zone=zone,
        metric=chosen,
        first=first,
        last=last,
        step=step,
        spans=spans,
        sums=tuple(sums),
        undated=undated,
        before=before,
        sums_before=sums_before,
        measured=engagement.list_measured(conn, user_id, chosen, since, until, MAX_TESTED_POSTS),
    )


def _first_day(conn: Transaction, user_id: str, zone: ZoneInfo) -> date | None:
    number = engagement.get_first_quarter(conn, user_id)
    return day_of_quarter(number, zone) if number is not None else None


def _sum_kinds(kinds: Iterable[KindSums]) -> PostSums:
    return sum((kind.sums for kind in kinds), PostSums())


def _build_trends(inputs: _TrendInputs) -> EngagementTrends:
    kinds = [*inputs.undated, *chain.from_iterable(inputs.sums)]
    values = [_timed_value(post, inputs.metric, inputs.zone) for post in inputs.measured]
    best_time, hours = find_best_time(values, inputs.metric)
    return EngagementTrends(
        time_zone=inputs.zone.key,
        metric=inputs.metric,
        first=inputs.first,
        last=inputs.last,
        figures=build_figures(_sum_kinds(kinds)),
        undated=_sum_kinds(inputs.undated).posts,
        before=_period(inputs.before, inputs.sums_before) if inputs.before else None,
        step=inputs.step,
        over_time=tuple(map(_period, inputs.spans, inputs.sums)),
        by_platform=group_by_platform((kind.platform, kind.sums) for kind in kinds),
        by_format=group_by_format((kind.format, kind.sums) for kind in kinds),
        hours=hours,
        best_time=best_time,
    )


def _period(span: tuple[date, date], kinds: Iterable[KindSums]) -> PeriodFigures:
    return PeriodFigures(first=span[0], last=span[1], figures=build_figures(_sum_kinds(kinds)))


def _timed_value(post: MeasuredPost, metric: EngagementMetric, zone: ZoneInfo) -> TimedValue:
    """Return the post's metric on the scale of the test, where ratios count and a value of 0 is possible."""
    value = post.interactions if metric is EngagementMetric.INTERACTIONS else PERMILLE * (post.engagement_rate or 0.0)
    return TimedValue(post.published_at.astimezone(zone), post.platform, post.format.value, log1p(value or 0))


def _period_start(conn: Transaction, user_id: str, days: int, now: datetime) -> datetime | None:
    """Return the start of the last `days` days in the user's time zone, or None for all time."""
    if not days:
        return None
    zone = schedule.get_time_zone(conn, user_id)
    # From the local date, not in hours: a day with a clock change has 23 or 25.
    return start_of_day(now.astimezone(zone).date() - timedelta(days=days - 1), zone)


def _load_top_posts(
    conn: Transaction, user_id: str, days: int, limit: int, metric: EngagementMetric, now: datetime
) -> tuple[LivePost, ...]:
    return engagement.list_posts(conn, user_id, metric, _period_start(conn, user_id, days, now), limit)


def _load_page(
    conn: Transaction, user_id: str, limit: int, cursor: str | None, days: int, now: datetime
) -> Page[LivePost]:
    scope = ("engagement", user_id, days)
    before = decode_cursor(cursor, *scope) if cursor is not None else None
    found = engagement.list_page(conn, user_id, _period_start(conn, user_id, days, now), before, limit + 1)
    items = found[:limit]
    return Page(items=items, next_cursor=encode_cursor(items[-1].id, *scope) if len(found) > limit else None)


def _save_record(conn: Transaction, user_id: str, request: RecordEngagement, now: datetime) -> EngagementRecord:
    draft_format = engagement.get_draft_format(conn, user_id, request.draft_id)
    if draft_format is None:
        raise draft_updates.draft_not_found(request.draft_id)
    existing = _select_record(engagement.find_records(conn, user_id, request))
    record = update_record(request, existing, now, new_id=existing.id if existing else new_id(now))
    if existing is None:
        engagement.add_record(conn, user_id, record, draft_format)
    else:
        engagement.update_record(conn, user_id, record)
    if request.metrics:
        engagement.add_reading(conn, user_id, record.id, request.metrics, now, by_hand=True)
    return record


def _select_record(matching: Sequence[EngagementRecord]) -> EngagementRecord | None:
    """Return the record a platform name refers to: one created under that name, else the only one."""
    # Records of a connected account have its name; one without was entered by hand for the platform and comes first.
    if len(matching) > 1 and matching[0].account:
        names = ", ".join(f"{record.platform}:{record.account}" for record in matching)
        raise InvalidError(FieldError("platform", f"matches several accounts: {names}"))
    return matching[0] if matching else None
