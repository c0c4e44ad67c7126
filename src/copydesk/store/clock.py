"""What the wall clock is measured by."""

from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.wire import Struct
from copydesk.store.tables import clock_check


class Checked(Struct, frozen=True):
    """The reading of both clocks that counts, and what came of the last look at them."""

    boot: str
    """Which start of the machine the steady clock counts from."""
    wall: datetime
    steady: float
    counts_sleep: bool
    seen: datetime
    """The last time that the wall clock was known to be right."""
    doubt_since: datetime | None = None
    doubt_by: float | None = None
    """Seconds."""


_COLUMNS = tuple(clock_check.c[name] for name in Checked.__struct_fields__)


def checked(conn: Connection, user_id: str) -> Checked | None:
    """The reading that counts; None before the first one."""
    row = conn.execute(select(*_COLUMNS).where(clock_check.c.user_id == user_id)).first()
    return Checked(**row._mapping) if row else None


def keep(conn: Connection, user_id: str, now: Checked) -> None:
    """Put `now` in place of what was kept."""
    values = {name: getattr(now, name) for name in Checked.__struct_fields__}
    put = upsert(clock_check).values(user_id=user_id, **values)
    conn.execute(put.on_conflict_do_update(["user_id"], set_=values))
