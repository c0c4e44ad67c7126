"""Voice profile of the user: read, update and try out."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.model.draft import Format
from copydesk.model.validation import wire_fields
from copydesk.model.voice import ChangeVoice, Voice, VoicePreview, VoiceProfile, merge, validate_voice_change
from copydesk.store import users
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id


class Voices:
    """Operations on the user's voice profile."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def get(self) -> VoiceProfile:
        """Return the voice profile, or an empty one that is not stored if there is none yet."""
        found = await self._ctx.read(users.load_voice)
        return found or _empty_profile(self._ctx.clock())

    @operation
    async def update(self, changes: ChangeVoice | Mapping[str, object], *, merge_formats: bool = False) -> VoiceProfile:
        """Replace the given fields of the profile, creating it if needed; fields that are absent or null stay. Return
        the profile.

        With `merge_formats`, settings of each format are merged into the stored ones, and null deletes a setting. Raise
        InvalidError listing every invalid field.
        """
        return await self._ctx.write(_update, changes, self._ctx.clock(), merge_formats=merge_formats)

    @operation
    async def preview(
        self, changes: ChangeVoice | Mapping[str, object], format: Format, item_id: str = ""
    ) -> VoicePreview:
        """Return what the writer makes of an item with the voice as it would be after `update`. Nothing is stored.

        Without an id the newest suitable item is used. Raise InvalidError as `update` does, NotFoundError if there is
        no item, or WriterError.
        """
        from copydesk.desk.voice.preview import preview_voice  # noqa: PLC0415 - imports the writer

        return await preview_voice(self._ctx, changes, format, item_id)


def unsupported_fields(voice: Voice) -> tuple[str, ...]:
    """Return the names of voice fields that the offline writer ignores, because they require language understanding."""
    instruction_fields = [
        f"formats.{kind}.instructions" for kind, settings in voice.formats.items() if settings.instructions
    ]
    return tuple(name for name in ("style", "examples") if getattr(voice, name)) + tuple(instruction_fields)


def _update(
    conn: Transaction, user_id: str, request: ChangeVoice | Mapping[str, object], now: datetime, *, merge_formats: bool
) -> VoiceProfile:
    before = users.load_voice(conn, user_id) or _empty_profile(now)
    if merge_formats and isinstance(formats := wire_fields(request).get("formats"), Mapping):
        request = {**wire_fields(request), "formats": merge(before, formats)}
    validated = validate_voice_change(request)
    fields = {name: getattr(validated, name) for name in ChangeVoice.__struct_fields__}
    changes = {name: value for name, value in fields.items() if value is not None}
    profile = msgspec.structs.replace(before, **changes, updated_at=now)
    users.save_voice(conn, user_id, profile)
    return profile


def _empty_profile(now: datetime) -> VoiceProfile:
    return VoiceProfile(id=new_id(now), created_at=now, updated_at=now)
