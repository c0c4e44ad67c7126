"""The voice profile."""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.token import Scope
from copydesk.model.voice import ChangeVoice, VoiceProfile

operations = Operations("Voice profile")


@operations.add("GET", "/voice", scope=Scope.READ, response=VoiceProfile)
async def get_voice(call: Call) -> VoiceProfile:
    """Return the voice profile."""
    return await call.desk.voice.get()


@operations.add(
    "PUT",
    "/voice",
    scope=Scope.REVIEW,
    body=ChangeVoice,
    response=VoiceProfile,
    example={"style": "Dry, concrete, first person.", "avoid": ["game changer"], "formats": {"SHORT": {"hashtags": 1}}},
)
async def update_voice(call: Call) -> VoiceProfile:
    """Replace the given fields of the voice profile, creating it if needed; fields that are not given stay."""
    return await call.desk.voice.update(call.body)
