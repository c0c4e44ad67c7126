"""Engagement of posts: their delivery status, and their metrics in total and by publication time.

Triggers maintain the totals, see `triggers`. A delivery was published when it was sent, a post recorded by hand when
its draft was marked as posted.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    RowMapping,
    Select,
    Subquery,
    Text,
    bindparam,
    func,
    insert,
    or_,
    select,
    text,
    type_coerce,
    union_all,
    update,
)

from copydesk.model.delivery import Delivery, Intent, PostMetrics
from copydesk.model.draft import Format
from copydesk.model.engagement import (
    METRICS,
    EngagementRecord,
    FormatSummary,
    LivePost,
    MetricSum,
    RateSummary,
    RecordEngagement,
    TopPost,
)
from copydesk.model.serialization import Struct
from copydesk.store.column_types import ID, UtcDateTime
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
# As literals, as in the partial index: with bound values SQLite would not use it.
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
    .order_by(engagement.c.engagement_rate.desc(), engagement.c.interactions.desc(), engagement.c.id.desc())
    .limit(bindparam("most"))
)
_TOTALS = select(*(column for column in engagement_total.c if column.name != "user_id"))


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
    """Return the user's best posts by engagement rate, then interactions; see EngagementSummary."""
    return tuple(TopPost(**row._mapping) for row in conn.execute(_TOP, {"user": user_id, "most": limit}))


def _record_values(record: EngagementRecord) -> dict[str, object]:
    return {column.name: getattr(record, column.name) for column in _COLUMNS}


QUARTER_HOUR_SECONDS = 15 * 60
"""Seconds. The offsets of all time zones are multiples of it, so sums by quarter can be mapped to any local day."""
MAX_POST_TEXT_LENGTH = 500
"""Characters."""

_USER = bindparam("owner", type_=ID)
_SINCE = bindparam("since", type_=UtcDateTime)
_POST_COLUMNS = (
    "id",
    "draft_id",
    "platform",
    "account",
    "format",
    *METRICS,
    "interactions",
    "engagement_rate",
    "measured_at",
)


class QuarterHour(Struct, frozen=True):
    """The posts published within a quarter of an hour."""

    number: int
    """Quarters of an hour since 1970."""
    rate: RateSummary


