"""The user's slots, and the times at which drafts stand."""

from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, bindparam, delete, insert, select

from copydesk.model.draft import Status
from copydesk.model.schedule import Slot
from copydesk.store.tables import draft, schedule_slot, user

STANDING = (Status.SCHEDULED, Status.POSTING)
"""Where a draft is that holds its time."""

_OWN = schedule_slot.c.user_id == bindparam("owner")
_DAY = (schedule_slot.c.day_of_week, schedule_slot.c.hour, schedule_slot.c.minute)
_SLOTS = select(*_DAY).where(_OWN).order_by(*_DAY)
_CLEAR = delete(schedule_slot).where(_OWN)
_ZONE = select(user.c.time_zone).where(user.c.id == bindparam("owner"))
_TAKEN = select(draft.c.scheduled_at).where(
    draft.c.user_id == bindparam("owner"), draft.c.status.in_(STANDING), draft.c.scheduled_at > bindparam("after")
)


def slots(conn: Connection, user_id: str) -> tuple[Slot, ...]:
    """The user's slots in the order of the week, Sunday first."""
    rows = conn.execute(_SLOTS, {"owner": user_id})
    return tuple(Slot(day_of_week=day, hour=hour, minute=minute) for day, hour, minute in rows)


def set_slots(conn: Connection, user_id: str, slots: Iterable[Slot]) -> None:
    """Put these in the place of all the slots that there were."""
    conn.execute(_CLEAR, {"owner": user_id})
    rows = [
        {"user_id": user_id, "day_of_week": slot.day_of_week, "hour": slot.hour, "minute": slot.minute}
        for slot in slots
    ]
    if rows:
        conn.execute(insert(schedule_slot), rows)


def taken(conn: Connection, user_id: str, after: datetime) -> frozenset[datetime]:
    """The instants later than `after` at which drafts of the user stand."""
    return frozenset(conn.execute(_TAKEN, {"owner": user_id, "after": after}).scalars())


def zone(conn: Connection, user_id: str) -> ZoneInfo:
    """The user's time zone."""
    return ZoneInfo(conn.execute(_ZONE, {"owner": user_id}).scalar_one())
