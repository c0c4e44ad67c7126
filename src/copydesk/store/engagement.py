"""Engagement of posts: their delivery status, and their metrics in total and by publication time.

Triggers maintain the totals and the times of publication, see `triggers`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Text,
    UnaryExpression,
    bindparam,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from copydesk.model.delivery import Delivery, Intent, PostMetrics
from copydesk.model.draft import Format
from copydesk.model.engagement import (
    METRICS,
    EngagementMetric,
    EngagementRecord,
    LivePost,
    PostSums,
    RecordEngagement,
    TopPost,
)
from copydesk.model.serialization import Struct
from copydesk.store.column_types import ID, UtcDateTime
from copydesk.store.raw_sql import POSTGRESQL, execute_sql
from copydesk.store.tables import delivery, draft, engagement, engagement_reading, engagement_total

_COLUMNS = tuple(engagement.c[name] for name in EngagementRecord.__struct_fields__ if name != "engagement_rate")
_RECORD_COLUMNS = (*_COLUMNS, engagement.c.engagement_rate)

# Built once, because metrics arrive for many posts at a time.
_FORMAT = select(draft.c.format).where(draft.c.id == bindparam("draft"), draft.c.user_id == bindparam("user"))
_PLATFORM = bindparam("platform", type_=Text)
_MATCHING = (
    select(*_RECORD_COLUMNS)
    .where(engagement.c.draft_id == bindparam("draft"), engagement.c.user_id == bindparam("user"))
    .where(or_(engagement.c.platform == _PLATFORM, engagement.c.platform + ":" + engagement.c.account == _PLATFORM))
    # A record entered by hand for a platform has an empty account, which sorts first.
    .order_by(engagement.c.account, engagement.c.id)
)
_INSERT = insert(engagement)
_UPDATE = (
    update(engagement)
    .where(engagement.c.id == bindparam("b_id"), engagement.c.user_id == bindparam("b_user"))
    .values({column.name: bindparam(column.name) for column in _COLUMNS if column.name != "id"})
)
# As literals, as in the partial indexes: with bound values SQLite would not use it.
_TOP = (
    select(
        engagement.c.draft_id,
        draft.c.text.label("draft_text"),
        engagement.c.format,
        *(engagement.c[name] for name in ("platform", "likes", "replies", "reposts", "impressions", "engagement_rate")),
        draft.c.posted_at,
    )
    .join(draft, draft.c.id == engagement.c.draft_id)
    .where(engagement.c.user_id == bindparam("user"), text("engagement.status = 'posted'"))
    .where(text("engagement.interactions IS NOT NULL"))
    .order_by(
        *(engagement.c[name].desc().nulls_last() for name in ("interactions", "engagement_rate")),
        engagement.c.id.desc(),
    )
    .limit(bindparam("most"))
)
_TOTALS = select(*(column for column in engagement_total.c if column.name != "user_id"))

MAX_POST_TEXT_LENGTH = 500
"""Characters."""

_SUM_COLUMNS = ", ".join(f"sum({name})" for name in PostSums.__struct_fields__)
_SPANS: Final = {
    "sqlite": "json_each(?) AS span",
    POSTGRESQL: "(SELECT row_number() OVER () - 1 AS key, value FROM json_array_elements(?)) AS span",
}
# From the spans to the rows: each span is a range of the primary key.
_SUMS: Final = {
    dialect: f"""SELECT span.key, platform, format, {_SUM_COLUMNS} FROM {spans}
    CROSS JOIN engagement_quarter_hour ON user_id = ?
        AND quarter_hour >= CAST(span.value ->> 0 AS BIGINT) AND quarter_hour < CAST(span.value ->> 1 AS BIGINT)
    GROUP BY span.key, platform, format HAVING sum(posts) > 0
    ORDER BY span.key, platform, format"""  # noqa: S608 - names of fields
    for dialect, spans in _SPANS.items()
}
_FIRST_QUARTER: Final = """SELECT min(quarter_hour) FROM engagement_quarter_hour
    WHERE user_id = ? AND quarter_hour >= 0 AND posts > 0"""
UNDATED: Final = (-1, 0)
"""The span of the posts without a time."""

_USER = bindparam("owner", type_=ID)
_SINCE = bindparam("since", type_=UtcDateTime)
_POST_COLUMNS = tuple(engagement.c[name] for name in LivePost.__struct_fields__ if name not in {"text", "url"})
# A literal, as in the partial indexes: with a bound value SQLite would not use them.
_IS_LIVE = (engagement.c.user_id == _USER, engagement.c.status == text("'posted'"))
_ORDERS = {
    EngagementMetric.RATE: ("engagement_rate", "interactions", "id"),
    EngagementMetric.INTERACTIONS: ("interactions", "engagement_rate", "id"),
}
_VALUES = (
    select(*(engagement.c[name] for name in ("published_at", "platform", "format", "interactions", "engagement_rate")))
    .where(*_IS_LIVE, engagement.c.published_at >= _SINCE)
    .where(engagement.c.published_at < bindparam("until", type_=UtcDateTime))
    .order_by(engagement.c.published_at.desc())
    .limit(bindparam("most"))
)
VALUE_QUERIES = {
    EngagementMetric.RATE: _VALUES.where(engagement.c.engagement_rate.is_not(None)),
    EngagementMetric.INTERACTIONS: _VALUES.where(engagement.c.interactions.is_not(None)),
}

_IS_RECENT = engagement.c.published_at >= _SINCE
_OLDER = engagement.c.id < bindparam("before", type_=ID)


class EngagementTotal(Struct, frozen=True):
    """Totals of the posts of one format on one platform."""

    platform: str
    format: Format
    posts: int
    measured: int
    """Posts with at least one known metric."""
    rated: int
    """Posts with a known engagement rate; the last two totals are over these."""
    likes: int
    replies: int
    reposts: int
    impressions: int
    clicks: int
    rated_interactions: int
    rated_impressions: int


def get_draft_format(conn: Connection, user_id: str, draft_id: str) -> Format | None:
    """Return the format of the draft, or None if the user has no such draft."""
    return conn.execute(_FORMAT, {"draft": draft_id, "user": user_id}).scalar()


def find_records(conn: Connection, user_id: str, request: RecordEngagement) -> tuple[EngagementRecord, ...]:
    """Return the records of the draft for the platform or account named in `request`; manual records come first."""
    rows = conn.execute(_MATCHING, {"draft": request.draft_id, "platform": request.platform, "user": user_id})
    return tuple(EngagementRecord(**row._mapping) for row in rows)


def add_record(conn: Connection, user_id: str, record: EngagementRecord, format: Format) -> None:
    """Insert the first record of a draft on a platform."""
    conn.execute(_INSERT, {"user_id": user_id, "format": format, **_record_values(record)})


def update_record(conn: Connection, user_id: str, record: EngagementRecord) -> None:
    """Update an existing record."""
    values = {name: value for name, value in _record_values(record).items() if name != "id"}
    conn.execute(_UPDATE, {"b_id": record.id, "b_user": user_id, **values})


def save_metrics(conn: Connection, user_id: str, record_id: str, metrics: PostMetrics, now: datetime) -> None:
    """Store the metrics that a platform reports for a post. Metrics that it does not report keep their value."""
    reported = {name: value for name in METRICS if (value := getattr(metrics, name)) is not None}
    add_reading(conn, user_id, record_id, {name: getattr(metrics, name) for name in METRICS}, now, by_hand=False)
    conditions = (engagement.c.user_id == user_id, engagement.c.id == record_id)
    conn.execute(update(engagement).where(*conditions).values(measured_at=now, **reported))


def add_reading(
    conn: Connection, user_id: str, record_id: str, metrics: Mapping[str, int | None], now: datetime, *, by_hand: bool
) -> None:
    """Insert a reading of metrics. The record itself has the latest value of each, whichever reading brought it."""
    values = {"user_id": user_id, "engagement_id": record_id, "at": now, "by_hand": by_hand, **metrics}
    conn.execute(insert(engagement_reading).values(**values))


def list_totals(conn: Connection, user_id: str) -> tuple[EngagementTotal, ...]:
    """Return the totals of the user's posts, one for each platform and format with a post."""
    rows = conn.execute(_TOTALS.where(engagement_total.c.user_id == user_id))
    return tuple(EngagementTotal(**row._mapping) for row in rows)


