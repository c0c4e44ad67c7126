"""Engagement metrics: collected, recorded per draft and platform, summed up by platform and format and over time.

The store sums by quarter of an hour, the finest offset of any time zone; the sums by day, week, month and hour of the
week in the user's time zone are derived from these. Metrics are collected from the platforms soon after publishing,
then less and less often.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain, groupby
from operator import attrgetter
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec

from copydesk.desk.accounts.credentials import login_error_hint
from copydesk.desk.context import DeskContext
from copydesk.desk.leases import account_lease
from copydesk.desk.operation import operation
from copydesk.errors import CopydeskError, FieldError, InvalidError, NotFoundError, StoreError
from copydesk.model.delivery import ConnectedAccount, PostMetrics
from copydesk.model.engagement import (
    EngagementRecord,
    EngagementSummary,
    FormatEngagement,
    FormatSummary,
    HourSummary,
    Interval,
    LivePost,
    PeriodSummary,
    PlatformEngagement,
    RateSummary,
    RecordEngagement,
    TopPost,
    update_record,
    validate_record,
)
from copydesk.model.experiment import METRICS_AGE_HOURS
from copydesk.posting.platform import LoginError, NotSentError
from copydesk.store import accounts, deliveries, engagement, schedule
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.engagement import QUARTER_HOUR_SECONDS, EngagementTotal, QuarterHour
from copydesk.store.ids import new_id

MAX_TOP_POSTS = 50
TopCount = Annotated[
    int, msgspec.Meta(ge=1, le=MAX_TOP_POSTS, description=f"takes a whole number from 1 to {MAX_TOP_POSTS}")
]


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


class Engagements:
    """The engagement records of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

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
    async def period_start(self, days: int) -> datetime:
        """Return the start (UTC) of the last `days` days in the user's time zone; today is the last of them."""
        zone = await self._ctx.read(schedule.get_time_zone)
        # From the local date, not in hours: a day with a clock change has 23 or 25.
        first = self._ctx.clock().astimezone(zone).date() - timedelta(days=days - 1)
        return datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(UTC)

    @operation
    async def by_platform_and_format(self, since: datetime | None = None) -> tuple[FormatSummary, ...]:
        """Return sums of the posts published since then, or of all, by platform and format."""
        return await self._ctx.read(engagement.sum_by_kind, since)

    @operation
    async def over_time(
        self, since: datetime | None = None, step: Interval = Interval.DAY
    ) -> tuple[PeriodSummary, ...]:
        """Return sums per step (day, week, …) since then, or over all dated posts, including empty spans."""
        zone, quarters = await self._ctx.read(_load_quarters, since)
        first = since.astimezone(zone).date() if since else None
        return metrics_by_span(quarters, zone, first, self._ctx.clock().astimezone(zone).date(), step)

    @operation
    async def by_hour(self, since: datetime | None = None) -> tuple[HourSummary, ...]:
        """Return sums of the same posts by hour of the week; hours without posts are left out."""
        zone, quarters = await self._ctx.read(_load_quarters, since)
        return metrics_by_hour(quarters, zone)

    @operation
    async def posts(self, since: datetime | None = None, limit: int = MAX_TOP_POSTS) -> tuple[LivePost, ...]:
        """Return the posts published since then, or all, best first; posts without metrics come last."""
        return await self._ctx.read(engagement.list_posts, since, limit)


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


def _load_quarters(
    conn: Transaction, user_id: str, since: datetime | None
) -> tuple[ZoneInfo, tuple[engagement.QuarterHour, ...]]:
    return schedule.get_time_zone(conn, user_id), engagement.sum_by_quarter_hour(conn, user_id, since)


def _save_record(conn: Transaction, user_id: str, request: RecordEngagement, now: datetime) -> EngagementRecord:
    draft_format = engagement.get_draft_format(conn, user_id, request.draft_id)
    if draft_format is None:
        raise NotFoundError(f"No draft {request.draft_id!r}.", hint="List all drafts: `copydesk draft list`.")
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


