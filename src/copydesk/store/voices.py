"""The voice profile as it is kept."""

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from copydesk.model.voice import VoiceProfile
from copydesk.store.tables import voice

_SHOWN = tuple(voice.c[name] for name in VoiceProfile.__struct_fields__)


async def read(conn: AsyncConnection, user_id: str) -> VoiceProfile | None:
    """The user's voice profile, if there is one."""
    row = (await conn.execute(select(*_SHOWN).where(voice.c.user_id == user_id))).first()
    return VoiceProfile(**row._mapping) if row else None


async def put(conn: AsyncConnection, user_id: str, profile: VoiceProfile) -> None:
    """Keep the profile; the id and the time of creation of an earlier one stay."""
    values = {column.name: getattr(profile, column.name) for column in _SHOWN}
    new = upsert(voice).values(user_id=user_id, **values)
    kept = {name: new.excluded[name] for name in values if name not in {"id", "created_at"}}
    await conn.execute(new.on_conflict_do_update(["user_id"], set_=kept))
