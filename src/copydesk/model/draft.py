"""Drafts: statuses, formats, actions, and the data attached to a draft, such as its images."""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from copydesk.model.serialization import Struct

MANUAL = "manual"
"""Takes the place of a source type for items that the user supplied."""

STORED_URL_PATTERN = re.compile(r"copydesk:picture/([0-9a-f]{64})")
"""URL of an image stored by Copydesk, addressed by content and never by path.

Must match completely; the group is the SHA-256 of the content.
"""


class Format(StrEnum):
    """The kind of text."""

    SHORT = "SHORT"
    THREAD = "THREAD"
    BLOG = "BLOG"


class Status(StrEnum):
    """Position in the workflow from generation to posting."""

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


STATUS_LABELS: Mapping[Status, str] = {
    Status.PENDING_GENERATION: "generating",
    Status.GENERATION_FAILED: "generation failed",
    Status.PENDING_REVIEW: "new",
    Status.AWAITING_REVIEW: "needs review",
    Status.CHANGES_REQUESTED: "changes requested",
    Status.PENDING_REGENERATION: "regenerating",
    Status.APPROVED: "approved",
    Status.REJECTED: "rejected",
    Status.SCHEDULED: "scheduled",
    Status.POSTING: "posting",
    Status.MISSED: "missed",
    Status.POSTED: "posted",
}
"""Status -> its name in every text for users; JSON has the value."""
TO_REVIEW = (Status.PENDING_REVIEW, Status.AWAITING_REVIEW, Status.CHANGES_REQUESTED)
"""Waiting for the reviewer."""


class Action(StrEnum):
    """An action on a draft; `transitions` defines when it is allowed."""

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
"""Actions that can be applied to many drafts at once."""


class ImageSource(StrEnum):
    """Origin of a draft's image."""

    OG = "OG"
    UPLOAD = "UPLOAD"
    AI_PROVIDER_A = "AI_PROVIDER_A"
    AI_PROVIDER_B = "AI_PROVIDER_B"


class DraftImage(Struct, frozen=True, omit_defaults=True):
    id: str
    url: str
    alt: str | None
    position: int
    source: ImageSource
    agency: str | None = None
    """The picture agency that its address or its credit names: posting it may need a licence."""


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(Struct, frozen=True, omit_defaults=True):
    """One finding of a check."""

    rule: str
    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None
    """Span in the draft's text, in characters; None if the finding is about the whole text."""


class Field(StrEnum):
    """Origin of words in a draft."""

    TITLE = "title"
    SUMMARY = "summary"
    TEXT = "text"
    TEMPLATE = "template"
    """The writer's own template text: the source's name, the link, the date, hashtags."""


class ClaimVerdict(StrEnum):
    """Comparison of a sentence of a draft with its source."""

    SUPPORTED = "supported"
    CONTRADICTS = "contradicts"
    CANNOT_TELL = "cannot_tell"


CLAIM_LABELS: Mapping[ClaimVerdict, str] = {
    ClaimVerdict.SUPPORTED: "supported",
    ClaimVerdict.CONTRADICTS: "contradicts",
    ClaimVerdict.CANNOT_TELL: "cannot tell",
}
"""Verdict -> its name in every text for users; JSON has the value."""


class ClaimSource(Struct, frozen=True, omit_defaults=True):
    """Words of a source, as the source has them: characters `start` to `end` of the item's `field`."""

    text: str
    field: Field
    start: int
    end: int
    item_id: str | None = None
    """The item, if it is not the draft's own but another one of its `items`."""


class Claim(Struct, frozen=True, omit_defaults=True):
    """A factual sentence of a draft beside the words of the source that it rests on.

    It is computed by the checks, whoever wrote the draft: quotes that a writer or an agent names are no evidence.
    """

    start: int
    end: int
    """Span in the draft's text, in characters."""
    verdict: ClaimVerdict
    reason: str = ""
    """Why it is not supported, for the user."""
    source: ClaimSource | None = None
    """None if no sentence of the source is about the same."""


class Checks(Struct, frozen=True):
    """Result of the checks: the number of rules that ran, their findings, and the claims of the text."""

    ran: int = 0
    findings: tuple[Finding, ...] = ()
    claims: tuple[Claim, ...] = ()


class ScorePart(Struct, frozen=True, gc=False):
    """One term of an item's score: `points` is `value` times `weight`."""

    name: str
    value: float
    """From 0 to 1; of the learnt preference from -0.5 to 0.5."""
    weight: float
    points: float
    why: str
    """Explanation for the user."""


class StorySource(Struct, frozen=True, gc=False):
    """One of the sources that report a story."""

    item_id: str
    source_id: str
    name: str
    type: str
    title: str
    url: str | None


class Score(Struct, frozen=True, gc=False):
    """Why an item was selected: the total, its terms, and the other sources of the story."""

    total: float
    parts: tuple[ScorePart, ...] = ()
    sources: tuple[StorySource, ...] = ()