def list_top(conn: Connection, user_id: str, limit: int) -> tuple[TopPost, ...]:
    """Return the user's best posts by interactions, then engagement rate; see EngagementSummary."""
    return tuple(TopPost(**row._mapping) for row in conn.execute(_TOP, {"user": user_id, "most": limit}))


def _record_values(record: EngagementRecord) -> dict[str, object]:
    return {column.name: getattr(record, column.name) for column in _COLUMNS}


def _descending(columns: ReadOnlyColumnCollection[str, Any], order: Iterable[str]) -> list[UnaryExpression[Any]]:
    return [columns[name].desc() if name == "id" else columns[name].desc().nulls_last() for name in order]


def _posts_query(order: Iterable[str], *conditions: ColumnElement[bool]) -> Select[Any]:
    ranked = select(*_POST_COLUMNS).where(*_IS_LIVE, *conditions)
    # Limit first: the texts and payloads are then read for the rows returned only.
    best = ranked.order_by(*_descending(engagement.c, order)).limit(bindparam("most")).subquery("best")
    url_columns: tuple[Column[Any], ...] = (delivery.c.progress, delivery.c.intent)
    return (
        select(best, func.substr(draft.c.text, 1, MAX_POST_TEXT_LENGTH).label("text"), *url_columns)
        .join(draft, draft.c.id == best.c.draft_id)
        .join(delivery, delivery.c.id == best.c.id, isouter=True)
        .order_by(*_descending(best.c, order))
    )


