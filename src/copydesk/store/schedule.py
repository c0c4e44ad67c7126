"""The user's weekly posting slots, and the times taken by drafts."""

from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, bindparam, delete, insert, select

from copydesk.model.draft import Status
from copydesk.model.schedule import Slot
from copydesk.store.tables import draft, schedule_slot, user

RESERVING_STATUSES = (Status.SCHEDULED, Status.POSTING)
"""States in which a draft occupies its scheduled time."""

_OWN_SLOTS = schedule_slot.c.user_id == bindparam("owner")
_SLOT_COLUMNS = (schedule_slot.c.day_of_week, schedule_slot.c.hour, schedule_slot.c.minute)
_SLOTS = select(*_SLOT_COLUMNS).where(_OWN_SLOTS).order_by(*_SLOT_COLUMNS)
_CLEAR = delete(schedule_slot).where(_OWN_SLOTS)
_ZONE = select(user.c.time_zone).where(user.c.id == bindparam("owner"))
_TAKEN = select(draft.c.scheduled_at).where(
    draft.c.user_id == bindparam("owner"),
    draft.c.status.in_(RESERVING_STATUSES),
    draft.c.scheduled_at > bindparam("after"),
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
    """Return the instants later than `after` at which drafts are scheduled or being posted."""
    return frozenset(conn.execute(_TAKEN, {"owner": user_id, "after": after}).scalars())


def get_time_zone(conn: Connection, user_id: str) -> ZoneInfo:
    """Return the user's time zone."""
    return ZoneInfo(conn.execute(_ZONE, {"owner": user_id}).scalar_one())
