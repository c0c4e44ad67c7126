"""The voice profile as it is kept."""

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.voice import VoiceProfile
from copydesk.store.statements import Columns, run
from copydesk.store.tables import voice

_SHOWN = Columns(voice.c[name] for name in VoiceProfile.__struct_fields__)


def read(conn: Connection, user_id: str) -> VoiceProfile | None:
    """The user's voice profile, if there is one."""
    query = f"SELECT {_SHOWN.text} FROM voice WHERE user_id = ?"  # noqa: S608 - names of our own
    row = next(_SHOWN.read(run(conn, query, (user_id,))), None)
    return VoiceProfile(**dict(zip(_SHOWN.names, row, strict=True))) if row else None


def put(conn: Connection, user_id: str, profile: VoiceProfile) -> None:
    """Keep the profile in place of the one that was there."""
    values = {name: getattr(profile, name) for name in _SHOWN.names}
    new = upsert(voice).values(user_id=user_id, **values)
    conn.execute(new.on_conflict_do_update(["user_id"], set_=values))
