"""What the user asks of drafts, and what is answered: the values of every way in, and their limits.

Each `checked_...` takes the value itself or an object of named fields as JSON has it, and returns the value with texts
trimmed, times in UTC, defaults filled in and blank feedback gone. Null is the same as not given.
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
    """A picture for a new draft."""

    url: str
    source: ImageSource
    alt: str | None = None
    position: int | None = None
    """Its place in the list, where it was not given."""


class CreateDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """New drafts: one of `text` as it stands, or one per format written from `url`, `prompt` or both."""

    text: str | None = None
    format: Format | None = None
    url: str | None = None
    prompt: str | None = None
    formats: tuple[Format, ...] | None = None
    images: tuple[NewImage, ...] = ()
    """Of the first draft."""
    tags: tuple[str, ...] = ()
    target_platforms: tuple[str, ...] = ()

    @property
    def mode(self) -> "Mode":
        """Whether the text is there or is to be written."""
        return Mode.GENERATE if self.text is None else Mode.DIRECT


class ChangeDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """An edit, an action, or an edit and then an action."""

    action: Action | None = None
    text: str | None = None
    feedback: str | None = None
    scheduled_at: datetime | None = None
    smart_schedule: bool = False
    platforms: tuple[str, ...] | None = None
    """None for all that are connected."""


class BulkChange(Struct, frozen=True, forbid_unknown_fields=True):
    """One action on many drafts."""

    action: Action
    ids: tuple[str, ...]
    feedback: str | None = None
    scheduled_at: datetime | None = None
    smart_schedule: bool = False

    @property
    def each(self) -> ChangeDraft:
        """What is asked of each draft."""
        return ChangeDraft(
            action=self.action,
            feedback=self.feedback,
            scheduled_at=self.scheduled_at,
            smart_schedule=self.smart_schedule,
        )


class Mode(StrEnum):
    """How a draft is created."""

    DIRECT = "direct"
    GENERATE = "generate"


class CreatedDraft(Struct, frozen=True):
    """A new draft, as the answer to its creation shows it."""

    id: str
    text: str
    format: Format
    status: Status
    confidence: float
    images: tuple[DraftImage, ...]
    created_at: datetime


class Created(Struct, frozen=True):
    """What was created: one item and its drafts."""

    mode: Mode
    item_id: str
    drafts: tuple[CreatedDraft, ...]


class BulkFailure(Struct, frozen=True):
    """A draft that an action could not be done to, and why."""

    id: str
    error: str


class BulkResults(Struct, frozen=True):
    """What became of each id, in the order asked."""

    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...]


class BulkOutcome(Struct, frozen=True):
    """What became of a bulk action; `total` counts each id once."""

    action: Action
    total: int
    succeeded: int
    failed: int
    results: BulkResults


def created(mode: Mode, item_id: str, drafts: Sequence[Draft]) -> Created:
    """The answer to a creation."""
    shown = [
        CreatedDraft(**{name: getattr(draft, name) for name in CreatedDraft.__struct_fields__}) for draft in drafts
    ]
    return Created(mode=mode, item_id=item_id, drafts=tuple(shown))


def bulk_outcome(action: Action, succeeded: Sequence[str], failed: Sequence[BulkFailure]) -> BulkOutcome:
    """The answer to a bulk action."""
    return BulkOutcome(
        action=action,
        total=len(succeeded) + len(failed),
        succeeded=len(succeeded),
        failed=len(failed),
        results=BulkResults(succeeded=tuple(succeeded), failed=tuple(failed)),
    )


def checked_create(given: CreateDraft | Mapping[str, object]) -> CreateDraft:
    """`given` with the limits kept and the format, or formats, of its mode. Raises InvalidError with every field.

    Tags are the same where they are letter for letter the same, as they are kept.
    """
    asked = Asked(CreateDraft, given)
    _one_mode(asked)
    direct = asked.has("text")
    create = CreateDraft(
        text=asked.text("text", LONGEST_TEXT),
        format=asked.choice("format", Format) or (Format.SHORT if direct else None),
        url=asked.address("url"),
        prompt=asked.text("prompt", LONGEST_PROMPT),
        formats=asked.choices("formats", Format, len(Format)) or (None if direct else (Format.SHORT,)),
        images=_images(asked),
        tags=asked.texts("tags", MOST_TAGS, LONGEST_TAG),
        target_platforms=asked.texts("targetPlatforms", MOST_PLATFORMS, LONGEST_PLATFORM),
    )
    asked.refuse()
    return create


def checked_change(given: ChangeDraft | Mapping[str, object], now: datetime) -> ChangeDraft:
    """`given` with the limits kept. Raises InvalidError with every field; the draft's state is not looked at."""
    asked = Asked(ChangeDraft, given)
    if not asked.has("action") and not asked.has("text"):
        asked.problem("action", "is missing: give an action, a text or both")
    action = asked.choice("action", Action)
    asks = _asks(asked, action, now)
    change = ChangeDraft(
        action=action,
        text=asked.text("text", LONGEST_TEXT),
        feedback=asks.feedback,
        scheduled_at=asks.scheduled_at,
        smart_schedule=asks.smart_schedule,
        platforms=asked.texts("platforms", MOST_PLATFORMS, LONGEST_PLATFORM, least=1) or None,
    )
    _only_with(asked, "platforms", action, (Action.POST,))
    asked.refuse()
    return change


