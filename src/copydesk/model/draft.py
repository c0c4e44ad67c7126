"""A draft: its states, its formats, and what stands with it."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.source import SourceType
from copydesk.model.wire import Struct


class Format(StrEnum):
    """What kind of text a draft is."""

    SHORT = "SHORT"
    THREAD = "THREAD"
    BLOG = "BLOG"


class Status(StrEnum):
    """Where a draft is on its way to being posted."""

    PENDING_GENERATION = "pending_generation"
    GENERATION_FAILED = "generation_failed"
    PENDING_REVIEW = "pending_review"
    AWAITING_REVIEW = "awaiting_review"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    PENDING_REGENERATION = "pending_regeneration"
    SCHEDULED = "scheduled"
    POSTING = "posting"
    MISSED = "missed"
    POSTED = "posted"


TO_REVIEW = (Status.PENDING_REVIEW, Status.AWAITING_REVIEW, Status.CHANGES_REQUESTED)
"""What waits for the user."""


class Action(StrEnum):
    """What a person may ask of a draft; `transitions` says when."""

    APPROVE = "approve"
    REJECT = "reject"
    REGENERATE = "regenerate"
    SCHEDULE = "schedule"
    ARCHIVE = "archive"
    UNAPPROVE = "unapprove"
    RESCHEDULE = "reschedule"
    CANCEL_SCHEDULE = "cancel_schedule"
    POST = "post"


BULK_ACTIONS = (
    Action.APPROVE,
    Action.REJECT,
    Action.ARCHIVE,
    Action.SCHEDULE,
    Action.RESCHEDULE,
    Action.CANCEL_SCHEDULE,
)
"""What may be asked of many drafts at once."""


class ImageSource(StrEnum):
    """Where a draft's picture comes from."""

    OG = "OG"
    UPLOAD = "UPLOAD"
    AI_PROVIDER_A = "AI_PROVIDER_A"
    AI_PROVIDER_B = "AI_PROVIDER_B"


class DraftImage(Struct, frozen=True):
    """A picture of a draft."""

    id: str
    url: str
    alt: str | None
    position: int
    source: ImageSource


class Severity(StrEnum):
    """How much a check's finding matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(Struct, frozen=True, omit_defaults=True):
    """One thing that a check found in a draft."""

    rule: str
    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None
    """The place in the draft's text, in characters, where there is one."""


class Checks(Struct, frozen=True):
    """What the checks said about a draft: how many ran, and what they found."""

    ran: int = 0
    findings: tuple[Finding, ...] = ()


class ScorePart(Struct, frozen=True):
    """One term of an item's score: `points` is `value` (0 to 1) times `weight`."""

    name: str
    value: float
    weight: float
    points: float
    why: str
    """In words, for the user."""


class StorySource(Struct, frozen=True):
    """One of the sources that tell a story."""

    item_id: str
    source_id: str
    name: str
    type: SourceType
    title: str
    url: str | None


class Score(Struct, frozen=True):
    """Why an item was picked: the sum and every part of it, and who else tells the story."""

    total: float
    parts: tuple[ScorePart, ...] = ()
    sources: tuple[StorySource, ...] = ()


class Field(StrEnum):
    """Where words of a draft come from."""

    TITLE = "title"
    SUMMARY = "summary"
    TEXT = "text"
    TEMPLATE = "template"
    """The writer's own framing: the source's name, the link, the date, hashtags."""


class Trace(Struct, frozen=True, omit_defaults=True):
    """Words of a draft and where they come from: `start` to `end` of the item's `field`, in characters.

    The words and figures of that place are those of `text`; what differs is what cannot be seen, markup, links in
    brackets, emoji that the voice does not want, and double quotation marks that became single ones.
    """

    text: str
    field: Field
    start: int | None = None
    end: int | None = None


MANUAL = "manual"
"""In the place of a source's type, for an item that the user gave."""


class DraftItem(Struct, frozen=True):
    """The source item of a draft, as lists show it."""

    id: str
    title: str
    source_type: str
    """A SourceType, or MANUAL."""


class Draft(Struct, frozen=True, omit_defaults=False):
    """A draft as the interface shows it, with what Copydesk adds to it (from `archived_at` on)."""

    id: str
    text: str
    format: Format
    status: Status
    confidence: float
    feedback: str | None
    rejection_feedback: str | None
    scheduled_at: datetime | None
    posted_at: datetime | None
    post_id: str | None
    item_id: str
    regenerated_from_id: str | None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None
    last_error: str | None = None
    tags: tuple[str, ...] = ()
    target_platforms: tuple[str, ...] = ()
    images: tuple[DraftImage, ...] = ()
    checks: Checks = Checks()
    sentences: tuple[Trace, ...] = ()
    """Where its words come from, in order; empty where its writer cannot tell."""
    score: Score | None = None
    """None for a draft that no run picked."""
    writer: str = ""
    """Who wrote it: `offline`, a model's name, or `user`."""
    version: int = 1
    """Grows by one with each change: who changes what they saw names it, and is refused where it is an older one."""


class ListedDraft(Draft, frozen=True, kw_only=True):
    """A draft with its source item."""

    item: DraftItem


def plain(shown: ListedDraft) -> Draft:
    """The draft without its item, as a change answers it."""
    return Draft(**{name: getattr(shown, name) for name in Draft.__struct_fields__})
