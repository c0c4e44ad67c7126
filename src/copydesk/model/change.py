"""Requests to create and change drafts, their responses, and the validation with its limits.

Each `validate_...` takes the struct itself, or an object with the field names of the JSON interface, and returns the
struct with texts stripped, times in UTC, defaults filled in and blank feedback removed. Null is the same as not given.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from copydesk.model.asked import Asked
from copydesk.model.draft import BULK_ACTIONS, Action, Draft, DraftImage, Format, ImageSource, Status
from copydesk.model.picture import KEPT
from copydesk.model.wire import Struct

LONGEST_TEXT = 50_000
LONGEST_PROMPT = 5_000
LONGEST_FEEDBACK = 5_000
LONGEST_ALT = 2_000
MOST_IMAGES, MOST_TAGS, MOST_PLATFORMS, MOST_IDS = 10, 20, 20, 100
LONGEST_TAG = LONGEST_PLATFORM = 50
LONGEST_ID = 100
LAST_POSITION = 1_000

TAKES_FEEDBACK = (Action.REJECT, Action.UNAPPROVE, Action.REGENERATE)
TAKES_TIME = (Action.SCHEDULE, Action.RESCHEDULE)


class NewImage(Struct, frozen=True, forbid_unknown_fields=True):
    """An image of a new draft."""

    url: str
    source: ImageSource
    alt: str | None = None
    position: int | None = None
    """Defaults to the image's index in the list."""


class CreateDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """Create one draft from `text`, or generate one per format from `url`, `prompt` or both."""

    text: str | None = None
    format: Format | None = None
    url: str | None = None
    prompt: str | None = None
    formats: tuple[Format, ...] | None = None
    images: tuple[NewImage, ...] = ()
    """Images of the first draft."""
    tags: tuple[str, ...] = ()
    target_platforms: tuple[str, ...] = ()

    @property
    def mode(self) -> "Mode":
        """GENERATE if the text has to be written, otherwise DIRECT."""
        return Mode.GENERATE if self.text is None else Mode.DIRECT


class ChangeDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """An edit, an action, or an edit followed by an action."""

    action: Action | None = None
    text: str | None = None
    feedback: str | None = None
    scheduled_at: datetime | None = None
    smart_schedule: bool = False
    platforms: tuple[str, ...] | None = None
    """None selects all connected ones."""


class BulkChange(Struct, frozen=True, forbid_unknown_fields=True):
    """One action on many drafts."""

    action: Action
    ids: tuple[str, ...]
    feedback: str | None = None
    scheduled_at: datetime | None = None
    smart_schedule: bool = False

    @property
    def each(self) -> ChangeDraft:
        """The change to apply to each draft."""
        return ChangeDraft(
            action=self.action,
            feedback=self.feedback,
            scheduled_at=self.scheduled_at,
            smart_schedule=self.smart_schedule,
        )


class Mode(StrEnum):
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


class Created(Struct, frozen=True):
    """The created item and its drafts."""

    mode: Mode
    item_id: str
    drafts: tuple[CreatedDraft, ...]


class BulkFailure(Struct, frozen=True):
    """A draft to which the action could not be applied, and why."""

    id: str
    error: str


class BulkResults(Struct, frozen=True):
    """The outcome for each id, in the order requested."""

    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...]


class BulkOutcome(Struct, frozen=True):
    """Response to a bulk action; `total` counts each distinct id."""

    action: Action
    total: int
    succeeded: int
    failed: int
    results: BulkResults


def created(mode: Mode, item_id: str, drafts: Sequence[Draft]) -> Created:
    """Return the response to a creation."""
    created_drafts = [
        CreatedDraft(**{name: getattr(draft, name) for name in CreatedDraft.__struct_fields__}) for draft in drafts
    ]
    # The response is a subset of the draft's fields, by the same names.
    return Created(mode=mode, item_id=item_id, drafts=tuple(created_drafts))


def bulk_outcome(action: Action, succeeded: Sequence[str], failed: Sequence[BulkFailure]) -> BulkOutcome:
    """Return the response to a bulk action."""
    return BulkOutcome(
        action=action,
        total=len(succeeded) + len(failed),
        succeeded=len(succeeded),
        failed=len(failed),
        results=BulkResults(succeeded=tuple(succeeded), failed=tuple(failed)),
    )


def checked_create(given: CreateDraft | Mapping[str, object]) -> CreateDraft:
    """Return the validated request, with the default format or formats of its mode.

    Raise InvalidError with every invalid field. Tags are compared exactly, including case, because they are stored that
    way.
    """
    reader = Asked(CreateDraft, given)
    _check_mode(reader)
    direct = reader.has("text")
    create = CreateDraft(
        text=reader.text("text", LONGEST_TEXT),
        format=reader.choice("format", Format) or (Format.SHORT if direct else None),
        url=reader.address("url"),
        prompt=reader.text("prompt", LONGEST_PROMPT),
        formats=reader.choices("formats", Format, len(Format)) or (None if direct else (Format.SHORT,)),
        images=_read_images(reader),
        tags=reader.texts("tags", MOST_TAGS, LONGEST_TAG),
        target_platforms=reader.texts("targetPlatforms", MOST_PLATFORMS, LONGEST_PLATFORM),
    )
    reader.refuse()
    return create


