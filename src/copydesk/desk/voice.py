"""The voice profile: read, update or create."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.model.draft import Format
from copydesk.model.voice import ChangeVoice, Tried, Voice, VoiceProfile, checked_voice, laid_over
from copydesk.store import voices
from copydesk.store.ids import new_id


class Voices:
    """How the user writes."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def read(self) -> VoiceProfile:
        """The user's voice profile; an empty one, not stored, where there is none yet."""
        found = await self._ground.read(voices.read)
        return found or _empty(self._ground.clock())

    async def update(self, given: ChangeVoice | Mapping[str, object], *, over: bool = False) -> VoiceProfile:
        """Replace the fields that are given, or create the profile with them; what is not given, or null, stays.

        With `over` the settings of each format are laid over those that are there, one by one; null takes one away.
        Raises InvalidError with every field that breaks a rule.
        """
        return await self._ground.write(_change, given, self._ground.clock(), over=over)

    async def try_out(self, given: ChangeVoice | Mapping[str, object], format: Format, item_id: str = "") -> Tried:
        """What the writer makes of an item with the voice as it would be; nothing is kept.

        Without an id the item is the newest that has a text. Raises InvalidError as `update`, NotFoundError where
        there is no item yet, WriterError.
        """
        from copydesk.desk.voice_trial import try_out  # noqa: PLC0415 - the writer is not for every command

        return await try_out(self._ground, given, format, item_id)


def unfollowed(voice: Voice) -> tuple[str, ...]:
    """What the voice says that the offline writer cannot do, for it takes understanding; see `drafting.extractive`."""
    told = [f"formats.{kind}.instructions" for kind, settings in voice.formats.items() if settings.instructions]
    return tuple(name for name in ("style", "examples") if getattr(voice, name)) + tuple(told)


def _change(
    conn: Connection, user_id: str, given: ChangeVoice | Mapping[str, object], now: datetime, *, over: bool
) -> VoiceProfile:
    before = voices.read(conn, user_id) or _empty(now)
    if over and isinstance(given, Mapping) and isinstance(formats := given.get("formats"), Mapping):
        given = {**given, "formats": laid_over(before, formats)}
    asked = checked_voice(given)
    named = {name: getattr(asked, name) for name in ChangeVoice.__struct_fields__}
    changes = {name: value for name, value in named.items() if value is not None}
    profile = msgspec.structs.replace(before, **changes, updated_at=now)
    voices.put(conn, user_id, profile)
    return profile


def _empty(now: datetime) -> VoiceProfile:
    return VoiceProfile(id=new_id(now), created_at=now, updated_at=now)
