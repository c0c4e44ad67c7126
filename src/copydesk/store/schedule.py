"""The user's weekly posting slots, and drafts by scheduled time: those that have one or may be given one."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, exists, func, insert, select, tuple_

from copydesk.model.draft import Format, Status
from copydesk.model.schedule import Slot
from copydesk.model.serialization import Struct
from copydesk.store.column_types import UtcDateTime
from copydesk.store.drafts import IS_HELD
from copydesk.store.raw_sql import chunked, send_query
from copydesk.store.tables import draft, schedule_slot

RESERVING_STATUSES = (Status.AWAITING_REVIEW, Status.SCHEDULED, Status.POSTING)
"""States in which a draft that has a time occupies it: one that awaits review is held, and approved again keeps it."""

# Lists show one line, for which a whole article need not be read.
EXCERPT_LENGTH = 200
"""Characters of the text that are loaded for display."""

_EXCERPT = func.substr(draft.c.text, 1, EXCERPT_LENGTH).label("text")
_OWN_SLOTS = schedule_slot.c.user_id == bindparam("owner")
_SLOT_COLUMNS = (schedule_slot.c.day_of_week, schedule_slot.c.hour, schedule_slot.c.minute)
_SLOTS = select(*_SLOT_COLUMNS).where(_OWN_SLOTS).order_by(*_SLOT_COLUMNS)
_CLEAR = delete(schedule_slot).where(_OWN_SLOTS)
_TAKEN = select(draft.c.scheduled_at).where(
    draft.c.user_id == bindparam("owner"),
    draft.c.status.in_(RESERVING_STATUSES),
    draft.c.scheduled_at > bindparam("after"),
)

_CANDIDATE_COLUMNS = (
    draft.c.id,
    draft.c.status,
    draft.c.archived_at.is_not(None).label("archived"),
    draft.c.confidence,
    draft.c.confidence_known,
    draft.c.total_score,
    draft.c.created_at,
    draft.c.format,
    _EXCERPT,
)
_POSTED_OR_SCHEDULED_AT = case((draft.c.status == Status.POSTED, draft.c.posted_at), else_=draft.c.scheduled_at).label(
    "at"
)
_WEEK_COLUMNS = (
    draft.c.id,
    draft.c.status,
    draft.c.format,
    _POSTED_OR_SCHEDULED_AT,
    draft.c.scheduled_wall.label("wall"),
    draft.c.scheduled_zone.label("zone"),
    case((IS_HELD, draft.c.last_error)).label("held"),
    _EXCERPT,
)
_SCHEDULED_COLUMNS = (
    draft.c.id,
    draft.c.format,
    draft.c.scheduled_at.label("at"),
    draft.c.scheduled_wall.label("wall"),
    draft.c.scheduled_zone.label("zone"),
    draft.c.target_platforms.label("platforms"),
    _EXCERPT,
)
_OWN_DRAFTS = draft.c.user_id == bindparam("owner")
_FROM, _TO = bindparam("first", type_=UtcDateTime), bindparam("last", type_=UtcDateTime)
_HAS_TIME = draft.c.scheduled_at.is_not(None)
_BY_TIME = (draft.c.scheduled_at, draft.c.id)
_APPROVED = select(*_CANDIDATE_COLUMNS).where(
    _OWN_DRAFTS, draft.c.status == Status.APPROVED, draft.c.archived_at.is_(None)
)
_BY_IDS = select(*_CANDIDATE_COLUMNS).where(_OWN_DRAFTS, draft.c.id.in_(bindparam("ids", expanding=True)))
_SCHEDULED = (
    select(*_SCHEDULED_COLUMNS).where(_OWN_DRAFTS, draft.c.status == Status.SCHEDULED, _HAS_TIME).order_by(*_BY_TIME)
)
_AFTER = _SCHEDULED.where(
    # With the id, so that drafts of one instant are neither skipped nor repeated between pages.
    tuple_(draft.c.scheduled_at, draft.c.id) > tuple_(_FROM, bindparam("last_id")),
    draft.c.scheduled_wall.is_not(None),
).limit(bindparam("most"))
_DUE = _SCHEDULED.where(draft.c.scheduled_at <= _TO)

_WEEK_STATUSES = (*RESERVING_STATUSES, Status.MISSED, Status.POSTED)
_WEEK = (
    select(*_WEEK_COLUMNS)
    .where(
        _OWN_DRAFTS,
        _HAS_TIME,
        # Both conditions: this one leads to the index, the one below excludes drafts posted at another time.
        draft.c.scheduled_at.between(_FROM, _TO),
        draft.c.status.in_(_WEEK_STATUSES),
        draft.c.archived_at.is_(None),
        _POSTED_OR_SCHEDULED_AT.element.between(_FROM, _TO),
    )
    .order_by(*_BY_TIME)
    .limit(bindparam("most"))
)


def list_slots(conn: Connection, user_id: str) -> tuple[Slot, ...]:
    """Return the user's slots in the order of the week, Sunday first."""
    rows = conn.execute(_SLOTS, {"owner": user_id})
    return tuple(Slot(day_of_week=day, hour=hour, minute=minute) for day, hour, minute in rows)


def replace_slots(conn: Connection, user_id: str, slots: Iterable[Slot]) -> None:
    """Replace all of the user's slots."""
    conn.execute(_CLEAR, {"owner": user_id})
    rows = [
        {"user_id": user_id, "day_of_week": slot.day_of_week, "hour": slot.hour, "minute": slot.minute}
        for slot in slots
    ]
    if rows:
        conn.execute(insert(schedule_slot), rows)


