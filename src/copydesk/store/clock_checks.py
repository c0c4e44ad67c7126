"""The last trusted reading of the wall clock, against which later readings are checked."""

from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.serialization import Struct
from copydesk.store.tables import clock_check


class SavedClockReading(Struct, frozen=True):
    """The reference reading of both clocks, and the result of the last check."""

    boot: str
    """Identifies the system start from which the monotonic clock counts."""
    wall: datetime
    steady: float
    """Seconds on the monotonic clock."""
    counts_sleep: bool
    """True if the monotonic clock goes on while the machine sleeps."""
    seen: datetime
    """The last time the wall clock was known to be right."""
    doubt_since: datetime | None = None
    doubt_by: float | None = None
    """Seconds."""


_COLUMNS = tuple(clock_check.c[name] for name in SavedClockReading.__struct_fields__)


def load_reading(conn: Connection, user_id: str) -> SavedClockReading | None:
    """Return the reference reading, or None before the first one."""
    row = conn.execute(select(*_COLUMNS).where(clock_check.c.user_id == user_id)).first()
    return SavedClockReading(**row._mapping) if row else None


def save_reading(conn: Connection, user_id: str, reading: SavedClockReading) -> None:
    """Store `reading` in place of the previous one."""
    values = {name: getattr(reading, name) for name in SavedClockReading.__struct_fields__}
    statement = upsert(clock_check).values(user_id=user_id, **values)
    conn.execute(statement.on_conflict_do_update(["user_id"], set_=values))
