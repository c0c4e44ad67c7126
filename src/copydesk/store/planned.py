"""Drafts by when they go out: those that have a time, and those that may be given one."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, bindparam, case, exists, func, select, tuple_

from copydesk.model.draft import Format, Status
from copydesk.model.wire import Struct
from copydesk.store.parts import in_parts
from copydesk.store.schedule import STANDING
from copydesk.store.tables import draft
from copydesk.store.types import UTC

BEGINNING = 200
"""Characters of a text that are shown of it."""
_BEGINNING = func.substr(draft.c.text, 1, BEGINNING).label("text")


def first_line(beginning: str) -> str:
    """The first line that is not empty, as far as it is in the beginning of the text."""
    return beginning.strip().split("\n", 1)[0]


class Candidate(Struct, frozen=True):
    """A draft that may be given a time, where it is approved and not archived."""

    id: str
    status: Status
    archived: bool
    confidence: float
    created_at: datetime
    format: Format
    text: str
    """Its beginning."""


class InWeek(Struct, frozen=True):
    """A draft that has, or had, a time."""

    id: str
    status: Status
    format: Format
    at: datetime
    wall: str | None
    zone: str | None
    text: str
    """Its beginning."""


class Timed(Struct, frozen=True):
    """A draft that has a time."""

    id: str
    format: Format
    at: datetime
    wall: str | None
    """What the time was meant as, on the clock of `zone`."""
    zone: str | None
    platforms: tuple[str, ...]
    text: str
    """Its beginning."""


_CANDIDATE = (
    draft.c.id,
    draft.c.status,
    draft.c.archived_at.is_not(None).label("archived"),
    draft.c.confidence,
    draft.c.created_at,
    draft.c.format,
    _BEGINNING,
)
_GONE_OUT = case((draft.c.status == Status.POSTED, draft.c.posted_at), else_=draft.c.scheduled_at).label("at")
_IN_WEEK = (
    draft.c.id,
    draft.c.status,
    draft.c.format,
    _GONE_OUT,
    draft.c.scheduled_wall.label("wall"),
    draft.c.scheduled_zone.label("zone"),
    _BEGINNING,
)
_TIMED = (
    draft.c.id,
    draft.c.format,
    draft.c.scheduled_at.label("at"),
    draft.c.scheduled_wall.label("wall"),
    draft.c.scheduled_zone.label("zone"),
    draft.c.target_platforms.label("platforms"),
    _BEGINNING,
)
_OWN = draft.c.user_id == bindparam("owner")
_FROM, _TO = bindparam("first", type_=UTC), bindparam("last", type_=UTC)
_HAS_TIME = draft.c.scheduled_at.is_not(None)
_IN_ORDER = (draft.c.scheduled_at, draft.c.id)
_APPROVED = select(*_CANDIDATE).where(_OWN, draft.c.status == Status.APPROVED, draft.c.archived_at.is_(None))
_THESE = select(*_CANDIDATE).where(_OWN, draft.c.id.in_(bindparam("ids", expanding=True)))
_SCHEDULED = select(*_TIMED).where(_OWN, draft.c.status == Status.SCHEDULED, _HAS_TIME).order_by(*_IN_ORDER)
_AFTER = _SCHEDULED.where(
    tuple_(draft.c.scheduled_at, draft.c.id) > tuple_(_FROM, bindparam("last_id")),
    draft.c.scheduled_wall.is_not(None),
).limit(bindparam("most"))
_UNTIL = _SCHEDULED.where(draft.c.scheduled_at <= _TO)


def _between(*conditions: ColumnElement[bool]) -> tuple[ColumnElement[bool], ...]:
    return (_OWN, draft.c.status.in_(STANDING), _HAS_TIME, draft.c.scheduled_at >= _FROM, *conditions)


_STANDING = select(*_TIMED).where(*_between(draft.c.scheduled_at <= _TO)).order_by(*_IN_ORDER)
_STANDS = select(exists().where(*_between(draft.c.scheduled_at < _TO)))


_WITH_TIME = (Status.SCHEDULED, Status.POSTING, Status.MISSED, Status.POSTED)
_WEEK = (
    select(*_IN_WEEK)
    .where(
        _OWN,
        _HAS_TIME,
        draft.c.scheduled_at.between(_FROM, _TO),
        draft.c.status.in_(_WITH_TIME),
        draft.c.archived_at.is_(None),
        _GONE_OUT.element.between(_FROM, _TO),
    )
    .order_by(*_IN_ORDER)
    .limit(bindparam("most"))
)


def approved(conn: Connection, user_id: str) -> tuple[Candidate, ...]:
    """Every approved draft that is not archived."""
    return tuple(Candidate(**row._mapping) for row in conn.execute(_APPROVED, {"owner": user_id}))


def candidates(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[Candidate, ...]:
    """Those of these drafts that are the user's, whatever their state."""
    found: list[Candidate] = []
    for some in in_parts(ids):
        rows = conn.execute(_THESE, {"owner": user_id, "ids": list(some)})
        found.extend(Candidate(**row._mapping) for row in rows)
    return tuple(found)


def standing(conn: Connection, user_id: str, first: datetime, last: datetime) -> tuple[Timed, ...]:
    """The drafts that are scheduled or being posted from `first` to `last`, both included, in order."""
    rows = conn.execute(_STANDING, {"owner": user_id, "first": first, "last": last})
    return tuple(Timed(**row._mapping) for row in rows)


def in_week(conn: Connection, user_id: str, first: datetime, last: datetime, most: int) -> tuple[InWeek, ...]:
    """At most so many drafts that have a time from `first` to `last`, or went out then at their time, in order.

    One that was scheduled for this time, but posted by hand at another one, is not among them.
    """
    rows = conn.execute(_WEEK, {"owner": user_id, "first": first, "last": last, "most": most})
    found = (InWeek(**row._mapping) for row in rows)
    return tuple(sorted(found, key=lambda each: (each.at, each.id)))


def stands(conn: Connection, user_id: str, first: datetime, before: datetime) -> bool:
    """Whether a draft is scheduled or being posted from `first` on and before `before`."""
    return bool(conn.execute(_STANDS, {"owner": user_id, "first": first, "last": before}).scalar())


def on_a_clock(conn: Connection, user_id: str, after: tuple[datetime, str], most: int) -> tuple[Timed, ...]:
    """At most so many of the drafts that are scheduled on the clock of a zone, in order: those after a time and id."""
    at, last_id = after
    asked = {"owner": user_id, "first": at, "last_id": last_id, "most": most}
    return tuple(Timed(**row._mapping) for row in conn.execute(_AFTER, asked))


def scheduled_until(conn: Connection, user_id: str, now: datetime) -> tuple[Timed, ...]:
    """The scheduled drafts whose time has come, oldest first."""
    return tuple(Timed(**row._mapping) for row in conn.execute(_UNTIL, {"owner": user_id, "last": now}))
