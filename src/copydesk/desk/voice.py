"""The voice profile: read, update or create."""

from copydesk.desk.ground import Ground
from copydesk.model.draft import Format
from copydesk.model.voice import FormatVoice, VoiceProfile
from copydesk.store import voices
from copydesk.store.ids import new_id


class Voices:
    """How the user writes."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def read(self) -> VoiceProfile:
        """The user's voice profile; an empty one, not stored, where there is none yet."""
        found = await self._ground.read(voices.read)
        now = self._ground.clock()
        return found or VoiceProfile(id=new_id(now), created_at=now, updated_at=now)

    async def update(
        self,
        *,
        style: str | None = None,
        avoid: tuple[str, ...] | None = None,
        examples: tuple[str, ...] | None = None,
        formats: dict[Format, FormatVoice] | None = None,
    ) -> VoiceProfile:
        """Change what is given, or create the profile; None leaves a field as it is."""
        before = await self.read()
        profile = VoiceProfile(
            id=before.id,
            style=before.style if style is None else style,
            avoid=before.avoid if avoid is None else avoid,
            examples=before.examples if examples is None else examples,
            formats=before.formats if formats is None else formats,
            created_at=before.created_at,
            updated_at=self._ground.clock(),
        )
        await self._ground.write(voices.put, profile)
        return profile
