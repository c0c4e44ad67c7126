"""Engagement: figures are recorded for a draft on a platform, and summed up over all posts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from copydesk.desk import trends
from copydesk.desk.ground import Ground
from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.model.engagement import (
    EngagementRecord,
    EngagementSummary,
    FormatEngagement,
    PlatformEngagement,
    RecordEngagement,
    TopPost,
    checked_record,
    recorded,
)
from copydesk.model.trend import KindSum, LivePost, Span, Step, WeekHour
from copydesk.store import engagement, live, schedule
from copydesk.store.engagement import Total
from copydesk.store.ids import new_id

MOST_TOP = 50


class Engagements:
    """What came back of what was posted."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def record(self, given: RecordEngagement | Mapping[str, object]) -> EngagementRecord:
        """Record or update what is known of a draft on a platform; what is not given stays as it was.

        Figures, or a post's id, without a status make the record posted; the draft itself is not changed. Raises
        InvalidError with every field, NotFoundError where there is none of the user's drafts with this id.
        """
        asked = checked_record(given)
        return await self._ground.write(_record, asked, self._ground.clock())

    async def summary(self, top: int = 10) -> EngagementSummary:
        """How the user's posts did, with the `top` best ones. InvalidError for a `top` outside 1 to 50."""
        if type(top) is not int or not 1 <= top <= MOST_TOP:
            raise InvalidError(FieldError("top", f"takes a whole number of 1 to {MOST_TOP}"))
        totals, best = await self._ground.read(_summary, top)
        return summed_up(totals, best)

    async def since(self, days: int) -> datetime:
        """When the first of the last `days` days began on the user's clock; today is the last of them."""
        zone = await self._ground.read(schedule.zone)
        first = self._ground.clock().astimezone(zone).date() - timedelta(days=days - 1)
        return datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(UTC)

    async def by_kind(self, since: datetime | None = None) -> tuple[KindSum, ...]:
        """The posts that went out since, or all of them, by platform and format."""
        return await self._ground.read(live.kinds, since)

    async def over_time(self, since: datetime | None = None, step: Step = Step.DAY) -> tuple[Span, ...]:
        """The posts that went out since, day by day, or all of which it is known when; spans without any, too."""
        zone, quarters = await self._ground.read(_quarters, since)
        first = since.astimezone(zone).date() if since else None
        return trends.over_time(quarters, zone, first, self._ground.clock().astimezone(zone).date(), step)

    async def by_hour(self, since: datetime | None = None) -> tuple[WeekHour, ...]:
        """The same posts by the hours of the week in which they went out; hours without any are left out."""
        zone, quarters = await self._ground.read(_quarters, since)
        return trends.by_hour(quarters, zone)

    async def posts(self, since: datetime | None = None, limit: int = MOST_TOP) -> tuple[LivePost, ...]:
        """The posts that went out since, or all: the best first, those of which nothing is known last."""
        return await self._ground.read(live.posts, since, limit)


def summed_up(totals: Iterable[Total], top: tuple[TopPost, ...]) -> EngagementSummary:
    """The summary that these sums, one for each platform and format, come to."""
    every = [total for total in totals if total.posts]
    return EngagementSummary(
        total_posted=_sum(every, "posts"),
        total_with_metrics=_sum(every, "measured"),
        avg_engagement_rate=_average(every),
        total_likes=_sum(every, "likes"),
        total_replies=_sum(every, "replies"),
        total_reposts=_sum(every, "reposts"),
        total_impressions=_sum(every, "impressions"),
        top_posts=top,
        by_format=tuple(FormatEngagement(format=name, **figures) for name, figures in _by(every, "format")),
        by_platform=tuple(PlatformEngagement(platform=name, **figures) for name, figures in _by(every, "platform")),
        rated=_sum(every, "rated"),
        total_clicks=_sum(every, "clicks"),
    )


def _by(totals: list[Total], name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each platform or format with its figures, that with the most posts first."""
    groups = [(key, list(some)) for key, some in groupby(sorted(totals, key=attrgetter(name)), key=attrgetter(name))]
    for key, some in sorted(groups, key=lambda group: -_sum(group[1], "posts")):
        count, rated = _sum(some, "posts"), _sum(some, "rated")
        yield key, {"count": count, "avg_engagement_rate": _average(some), "rated": rated}


def _sum(totals: Iterable[Total], name: str) -> int:
    return sum(getattr(total, name) for total in totals)


def _average(totals: list[Total]) -> float:
    """The rate of all posts that have one, weighted by their impressions."""
    impressions = _sum(totals, "rated_impressions")
    return _sum(totals, "rated_interactions") / impressions if impressions else 0.0


def _summary(conn: Connection, user_id: str, top: int) -> tuple[tuple[Total, ...], tuple[TopPost, ...]]:
    return engagement.totals(conn, user_id), engagement.top(conn, user_id, top)


def _quarters(conn: Connection, user_id: str, since: datetime | None) -> tuple[ZoneInfo, tuple[live.Quarter, ...]]:
    return schedule.zone(conn, user_id), live.quarters(conn, user_id, since)


def _record(conn: Connection, user_id: str, asked: RecordEngagement, now: datetime) -> EngagementRecord:
    kind = engagement.format_of(conn, user_id, asked.draft_id)
    if kind is None:
        raise NotFoundError(f"There is no draft {asked.draft_id!r}.", hint="`copydesk draft list` shows them all.")
    before = _meant(engagement.matching(conn, user_id, asked))
    record = recorded(asked, before, now, new_id=before.id if before else new_id(now))
    if before is None:
        engagement.add(conn, user_id, record, kind)
    else:
        engagement.change(conn, user_id, record)
    if asked.figures:
        engagement.read(conn, user_id, record.id, asked.figures, now, by_hand=True)
    return record


def _meant(matching: Sequence[EngagementRecord]) -> EngagementRecord | None:
    """The record that is meant where a platform is named: the one that was made for it, else the only one."""
    if len(matching) > 1 and matching[0].account:
        names = ", ".join(f"{each.platform}:{each.account}" for each in matching)
        raise InvalidError(FieldError("platform", f"means several accounts; name one of {names}"))
    return matching[0] if matching else None