class Trace(Struct, frozen=True, omit_defaults=True):
    """Words of a draft and their origin: characters `start` to `end` of the `field` of an item.

    The words and numbers of that span are those of `text`. The texts may differ in invisible characters, markup,
    bracketed links, emoji that the voice excludes, and double quotation marks replaced by single ones.
    """

    text: str
    field: Field
    start: int | None = None
    end: int | None = None
    item_id: str | None = None
    """The item, if it is not the draft's own but another one of its `items`."""


class AgentSource(Struct, frozen=True, omit_defaults=True):
    """A source on which an agent's proposal rests."""

    url: str
    text: str = ""
    """The words that it used."""
    start: int | None = None
    end: int | None = None
    """Their span in the source, in characters, if the agent reports it."""


class Agent(Struct, frozen=True, omit_defaults=True):
    """The program that proposed a draft, as it describes itself."""

    name: str
    model: str = ""
    prompt_hash: str = ""
    """Identifies the prompt, so that proposals of one prompt can be compared."""
    sources: tuple[AgentSource, ...] = ()
    token: str = ""
    """Name of the API token with which the draft was created. Unlike the rest, the agent cannot choose it."""


class DraftVariant(Struct, frozen=True, gc=False):
    """The variant of an experiment in which a draft was generated."""

    experiment_id: str
    variant_id: str


class DraftItem(Struct, frozen=True):
    """A draft's source item, as included in lists."""

    id: str
    title: str
    source_type: str
    """Name of a source type, or MANUAL."""
    published: datetime
    """When the source published it; for an item that the user supplied, when it was added."""


class DraftSource(Struct, frozen=True, gc=False):
    """One of several source items of a draft."""

    id: str
    title: str
    url: str | None
    source_name: str
    source_type: str


class Draft(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A draft as the interface returns it, plus Copydesk's own fields (from `archived_at` on)."""

    id: str
    text: str
    format: Format
    status: Status
    confidence: float
    # Without these it is a draft to which nothing has happened yet.
    feedback: str | None = None
    rejection_feedback: str | None = None
    scheduled_at: datetime | None = None
    posted_at: datetime | None = None
    post_id: str | None = None
    item_id: str
    regenerated_from_id: str | None = None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None
    last_error: str | None = None
    tags: tuple[str, ...] = ()
    target_platforms: tuple[str, ...] = ()
    images: tuple[DraftImage, ...] = ()
    proposed_images: tuple[DraftImage, ...] = ()
    """Images of the source. They are not posted unless the user attaches them."""
    checks: Checks = Checks()
    sentences: tuple[Trace, ...] = ()
    """Origin of its words, in order; empty if the writer does not report it."""
    score: Score | None = None
    """None if the draft was not selected by a run."""
    writer: str = ""
    """`offline`, a model's name, or `user`."""
    version: int = 1
    """Incremented by each change. A change that names an older version is rejected."""
    variants: tuple[DraftVariant, ...] = ()
    """The variants of experiments that it took part in."""
    agent: Agent | None = None
    """The agent that proposed it; None if a person or Copydesk itself created it."""
    items: tuple[DraftSource, ...] = ()
    """All source items, best first, of a draft that links to several; empty for any other."""
    confidence_known: bool = False
    """False until enough drafts are decided; then `confidence` is an average and says nothing about this draft."""


class ListedDraft(Draft, frozen=True, kw_only=True):
    """A draft with its source item."""

    item: DraftItem


APPROVED_STATUSES = frozenset({Status.APPROVED, Status.SCHEDULED, Status.MISSED})
"""A reviewer has approved the text as it stands: to edit it is to approve another one."""


def is_held(status: Status, last_error: str | None) -> bool:
    """Return True if the draft was approved and is held since, because its source changed."""
    # Nothing else leaves an error on a draft that awaits review: every change of the status clears it.
    return status is Status.AWAITING_REVIEW and last_error is not None


def without_item(listed: ListedDraft) -> Draft:
    """Return the draft without its item, as the response to a change contains it."""
    return Draft(**{name: getattr(listed, name) for name in Draft.__struct_fields__})


def stored_image_url(digest: str) -> str:
    """Return the URL of the stored image with this SHA-256 (hexadecimal)."""
    return f"copydesk:picture/{digest}"


def stored_image_digest(url: str) -> str | None:
    """Return the SHA-256 (hexadecimal) of the stored image at `url`, or None for any other URL."""
    match = STORED_URL_PATTERN.fullmatch(url)
    return match[1] if match else None


class Thumbnail(Struct, frozen=True):
    """A thumbnail, or why there is none."""

    content: bytes = b""
    """A JPEG of a few hundred pixels; empty if there is none."""
    width: int = 0
    """Pixels of the original image."""
    height: int = 0
    size: int = 0
    """Bytes of the original image."""
    message: str = ""
    """Why there is no thumbnail."""