def checked_bulk(given: BulkChange | Mapping[str, object], now: datetime) -> BulkChange:
    """`given` with the limits kept and each id once, in its first place. Raises InvalidError with every field.

    The 1 to 100 ids are those given: 101 with some of them twice are too many.
    """
    asked = Asked(BulkChange, given)
    asked.need("action", "ids")
    action = asked.choice("action", Action, BULK_ACTIONS)
    ids = asked.texts("ids", MOST_IDS, LONGEST_ID, least=1)
    asks = _asks(asked, action, now, BULK_ACTIONS)
    asked.refuse()
    assert action is not None  # it would have been refused
    return BulkChange(
        action=action,
        ids=ids,
        feedback=asks.feedback,
        scheduled_at=asks.scheduled_at,
        smart_schedule=asks.smart_schedule,
    )


def _one_mode(asked: Asked) -> None:
    if asked.has("text"):
        for name in ("url", "prompt", "formats"):
            if asked.has(name):
                asked.problem(name, "does not go with text: give the text, or what to write it from")
    elif not asked.has("url") and not asked.has("prompt"):
        asked.problem("text", "is missing: give a text, or a url or a prompt to write one from")
    if asked.has("format") and (asked.has("url") or asked.has("prompt")):
        asked.problem("format", "goes with text: with url and prompt it is formats")


def _images(asked: Asked) -> tuple[NewImage, ...]:
    """The pictures; those with problems have been remembered and are left out."""
    found = []
    for place, image in enumerate(asked.objects("images", NewImage, MOST_IMAGES)):
        image.need("url", "source")
        url, source = image.address("url", KEPT), image.choice("source", ImageSource)
        alt, position = image.text("alt", LONGEST_ALT, least=0), image.number("position", 0, LAST_POSITION)
        if url and source:
            position = place if position is None else position
            found.append(NewImage(url=url, source=source, alt=alt or None, position=position))
    return tuple(found)


def _asks(asked: Asked, action: Action | None, now: datetime, among: tuple[Action, ...] = tuple(Action)) -> ChangeDraft:
    """What comes with an action, of one draft and of many."""
    feedback = asked.text("feedback", LONGEST_FEEDBACK, least=0) or None
    if feedback:
        _only_with(asked, "feedback", action, TAKES_FEEDBACK, among)
    _only_with(asked, "scheduledAt", action, TAKES_TIME)
    if action is Action.RESCHEDULE:
        asked.need("scheduledAt")
    smart = asked.flag("smartSchedule")
    if smart:
        _only_with(asked, "smartSchedule", action, (Action.SCHEDULE,))
    return ChangeDraft(feedback=feedback, scheduled_at=asked.moment("scheduledAt", now), smart_schedule=smart)


def _only_with(
    asked: Asked,
    name: str,
    action: Action | None,
    actions: tuple[Action, ...],
    among: tuple[Action, ...] = tuple(Action),
) -> None:
    # Where the action itself is wrong, that is all there is to say.
    if asked.has(name) and action not in actions and (action or not asked.has("action")):
        asked.problem(name, f"goes only with {' or '.join(fit for fit in actions if fit in among)}")
