"""The voice profile of the user."""

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.voice import VoiceProfile
from copydesk.store.raw_sql import ColumnCodec, execute_sql
from copydesk.store.tables import voice

_COLUMNS = ColumnCodec(voice.c[name] for name in VoiceProfile.__struct_fields__)


def load(conn: Connection, user_id: str) -> VoiceProfile | None:
    """Return the user's voice profile, or None if there is none."""
    query = f"SELECT {_COLUMNS.column_list} FROM voice WHERE user_id = ?"  # noqa: S608 - names of our own
    row = next(_COLUMNS.decode(execute_sql(conn, query, (user_id,))), None)
    return VoiceProfile(**dict(zip(_COLUMNS.names, row, strict=True))) if row else None


def save(conn: Connection, user_id: str, profile: VoiceProfile) -> None:
    """Create or replace the user's voice profile."""
    values = {name: getattr(profile, name) for name in _COLUMNS.names}
    statement = upsert(voice).values(user_id=user_id, **values)
    conn.execute(statement.on_conflict_do_update(["user_id"], set_=values))
