"""Requests to create and change drafts, their responses, and the validation with its limits.

Each `validate_...` takes the struct itself, or an object with the field names of the JSON interface, and returns the
struct with times in UTC, defaults filled in, blank feedback removed, and texts stripped except that of a draft, which
is stored exactly as given. Null is the same as not given.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from copydesk.model.draft import (
    BULK_ACTIONS,
    STORED_URL_PATTERN,
    Action,
    Draft,
    DraftImage,
    Format,
    ImageSource,
    Status,
)
from copydesk.model.serialization import Struct
from copydesk.model.transitions import BulkFailure
from copydesk.model.validation import MAX_ID_LENGTH, FieldReader, Id, WebAddress

MAX_TEXT_LENGTH = 50_000
MAX_PROMPT_LENGTH = 5_000
MAX_FEEDBACK_LENGTH = 5_000
MAX_ALT_LENGTH = 2_000
MAX_IMAGES, MAX_TAGS, MAX_PLATFORMS, MAX_IDS = 10, 20, 20, 100
MAX_TAG_LENGTH = MAX_PLATFORM_LENGTH = 50
MAX_ACCOUNT_LENGTH = 2_000
"""Characters of a platform or account to post to: the account of a webhook has the length of its URL."""
MAX_POSITION = 1_000
MAX_AGENT_LENGTH, MAX_AGENT_SOURCES = 100, 20
MAX_QUOTE_LENGTH, MAX_OFFSET = 2_000, 10_000_000

FEEDBACK_ACTIONS = (Action.REJECT, Action.UNAPPROVE, Action.REGENERATE)
TIME_ACTIONS = (Action.SCHEDULE, Action.RESCHEDULE)


AccountName = Annotated[str, Meta(min_length=1, max_length=MAX_ACCOUNT_LENGTH, pattern=r"\S")]
"""A platform (`bluesky`) or an account (`bluesky:me.example`)."""
Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_LENGTH)]
Feedback = Annotated[str, Meta(max_length=MAX_FEEDBACK_LENGTH)]


class NewImage(Struct, frozen=True, forbid_unknown_fields=True):
    """An image of a new draft."""

    url: WebAddress
    source: ImageSource
    alt: Annotated[str, Meta(max_length=MAX_ALT_LENGTH)] | None = None
    """Alternative text, for people who do not see the image."""
    position: Annotated[int, Meta(ge=0, le=MAX_POSITION)] | None = None
    """Defaults to the image's index in the list."""


class AttachImage(Struct, frozen=True, forbid_unknown_fields=True):
    """A proposed image to attach to a draft."""

    image: Annotated[int, Meta(ge=1, le=MAX_IMAGES)] = 1
    """Its number among the proposed images, counted from 1."""
    alt: Annotated[str, Meta(max_length=MAX_ALT_LENGTH)] | None = None
    """Alternative text, instead of the page's own."""


class NewAgentSource(Struct, frozen=True, forbid_unknown_fields=True):
    """A source on which an agent's proposal rests."""

    url: WebAddress
    text: Annotated[str, Meta(max_length=MAX_QUOTE_LENGTH)] | None = None
    """The words that were used."""
    start: Annotated[int, Meta(ge=0, le=MAX_OFFSET)] | None = None
    end: Annotated[int, Meta(ge=0, le=MAX_OFFSET)] | None = None
    """The span of these words in the source, in characters."""


