"""What came back of posts, as it is kept; its sums are kept by triggers, see `triggers`."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, Text, bindparam, insert, or_, select, text, update

from copydesk.model.delivery import Figures
from copydesk.model.draft import Format
from copydesk.model.engagement import FIGURES, EngagementRecord, RecordEngagement, TopPost
from copydesk.model.wire import Struct
from copydesk.store.tables import draft, engagement, engagement_reading, engagement_total

_KEPT = tuple(engagement.c[name] for name in EngagementRecord.__struct_fields__ if name != "engagement_rate")
_SHOWN = (*_KEPT, engagement.c.engagement_rate)

# Made once, for the platforms' figures come for many posts at a time.
_FORMAT = select(draft.c.format).where(draft.c.id == bindparam("draft"), draft.c.user_id == bindparam("user"))
_PLATFORM = bindparam("platform", type_=Text)
_MATCHING = (
    select(*_SHOWN)
    .where(engagement.c.draft_id == bindparam("draft"), engagement.c.user_id == bindparam("user"))
    .where(or_(engagement.c.platform == _PLATFORM, engagement.c.platform + ":" + engagement.c.account == _PLATFORM))
    .order_by(engagement.c.account, engagement.c.id)
)
_ADD = insert(engagement)
_CHANGE = (
    update(engagement)
    .where(engagement.c.id == bindparam("b_id"), engagement.c.user_id == bindparam("b_user"))
    .values({column.name: bindparam(column.name) for column in _KEPT if column.name != "id"})
)
# The conditions are those of the index, word for word: with bound values SQLite would not take it.
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


class Total(Struct, frozen=True):
    """The sums of the posts of one format on one platform."""

    platform: str
    format: Format
    posts: int
    measured: int
    """Of which any figure is known."""
    rated: int
    """Of which the rate is known; the last two sums are theirs."""
    likes: int
    replies: int
    reposts: int
    impressions: int
    clicks: int
    rated_interactions: int
    rated_impressions: int


def format_of(conn: Connection, user_id: str, draft_id: str) -> Format | None:
    """The format of one of the user's drafts; None where it is none of theirs."""
    return conn.execute(_FORMAT, {"draft": draft_id, "user": user_id}).scalar()


def matching(conn: Connection, user_id: str, asked: RecordEngagement) -> tuple[EngagementRecord, ...]:
    """What is known of the draft on the platform, or the account, that `asked` names: one recorded by hand first."""
    rows = conn.execute(_MATCHING, {"draft": asked.draft_id, "platform": asked.platform, "user": user_id})
    return tuple(EngagementRecord(**row._mapping) for row in rows)


def add(conn: Connection, user_id: str, record: EngagementRecord, format: Format) -> None:
    """Keep the first record of a draft on a platform."""
    conn.execute(_ADD, {"user_id": user_id, "format": format, **_values(record)})


def change(conn: Connection, user_id: str, record: EngagementRecord) -> None:
    """Keep what is new of a record that is there."""
    values = {name: value for name, value in _values(record).items() if name != "id"}
    conn.execute(_CHANGE, {"b_id": record.id, "b_user": user_id, **values})


def measured(conn: Connection, user_id: str, record_id: str, figures: Figures, now: datetime) -> None:
    """Keep what a platform reports of a post; a figure that it does not report stays as it was."""
    known = {name: value for name in FIGURES if (value := getattr(figures, name)) is not None}
    read(conn, user_id, record_id, {name: getattr(figures, name) for name in FIGURES}, now, by_hand=False)
    mine = (engagement.c.user_id == user_id, engagement.c.id == record_id)
    conn.execute(update(engagement).where(*mine).values(measured_at=now, **known))


def read(
    conn: Connection, user_id: str, record_id: str, figures: Mapping[str, int | None], now: datetime, *, by_hand: bool
) -> None:
    """Keep a reading as it was: the record has the latest of each figure, whoever said it."""
    values = {"user_id": user_id, "engagement_id": record_id, "at": now, "by_hand": by_hand, **figures}
    conn.execute(insert(engagement_reading).values(**values))


def totals(conn: Connection, user_id: str) -> tuple[Total, ...]:
    """The sums of the user's posts, a row for each platform and format that has any."""
    rows = conn.execute(_TOTALS.where(engagement_total.c.user_id == user_id))
    return tuple(Total(**row._mapping) for row in rows)


def top(conn: Connection, user_id: str, most: int) -> tuple[TopPost, ...]:
    """The user's best posts, see EngagementSummary."""
    return tuple(TopPost(**row._mapping) for row in conn.execute(_TOP, {"user": user_id, "most": most}))


def _values(record: EngagementRecord) -> dict[str, object]:
    return {column.name: getattr(record, column.name) for column in _KEPT}
