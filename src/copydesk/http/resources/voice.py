"""The voice profile."""

from typing import Annotated, Any

from msgspec import Meta

from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.draft import Format
from copydesk.model.learning import LearningReport, LearningReset
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.voice import (
    ChangeVoice,
    ExampleSuggestion,
    ImportedPosts,
    ImportPosts,
    OwnPosts,
    VoiceComparison,
    VoiceProfile,
)

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


@operations.add(
    "POST",
    "/voice/preview",
    # A language model costs money.
    scope=Scope.DRAFT,
    body=ChangeVoice,
    response=tuple[VoiceComparison, ...],
    errors=(404,),
    example={"formats": {"SHORT": {"hashtags": 1}}},
)
async def preview_voice(call: Call) -> tuple[VoiceComparison, ...]:
    """Return what a change of the voice does to the SHORT of three recent items. Nothing is saved.

    The chosen writer is asked; a language model may cost money.
    """
    return await call.desk.voice.compare(call.body, Format.SHORT)


@operations.add("GET", "/voice/examples", scope=Scope.READ, response=tuple[ExampleSuggestion, ...])
async def suggest_voice_examples(call: Call) -> tuple[ExampleSuggestion, ...]:
    """List texts that the user edited and approved, as suggestions for examples."""
    return await call.desk.voice.suggest_examples()


@operations.add(
    "POST",
    "/voice/examples",
    scope=Scope.REVIEW,
    body=ImportPosts,
    response=ImportedPosts,
    example={"content": "A post I wrote before, long enough.\n---\nAnother one of mine, as an example."},
)
async def import_posts(call: Call) -> ImportedPosts:
    """Add posts that the user wrote elsewhere to the examples, as far as there is room."""
    content: Any = call.body.get("content")
    if not isinstance(content, str):
        raise InvalidError(FieldError("content", "takes text"))
    return await call.desk.voice.import_posts(content)


class PostsQuery(Struct, frozen=True):
    """The account."""

    account: Annotated[str, Meta(min_length=1, max_length=200)]
    """Its id or name, or its platform if there is only one account of it."""


@operations.add("GET", "/voice/posts", scope=Scope.READ, query=PostsQuery, response=OwnPosts, errors=(404,))
async def list_own_posts(call: Call) -> OwnPosts:
    """List the newest posts of a connected account that can be examples; `POST /voice/examples` adds them."""
    if "account" not in call.query:
        raise InvalidError(FieldError("account", "is missing"))
    account: Any = call.query["account"]
    return OwnPosts(posts=await call.desk.accounts.list_posts(account))


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
    """Undo the last reset: earlier decisions count again."""
    return await call.desk.learning.undo_reset()
