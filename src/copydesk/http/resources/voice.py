"""The voice profile."""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.learning import LearningReport, LearningReset
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


@operations.add("GET", "/voice/report", scope=Scope.READ, response=LearningReport)
async def get_learning_report(call: Call) -> LearningReport:
    """Return what is learnt from decisions, and how well the confidence of drafts predicts them."""
    return await call.desk.learning.report()


@operations.add("POST", "/voice/reset", scope=Scope.REVIEW, response=LearningReset)
async def reset_learning(call: Call) -> LearningReset:
    """Forget what is learnt from decisions: only later ones count. Drafts, posts and the voice profile stay."""
    return await call.desk.learning.reset()


@operations.add("DELETE", "/voice/reset", scope=Scope.REVIEW, response=LearningReset, errors=(409,))
async def undo_reset_of_learning(call: Call) -> LearningReset:
    """Take the last reset back: earlier decisions count again."""
    return await call.desk.learning.undo_reset()