def checked_change(given: ChangeDraft | Mapping[str, object], now: datetime) -> ChangeDraft:
    """Return the validated change. Raise InvalidError with every invalid field.

    Whether the draft's state allows it is not checked here, see `transitions`.
    """
    reader = Asked(ChangeDraft, given)
    if not reader.has("action") and not reader.has("text"):
        reader.problem("action", "is missing: give an action, a text or both")
    action = reader.choice("action", Action)
    fields = _action_fields(reader, action, now)
    change = ChangeDraft(
        action=action,
        text=reader.text("text", LONGEST_TEXT),
        feedback=fields.feedback,
        scheduled_at=fields.scheduled_at,
        smart_schedule=fields.smart_schedule,
        platforms=reader.texts("platforms", MOST_PLATFORMS, LONGEST_PLATFORM, least=1) or None,
    )
    _allow_only_with(reader, "platforms", action, (Action.POST,))
    reader.refuse()
    return change


def checked_bulk(given: BulkChange | Mapping[str, object], now: datetime) -> BulkChange:
    """Return the validated change, with distinct ids in order of first occurrence.

    Raise InvalidError with every invalid field. The limit of 100 ids applies before duplicates are removed.
    """
    reader = Asked(BulkChange, given)
    reader.need("action", "ids")
    action = reader.choice("action", Action, BULK_ACTIONS)
    ids = reader.texts("ids", MOST_IDS, LONGEST_ID, least=1)
    fields = _action_fields(reader, action, now, BULK_ACTIONS)
    reader.refuse()
    assert action is not None  # raise_if_invalid has raised otherwise
    return BulkChange(
        action=action,
        ids=ids,
        feedback=fields.feedback,
        scheduled_at=fields.scheduled_at,
        smart_schedule=fields.smart_schedule,
    )


def _check_mode(reader: Asked) -> None:
    if reader.has("text"):
        for name in ("url", "prompt", "formats"):
            if reader.has(name):
                reader.problem(name, "does not go with text: give the text, or what to write it from")
    elif not reader.has("url") and not reader.has("prompt"):
        reader.problem("text", "is missing: give a text, or a url or a prompt to write one from")
    if reader.has("format") and (reader.has("url") or reader.has("prompt")):
        reader.problem("format", "goes with text: with url and prompt it is formats")


def _read_images(reader: Asked) -> tuple[NewImage, ...]:
    """Return the valid images. Problems of the others are recorded in `reader`."""
    images = []
    for index, fields in enumerate(reader.objects("images", NewImage, MOST_IMAGES)):
        fields.need("url", "source")
        url, source = fields.address("url", KEPT), fields.choice("source", ImageSource)
        alt, position = fields.text("alt", LONGEST_ALT, least=0), fields.number("position", 0, LAST_POSITION)
        if url and source:
            position = index if position is None else position
            images.append(NewImage(url=url, source=source, alt=alt or None, position=position))
    return tuple(images)


def _action_fields(
    reader: Asked, action: Action | None, now: datetime, allowed: tuple[Action, ...] = tuple(Action)
) -> ChangeDraft:
    """Return the fields that accompany an action on one draft or on many."""
    feedback = reader.text("feedback", LONGEST_FEEDBACK, least=0) or None
    # Blank feedback counts as not given, so it is accepted with any action.
    if feedback:
        _allow_only_with(reader, "feedback", action, TAKES_FEEDBACK, allowed)
    _allow_only_with(reader, "scheduledAt", action, TAKES_TIME)
    if action is Action.RESCHEDULE:
        reader.need("scheduledAt")
    smart_schedule = reader.flag("smartSchedule")
    if smart_schedule:
        _allow_only_with(reader, "smartSchedule", action, (Action.SCHEDULE,))
    return ChangeDraft(feedback=feedback, scheduled_at=reader.moment("scheduledAt", now), smart_schedule=smart_schedule)


def _allow_only_with(
    reader: Asked,
    name: str,
    action: Action | None,
    actions: tuple[Action, ...],
    allowed: tuple[Action, ...] = tuple(Action),
) -> None:
    # With an invalid action, a second message about its fields would only confuse.
    if reader.has(name) and action not in actions and (action or not reader.has("action")):
        reader.problem(
            name, f"goes only with {' or '.join(candidate for candidate in actions if candidate in allowed)}"
        )
