"""The voice profile as it is kept."""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.voice import VoiceProfile
from copydesk.store.tables import voice

_SHOWN = tuple(voice.c[name] for name in VoiceProfile.__struct_fields__)


def read(conn: Connection, user_id: str) -> VoiceProfile | None:
    """The user's voice profile, if there is one."""
    row = conn.execute(select(*_SHOWN).where(voice.c.user_id == user_id)).first()
    return VoiceProfile(**row._mapping) if row else None


def put(conn: Connection, user_id: str, profile: VoiceProfile) -> None:
    """Keep the profile in place of the one that was there."""
    values = {column.name: getattr(profile, column.name) for column in _SHOWN}
    new = upsert(voice).values(user_id=user_id, **values)
    conn.execute(new.on_conflict_do_update(["user_id"], set_=values))