def _published(tables: FromClause, at: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Return the published posts of the user in `tables`, with their publication time."""
    columns = (engagement.c[name] for name in _POST_COLUMNS)
    # A literal, as in the partial index: with a bound value SQLite would not use it.
    posted = (engagement.c.user_id == _USER, engagement.c.status == text("'posted'"))
    return select(*columns, at.label("at")).select_from(tables).where(*posted, *conditions)


def _all_posts() -> Subquery:
    tables = engagement.join(draft, draft.c.id == engagement.c.draft_id)
    tables = tables.join(delivery, delivery.c.id == engagement.c.id, isouter=True)
    return _published(tables, func.coalesce(delivery.c.sent_at, draft.c.posted_at, type_=UtcDateTime)).subquery("post")


def _posts_since() -> Subquery:
    """Return the posts published since a time, as the union of two queries with an index each."""
    sent = _published(
        delivery.join(engagement, engagement.c.id == delivery.c.id),
        delivery.c.sent_at,
        delivery.c.user_id == _USER,
        delivery.c.sent_at >= _SINCE,
    )
    tables = draft.join(engagement, engagement.c.draft_id == draft.c.id)
    by_hand = _published(
        tables.join(delivery, delivery.c.id == engagement.c.id, isouter=True),
        draft.c.posted_at,
        draft.c.user_id == _USER,
        draft.c.posted_at >= _SINCE,
        delivery.c.sent_at.is_(None),
    )
    return union_all(sent, by_hand).subquery("post")


def _rate_columns(post: Subquery) -> tuple[ColumnElement[Any], ...]:
    """Return the sums over rated posts, computed as by the triggers: interactions count up to the impressions."""
    rated = post.c.engagement_rate.is_not(None)
    # A platform may report interactions before the impressions they belong to.
    interactions = func.min(post.c.interactions, post.c.impressions)
    return (
        func.count().label("posts"),
        func.count(post.c.engagement_rate).label("rated"),
        func.coalesce(func.sum(interactions).filter(rated), 0).label("rated_interactions"),
        func.coalesce(func.sum(post.c.impressions).filter(rated), 0).label("rated_impressions"),
    )


def _kinds_query(post: Subquery) -> Select[Any]:
    measured = func.count(func.coalesce(post.c.interactions, post.c.impressions)).label("measured")
    sums = [func.coalesce(func.sum(post.c[name]), 0).label(name) for name in METRICS]
    count_columns = [func.count(post.c[name]).label(f"known_{name}") for name in METRICS]
    kind = (post.c.platform, post.c.format)
    return select(*kind, *_rate_columns(post), measured, *sums, *count_columns).group_by(*kind).order_by(*kind)


def _quarters_query(post: Subquery) -> Select[Any]:
    number = (type_coerce(post.c.at, BigInteger) // (QUARTER_HOUR_SECONDS * 1_000_000)).label("number")
    return select(number, *_rate_columns(post)).where(post.c.at.is_not(None)).group_by(number).order_by(number)


def _posts_query(post: Subquery) -> Select[Any]:
    best = select(post).order_by(post.c.engagement_rate.desc(), post.c.interactions.desc(), post.c.id.desc())
    # Limit first: the texts and payloads are then read for the rows returned only.
    best_posts = best.limit(bindparam("most")).subquery("best")
    url_columns: tuple[Column[Any], ...] = (delivery.c.progress, delivery.c.intent)
    return (
        select(best_posts, func.substr(draft.c.text, 1, MAX_POST_TEXT_LENGTH).label("text"), *url_columns)
        .join(draft, draft.c.id == best_posts.c.draft_id)
        .join(delivery, delivery.c.id == best_posts.c.id, isouter=True)
        .order_by(best_posts.c.engagement_rate.desc(), best_posts.c.interactions.desc(), best_posts.c.id.desc())
    )


KIND_QUERIES = {False: _kinds_query(_all_posts()), True: _kinds_query(_posts_since())}
"""By `since is not None`. Built once."""
QUARTER_QUERIES = {False: _quarters_query(_all_posts()), True: _quarters_query(_posts_since())}
POST_QUERIES = {False: _posts_query(_all_posts()), True: _posts_query(_posts_since())}


def sum_by_kind(conn: Connection, user_id: str, since: datetime | None) -> tuple[FormatSummary, ...]:
    """Return the sums of the posts published since `since`, or of all posts, by platform and format."""
    sums = []
    for row in conn.execute(KIND_QUERIES[since is not None], _bind_values(user_id, since)):
        values = row._mapping
        metrics = {name: MetricSum(total=values[name], posts=values[f"known_{name}"]) for name in METRICS}
        sums.append(
            FormatSummary(
                platform=row.platform,
                format=row.format,
                measured=row.measured,
                rate=_rate_of(row),
                metrics=metrics,
            )
        )
    return tuple(sums)


def sum_by_quarter_hour(conn: Connection, user_id: str, since: datetime | None) -> tuple[QuarterHour, ...]:
    """Return the posts published since `since`, or all with a known time, by quarter of an hour, ascending."""
    rows = conn.execute(QUARTER_QUERIES[since is not None], _bind_values(user_id, since))
    return tuple(QuarterHour(number=row.number, rate=_rate_of(row)) for row in rows)


def list_posts(conn: Connection, user_id: str, since: datetime | None, limit: int) -> tuple[LivePost, ...]:
    """Return at most `limit` posts published since `since`, or of all posts, best first.

    Ordered by rate, then by interactions; posts without metrics come last, newest first.
    """
    rows = conn.execute(POST_QUERIES[since is not None], _bind_values(user_id, since) | {"most": limit})
    return tuple(_post(row._mapping) for row in rows)


def _bind_values(user_id: str, since: datetime | None) -> dict[str, object]:
    return {"owner": user_id} | ({"since": since} if since is not None else {})


def _rate_of(row: Row[Any]) -> RateSummary:
    return RateSummary(
        posts=row.posts, rated=row.rated, interactions=row.rated_interactions, impressions=row.rated_impressions
    )


def _post(row: RowMapping) -> LivePost:
    values = {name: row[name] for name in LivePost.__struct_fields__ if name != "url"}
    return LivePost(**values, url=_url(row["progress"], row["intent"]))


def _url(progress: Delivery | None, intent: Intent | None) -> str:
    """Return the address of the first post of a delivery, or an empty string."""
    visible_posts = progress.public_results(intent) if progress else ()
    return next((url for visible_post in visible_posts for url in visible_post.urls), "")