POST_QUERIES = {
    (metric, is_limited): _posts_query(order, *((_IS_RECENT,) if is_limited else ()))
    for metric, order in _ORDERS.items()
    for is_limited in (False, True)
}
"""By metric and `since is not None`. Built once."""
PAGE_QUERIES = {
    (is_limited, is_continued): _posts_query(
        ("id",), *((_IS_RECENT,) if is_limited else ()), *((_OLDER,) if is_continued else ())
    )
    for is_limited in (False, True)
    for is_continued in (False, True)
}
"""By `since is not None` and `before is not None`."""


class KindSums(Struct, frozen=True):
    """Sums of the posts of one format on one platform."""

    platform: str
    format: Format
    sums: PostSums


class MeasuredPost(Struct, frozen=True):
    """A post with the metrics by which times are compared."""

    published_at: datetime
    platform: str
    format: Format
    interactions: int | None
    engagement_rate: float | None


def get_first_quarter(conn: Connection, user_id: str) -> int | None:
    """Return the first quarter of an hour with a post, or None without any."""
    number: int | None = execute_sql(conn, _FIRST_QUARTER, (user_id,)).fetchone()[0]
    return number


def sum_spans(conn: Connection, user_id: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[KindSums, ...], ...]:
    """Return the sums of each span by platform and format.

    A span is from its first quarter of an hour up to the second, which is not included.
    """
    found: list[list[KindSums]] = [[] for _ in spans]
    for number, platform, name, *values in execute_sql(
        conn, _SUMS[conn.dialect.name], (msgspec.json.encode(spans).decode(), user_id)
    ):
        found[number].append(KindSums(platform=platform, format=Format(name), sums=PostSums(*values)))
    return tuple(map(tuple, found))


def list_measured(
    conn: Connection, user_id: str, metric: EngagementMetric, since: datetime, until: datetime, limit: int
) -> tuple[MeasuredPost, ...]:
    """Return the newest posts with the metric that were published from `since` to before `until`."""
    values = {"owner": user_id, "since": since, "until": until, "most": limit}
    return tuple(MeasuredPost(**row._mapping) for row in conn.execute(VALUE_QUERIES[metric], values))


def list_posts(
    conn: Connection, user_id: str, metric: EngagementMetric, since: datetime | None, limit: int
) -> tuple[LivePost, ...]:
    """Return the best posts published since `since`, or of all; those without the metric come last."""
    values = {"owner": user_id, "most": limit} | ({"since": since} if since is not None else {})
    rows = conn.execute(POST_QUERIES[metric, since is not None], values)
    return tuple(_post(row._mapping) for row in rows)


def list_page(
    conn: Connection, user_id: str, since: datetime | None, before: str | None, limit: int
) -> tuple[LivePost, ...]:
    """Return posts published since `since`, or any, whose record is older than `before`; newest records first."""
    optional = {"since": since, "before": before}
    values = {"owner": user_id, "most": limit} | {name: value for name, value in optional.items() if value is not None}
    rows = conn.execute(PAGE_QUERIES[since is not None, before is not None], values)
    return tuple(_post(row._mapping) for row in rows)


def _post(row: RowMapping) -> LivePost:
    values = {name: row[name] for name in LivePost.__struct_fields__ if name != "url"}
    return LivePost(**values, url=_url(row["progress"], row["intent"]))


def _url(progress: Delivery | None, intent: Intent | None) -> str:
    """Return the address of the first post of a delivery, or an empty string."""
    visible_posts = progress.public_results(intent) if progress else ()
    return next((url for visible_post in visible_posts for url in visible_post.urls), "")