log = logging.getLogger(__name__)
METRIC_READ_DELAYS = tuple(timedelta(hours=hours) for hours in (1, 6, 24, METRICS_AGE_HOURS, 7 * 24, 29 * 24))
"""Ages of a post at which metrics are read. X reports clicks for 30 days, so the last reading is on day 29."""
METRIC_RETRY_DELAY = timedelta(minutes=15)
"""Delay before a failed reading is retried, unless the platform names a time."""


def next_metrics_time(sent_at: datetime, now: datetime) -> datetime | None:
    """Return the time of a post's next metrics reading, or None after the last one."""
    return next((sent_at + after for after in METRIC_READ_DELAYS if sent_at + after > now), None)


async def collect_metrics(ctx: DeskContext) -> int:
    """Read all metrics that are due, in as few requests as each platform allows; return the number of posts."""
    due = await ctx.read(deliveries.list_due_for_metrics, ctx.clock())
    count = 0
    for account_id, rows in groupby(due, key=lambda row: row.account_id):
        count += await _collect_account(ctx, account_id, list(rows))
    return count


async def _collect_account(ctx: DeskContext, account_id: str | None, due: Sequence[DeliveryRow]) -> int:
    """Read the due posts of one account; posts without an id, or of a removed account, are not read again."""
    account = await ctx.read(accounts.get, account_id) if account_id else None
    by_post_id: dict[str, list[DeliveryRow]] = {}
    for row in due:
        if post_id := _post_id(row):
            by_post_id.setdefault(post_id, []).append(row)
    unreadable = [row for row in due if account is None or _post_id(row) is None]
    # Clear their next reading, or they would be due forever.
    await ctx.write(_set_next_reading, unreadable, None)
    if account is None or not by_post_id:
        return 0
    async with account_lease(ctx, account.id) as claim_id:
        if claim_id is None:
            return 0  # the account is sending; the next tick comes soon
        return await _collect_posts(ctx, account, by_post_id)


async def _collect_posts(
    ctx: DeskContext, account: ConnectedAccount, by_post_id: Mapping[str, Sequence[DeliveryRow]]
) -> int:
    try:
        metrics = await ctx.platform(account.details.platform).metrics(account.details, tuple(by_post_id))
    except Exception as error:
        if isinstance(error, StoreError):
            raise
        if isinstance(error, LoginError):
            await ctx.write(accounts.set_error, account, login_error_hint(error, account.details))
        if not isinstance(error, CopydeskError):  # a bug in one platform must not stop the others
            log.exception("Reading the figures of %s ended in an unexpected way", account.label)
        retry_at = error.retry_after if isinstance(error, NotSentError) else None
        await ctx.write(
            _set_next_reading,
            tuple(chain.from_iterable(by_post_id.values())),
            retry_at or ctx.clock() + METRIC_RETRY_DELAY,
        )
        return 0
    await ctx.write(_store_metrics, by_post_id, metrics, ctx.clock())
    return len(by_post_id)


def _post_id(row: DeliveryRow) -> str | None:
    """Return the id of the post people react to: the first of a thread."""
    visible = row.progress.public_results(row.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None


def _store_metrics(
    conn: Transaction,
    user_id: str,
    by_post_id: Mapping[str, Sequence[DeliveryRow]],
    metrics_by_post: Mapping[str, PostMetrics | None],
    now: datetime,
) -> None:
    for post_id, row in ((post_id, row) for post_id, rows in by_post_id.items() for row in rows):
        metrics = metrics_by_post.get(post_id, PostMetrics())
        # None: the platform no longer has the post.
        if metrics is None:
            deliveries.mark_deleted_remotely(conn, user_id, row.id, now)
            continue
        if metrics != PostMetrics():
            engagement.save_metrics(conn, user_id, row.id, metrics, now)
        deliveries.schedule_metrics(conn, user_id, row.id, next_metrics_time(row.sent_at or now, now))


def _set_next_reading(conn: Transaction, user_id: str, due: Sequence[DeliveryRow], at: datetime | None) -> None:
    for row in due:
        deliveries.schedule_metrics(conn, user_id, row.id, at)
