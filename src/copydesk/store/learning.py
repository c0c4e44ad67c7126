"""Which of the user's decisions count as training data."""

from datetime import datetime

import msgspec
from sqlalchemy import Connection, select

from copydesk.model.serialization import Struct
from copydesk.store.raw_sql import upsert
from copydesk.store.tables import learning


class LearningState(Struct, frozen=True):
    """State of what is learnt from the user's decisions."""

    since: datetime | None = None
    """Earlier decisions do not count; None if all do."""
    since_before: datetime | None = None
    """`since` before the last reset."""
    reset_at: datetime | None = None
    """Time of the last reset; None if there was none, or it was taken back."""
    confidence_decisions: int = 0
    """Number of decisions when the stored confidences were last computed."""


_COLUMNS = tuple(learning.c[name] for name in LearningState.__struct_fields__)


def load(conn: Connection, user_id: str) -> LearningState:
    """Return the user's state."""
    row = conn.execute(select(*_COLUMNS).where(learning.c.user_id == user_id)).first()
    return LearningState(**row._mapping) if row else LearningState()


def save(conn: Connection, user_id: str, state: LearningState) -> None:
    """Store `state` in place of the previous one."""
    values = msgspec.structs.asdict(state)
    statement = upsert(conn, learning).values(user_id=user_id, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["user_id"], set_=values))


def save_confidence_decisions(conn: Connection, user_id: str, count: int) -> None:
    """Store the number of decisions up to which the stored confidences are computed."""
    save(conn, user_id, msgspec.structs.replace(load(conn, user_id), confidence_decisions=count))