class NewAgent(Struct, frozen=True, forbid_unknown_fields=True):
    """The program that proposes a draft, for the reviewer."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_AGENT_LENGTH, pattern=r"\S")] | None = None
    """By default the name of the token."""
    model: Annotated[str, Meta(max_length=MAX_AGENT_LENGTH)] | None = None
    prompt_hash: Annotated[str, Meta(max_length=MAX_AGENT_LENGTH)] | None = None
    """Identifies the prompt, such as its SHA-256."""
    sources: Annotated[tuple[NewAgentSource, ...], Meta(max_length=MAX_AGENT_SOURCES)] = ()


class CreateDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """Create one draft from `text`, or generate one per format from `url`, `prompt` or both."""

    text: Text | None = None
    """The text, kept exactly as given. Cannot be combined with `url`, `prompt` and `formats`."""
    format: Format | None = None
    """Format of the text; SHORT by default. Only with `text`."""
    url: WebAddress | None = None
    """A page to write about."""
    prompt: Annotated[str, Meta(min_length=1, max_length=MAX_PROMPT_LENGTH, pattern=r"\S")] | None = None
    """What to write, or how to write about the page."""
    formats: Annotated[tuple[Format, ...], Meta(min_length=1, max_length=len(Format))] | None = None
    """One draft is generated per format; [SHORT] by default. Without duplicates."""
    images: Annotated[tuple[NewImage, ...], Meta(max_length=MAX_IMAGES)] = ()
    """Images of the first draft."""
    tags: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=MAX_TAG_LENGTH, pattern=r"\S")], ...],
        Meta(max_length=MAX_TAGS),
    ] = ()
    target_platforms: Annotated[tuple[AccountName, ...], Meta(max_length=MAX_PLATFORMS)] = ()
    """Where the draft is to be posted, as platforms or accounts; all that accept its format if empty."""
    agent: NewAgent | None = None
    """The program that proposes the draft; None if a person does."""

    @property
    def mode(self) -> "CreationMode":
        """GENERATE if the text has to be written, otherwise DIRECT."""
        return CreationMode.GENERATE if self.text is None else CreationMode.DIRECT


class ChangeDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """An edit, an action, or an edit followed by an action."""

    action: Action | None = None
    text: Text | None = None
    """The new text. The edit is made before the action."""
    feedback: Feedback | None = None
    """With reject, unapprove and regenerate: why."""
    scheduled_at: datetime | None = None
    """With reschedule, which needs it, and schedule. In the future, at most ten years ahead."""
    smart_schedule: bool = False
    """With schedule: use the next free slot, not before `scheduled_at`. The default without a time."""
    platforms: Annotated[tuple[AccountName, ...], Meta(min_length=1, max_length=MAX_PLATFORMS)] | None = None
    """With post: platforms or accounts. None selects all connected ones."""


class CountedChange(Struct, frozen=True):
    """A change to a number of drafts, which are stored beside it."""

    request: ChangeDraft
    drafts: int


class BulkChange(Struct, frozen=True, forbid_unknown_fields=True):
    """One action on many drafts."""

    action: Annotated[Action, Meta(extra_json_schema={"enum": [action.value for action in BULK_ACTIONS]})]
    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=MAX_IDS)]
    feedback: Feedback | None = None
    """With reject: why."""
    scheduled_at: datetime | None = None
    """With reschedule, which needs it, and schedule. In the future, at most ten years ahead."""
    smart_schedule: bool = False
    """With schedule: use the next free slots, not before `scheduled_at`. The default without a time."""

    @property
    def change_per_draft(self) -> ChangeDraft:
        """The change to apply to each draft."""
        return ChangeDraft(
            action=self.action,
            feedback=self.feedback,
            scheduled_at=self.scheduled_at,
            smart_schedule=self.smart_schedule,
        )


class CreationMode(StrEnum):
    """Creation from a given text, or by generating one."""

    DIRECT = "direct"
    GENERATE = "generate"


class CreatedDraft(Struct, frozen=True):
    """A new draft in the response to its creation."""

    id: str
    text: str
    format: Format
    status: Status
    confidence: float
    images: tuple[DraftImage, ...]
    created_at: datetime
    confidence_known: bool = False
    """False until enough drafts are decided; see Draft."""


class CreatedDrafts(Struct, frozen=True):
    """The created item and its drafts."""

    mode: CreationMode
    item_id: str
    drafts: tuple[CreatedDraft, ...]


class BulkResults(Struct, frozen=True):
    """The outcome for each id, in the order requested."""

    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...]


class BulkOutcome(Struct, frozen=True, omit_defaults=True):
    """Response to a bulk action; `total` counts each distinct id."""

    action: Action
    total: int
    succeeded: int
    failed: int
    results: BulkResults
    stopped_by: str | None = None
    """The error of the database that ended the action; it is also the error of each draft from there on."""


def creation_response(mode: CreationMode, item_id: str, drafts: Sequence[Draft]) -> CreatedDrafts:
    """Return the response to a creation."""
    created_drafts = [
        CreatedDraft(**{name: getattr(draft, name) for name in CreatedDraft.__struct_fields__}) for draft in drafts
    ]
    # The response is a subset of the draft's fields, by the same names.
    return CreatedDrafts(mode=mode, item_id=item_id, drafts=tuple(created_drafts))


def bulk_response(
    action: Action, succeeded: Sequence[str], failed: Sequence[BulkFailure], stopped_by: str | None = None
) -> BulkOutcome:
    """Return the response to a bulk action."""
    return BulkOutcome(
        action=action,
        total=len(succeeded) + len(failed),
        succeeded=len(succeeded),
        failed=len(failed),
        results=BulkResults(succeeded=tuple(succeeded), failed=tuple(failed)),
        stopped_by=stopped_by,
    )


def validate_create(request: CreateDraft | Mapping[str, object]) -> CreateDraft:
    """Return the validated request, with the default format or formats of its mode.

    Raise InvalidError with every invalid field. Tags are compared exactly, including case, because they are stored that
    way.
    """
    reader = FieldReader(CreateDraft, request)
    _check_mode(reader)
    direct = reader.has("text")
    create = CreateDraft(
        text=reader.text("text", MAX_TEXT_LENGTH, strip=False),
        format=reader.choice("format", Format) or (Format.SHORT if direct else None),
        url=reader.web_address("url"),
        prompt=reader.text("prompt", MAX_PROMPT_LENGTH),
        formats=reader.choices("formats", Format, len(Format)) or (None if direct else (Format.SHORT,)),
        images=_read_images(reader),
        tags=reader.texts("tags", MAX_TAGS, MAX_TAG_LENGTH),
        target_platforms=_read_accounts(reader, "targetPlatforms"),
        agent=_read_agent(reader),
    )
    reader.raise_if_invalid()
    return create


def validate_change(request: ChangeDraft | Mapping[str, object], now: datetime) -> ChangeDraft:
    """Return the validated change. Raise InvalidError with every invalid field.

    Whether the draft's state allows it is not checked here, see `transitions`.
    """
    reader = FieldReader(ChangeDraft, request)
    if not reader.has("action") and not reader.has("text"):
        reader.add_problem("action", "is missing: pass an action, a text or both")
    action = reader.choice("action", Action)
    fields = _action_fields(reader, action, now)
    change = ChangeDraft(
        action=action,
        text=reader.text("text", MAX_TEXT_LENGTH, strip=False),
        feedback=fields.feedback,
        scheduled_at=fields.scheduled_at,
        smart_schedule=fields.smart_schedule,
        platforms=_read_accounts(reader, "platforms", min_count=1) or None,
    )
    _allow_only_with(reader, "platforms", action, (Action.POST,))
    reader.raise_if_invalid()
    return change


def validate_attach(request: AttachImage | Mapping[str, object]) -> AttachImage:
    """Return the validated request. Raise InvalidError with every invalid field."""
    reader = FieldReader(AttachImage, request)
    attach = AttachImage(image=reader.number("image", 1, MAX_IMAGES) or 1, alt=reader.text("alt", MAX_ALT_LENGTH))
    reader.raise_if_invalid()
    return attach


def validate_bulk(request: BulkChange | Mapping[str, object], now: datetime) -> BulkChange:
    """Return the validated change, with distinct ids in order of first occurrence.

    Raise InvalidError with every invalid field. The limit of 100 ids applies before duplicates are removed.
    """
    reader = FieldReader(BulkChange, request)
    reader.require("action", "ids")
    action = reader.choice("action", Action, BULK_ACTIONS)
    ids = reader.texts("ids", MAX_IDS, MAX_ID_LENGTH, min_count=1)
    fields = _action_fields(reader, action, now, BULK_ACTIONS)
    reader.raise_if_invalid()
    assert action is not None  # raise_if_invalid has raised otherwise
    return BulkChange(
        action=action,
        ids=ids,
        feedback=fields.feedback,
        scheduled_at=fields.scheduled_at,
        smart_schedule=fields.smart_schedule,
    )


def _check_mode(reader: FieldReader) -> None:
    if reader.has("text"):
        for name in ("url", "prompt", "formats"):
            if reader.has(name):
                reader.add_problem(name, "cannot be combined with a text")
    elif not reader.has("url") and not reader.has("prompt"):
        reader.add_problem("text", "is missing: pass a text, a url or a prompt")
    if reader.has("format") and (reader.has("url") or reader.has("prompt")):
        reader.add_problem("format", "needs text; use formats with url or prompt")


def _read_accounts(reader: FieldReader, name: str, *, min_count: int = 0) -> tuple[str, ...]:
    """Return the names of platforms or accounts to post to."""
    return reader.texts(name, MAX_PLATFORMS, MAX_ACCOUNT_LENGTH, min_count=min_count)


def _read_images(reader: FieldReader) -> tuple[NewImage, ...]:
    """Return the valid images. Problems of the others are recorded in `reader`."""
    images = []
    for index, fields in enumerate(reader.objects("images", NewImage, MAX_IMAGES)):
        fields.require("url", "source")
        url, source = fields.web_address("url", STORED_URL_PATTERN), fields.choice("source", ImageSource)
        alt, position = fields.text("alt", MAX_ALT_LENGTH, min_length=0), fields.number("position", 0, MAX_POSITION)
        if url and source:
            position = index if position is None else position
            images.append(NewImage(url=url, source=source, alt=alt or None, position=position))
    return tuple(images)


def _read_agent(reader: FieldReader) -> NewAgent | None:
    fields = reader.nested("agent", NewAgent)
    if fields is None:
        return None
    sources = []
    for source in fields.objects("sources", NewAgentSource, MAX_AGENT_SOURCES):
        source.require("url")
        url, text = source.web_address("url"), source.text("text", MAX_QUOTE_LENGTH, min_length=0)
        start, end = source.number("start", 0, MAX_OFFSET), source.number("end", 0, MAX_OFFSET)
        if url:
            sources.append(NewAgentSource(url=url, text=text, start=start, end=end))
    return NewAgent(
        name=fields.line("name", MAX_AGENT_LENGTH),
        model=fields.line("model", MAX_AGENT_LENGTH),
        prompt_hash=fields.line("promptHash", MAX_AGENT_LENGTH),
        sources=tuple(sources),
    )


def _action_fields(
    reader: FieldReader, action: Action | None, now: datetime, allowed: tuple[Action, ...] = tuple(Action)
) -> ChangeDraft:
    """Return the fields that accompany an action on one draft or on many."""
    feedback = reader.text("feedback", MAX_FEEDBACK_LENGTH, min_length=0) or None
    # Blank feedback counts as not given, so it is accepted with any action.
    if feedback:
        _allow_only_with(reader, "feedback", action, FEEDBACK_ACTIONS, allowed)
    _allow_only_with(reader, "scheduledAt", action, TIME_ACTIONS)
    if action is Action.RESCHEDULE:
        reader.require("scheduledAt")
    smart_schedule = reader.flag("smartSchedule")
    if smart_schedule:
        _allow_only_with(reader, "smartSchedule", action, (Action.SCHEDULE,))
    return ChangeDraft(
        feedback=feedback, scheduled_at=reader.future_time("scheduledAt", now), smart_schedule=smart_schedule
    )


def _allow_only_with(
    reader: FieldReader,
    name: str,
    action: Action | None,
    actions: tuple[Action, ...],
    allowed: tuple[Action, ...] = tuple(Action),
) -> None:
    # With an invalid action, a second message about its fields would only confuse.
    if reader.has(name) and action not in actions and (action or not reader.has("action")):
        reader.add_problem(
            name, f"only allowed with {' or '.join(candidate for candidate in actions if candidate in allowed)}"
        )