def list_taken_times(conn: Connection, user_id: str, after: datetime) -> frozenset[datetime]:
    """Return the instants later than `after` at which drafts are scheduled, held or being posted."""
    return frozenset(conn.execute(_TAKEN, {"owner": user_id, "after": after}).scalars())


def get_time_zone(conn: Connection, user_id: str) -> ZoneInfo:
    """Return the user's time zone."""
    return query_time_zone(conn, user_id)()


def query_time_zone(conn: Connection, user_id: str) -> Callable[[], ZoneInfo]:
    """Send the query for the user's time zone; return what waits for the answer, once."""
    name = query_time_zone_name(conn, user_id)
    return lambda: ZoneInfo(name())


def query_time_zone_name(conn: Connection, user_id: str) -> Callable[[], str]:
    """Send the query for the name of the user's time zone, which this machine may not know; return what waits for the
    answer, once.
    """
    rows = send_query(conn, 'SELECT time_zone FROM "user" WHERE id = ?', (user_id,))
    return lambda: str(rows()[0][0])


def first_line(excerpt: str) -> str:
    """Return the first line of `excerpt` that is not empty."""
    return excerpt.strip().split("\n", 1)[0]


class SlotCandidate(Struct, frozen=True):
    """A draft that may be given a time, provided that it is approved and not archived."""

    id: str
    status: Status
    archived: bool
    confidence: float
    confidence_known: bool
    total_score: float | None
    created_at: datetime
    format: Format
    text: str
    """The first EXCERPT_LENGTH characters."""


class WeekEntry(Struct, frozen=True):
    """A draft in the week view: it has a time, or was posted at it."""

    id: str
    status: Status
    format: Format
    at: datetime
    wall: str | None
    zone: str | None
    held: str | None
    """The reason for which it is held; only in AWAITING_REVIEW."""
    text: str
    """The first EXCERPT_LENGTH characters."""


class ScheduledDraft(Struct, frozen=True):
    """A draft that has a time."""

    id: str
    format: Format
    at: datetime
    wall: str | None
    """The wall clock time the user chose, in `zone`; None if an instant was chosen."""
    zone: str | None
    platforms: tuple[str, ...]
    text: str
    """The first EXCERPT_LENGTH characters."""


def _between(*conditions: ColumnElement[bool]) -> tuple[ColumnElement[bool], ...]:
    return (_OWN_DRAFTS, draft.c.status.in_(RESERVING_STATUSES), _HAS_TIME, draft.c.scheduled_at >= _FROM, *conditions)


_RESERVED = select(*_SCHEDULED_COLUMNS).where(*_between(draft.c.scheduled_at <= _TO)).order_by(*_BY_TIME)
_HAS_RESERVED = select(exists().where(*_between(draft.c.scheduled_at < _TO)))


def list_approved(conn: Connection, user_id: str) -> tuple[SlotCandidate, ...]:
    """Return every approved draft that is not archived."""
    return tuple(SlotCandidate(**row._mapping) for row in conn.execute(_APPROVED, {"owner": user_id}))


def list_candidates(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[SlotCandidate, ...]:
    """Return those of the drafts that are the user's, in any state."""
    drafts: list[SlotCandidate] = []
    for chunk in chunked(ids):
        rows = conn.execute(_BY_IDS, {"owner": user_id, "ids": list(chunk)})
        drafts.extend(SlotCandidate(**row._mapping) for row in rows)
    return tuple(drafts)


def list_reserved_between(
    conn: Connection, user_id: str, first: datetime, last: datetime
) -> tuple[ScheduledDraft, ...]:
    """Return the drafts scheduled, held or being posted from `first` to `last`, both included, by time."""
    rows = conn.execute(_RESERVED, {"owner": user_id, "first": first, "last": last})
    return tuple(ScheduledDraft(**row._mapping) for row in rows)


def list_week(conn: Connection, user_id: str, first: datetime, last: datetime, limit: int) -> tuple[WeekEntry, ...]:
    """Return at most `limit` drafts that have a time from `first` to `last`, or were posted then on time, by time.

    A draft that was scheduled for this range but posted by hand at another time is not among them.
    """
    rows = conn.execute(_WEEK, {"owner": user_id, "first": first, "last": last, "most": limit})
    entries = (WeekEntry(**row._mapping) for row in rows)
    # The query orders by scheduled time for its index; posted drafts are shown at the time they were posted.
    return tuple(sorted(entries, key=lambda entry: (entry.at, entry.id)))


def has_reserved_between(conn: Connection, user_id: str, first: datetime, before: datetime) -> bool:
    """Return True if a draft is scheduled, held or being posted at `first` or later, and before `before`."""
    return bool(conn.execute(_HAS_RESERVED, {"owner": user_id, "first": first, "last": before}).scalar())


def list_by_wall_clock(
    conn: Connection, user_id: str, after: tuple[datetime, str], limit: int
) -> tuple[ScheduledDraft, ...]:
    """Return at most `limit` drafts scheduled by wall clock time, by (time, id), those after the cursor `after`.

    Their instants change with the rules of their zone.
    """
    at, last_id = after
    values = {"owner": user_id, "first": at, "last_id": last_id, "most": limit}
    return tuple(ScheduledDraft(**row._mapping) for row in conn.execute(_AFTER, values))


def list_due(conn: Connection, user_id: str, now: datetime) -> tuple[ScheduledDraft, ...]:
    """Return the scheduled drafts that are due at `now`, oldest first."""
    return tuple(ScheduledDraft(**row._mapping) for row in conn.execute(_DUE, {"owner": user_id, "last": now}))
