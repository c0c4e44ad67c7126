"""Engagement of posts: their delivery status and metrics. Triggers maintain the totals, see `triggers`."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, Text, bindparam, insert, or_, select, text, update

from copydesk.model.delivery import PostMetrics
from copydesk.model.draft import Format
from copydesk.model.engagement import METRICS, EngagementRecord, RecordEngagement, TopPost
from copydesk.model.serialization import Struct
from copydesk.store.tables import draft, engagement, engagement_reading, engagement_total

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
