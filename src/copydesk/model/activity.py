"""Several reviewers on one draft: their presence, edits and comments."""

from datetime import datetime, timedelta
from typing import Final

from copydesk.model.serialization import Struct

VIEW_DURATION: Final = timedelta(seconds=60)
"""For so long a reviewer counts as being on a draft; renewed while it is open."""
EDIT_DURATION: Final = timedelta(minutes=3)
"""For so long an edit keeps others from saving; renewed while the reviewer types."""
MAX_APPROVALS: Final = 2
"""Approvals that an account can ask for."""
MAX_COMMENT_LENGTH: Final = 2000
MAX_QUOTE_LENGTH: Final = 500
MAX_COMMENTS: Final = 200
"""Comments on one draft."""


class Viewer(Struct, frozen=True):
    """A reviewer who has a draft open, or edits it."""

    reviewer: str
    """Name of the API token, or of the person at the console or the command line."""
    until: datetime
    """The time at which that ends if it is not renewed."""
    since: datetime | None = None
    """The time at which an edit began; None for who only has the draft open."""


class EditLease(Struct, frozen=True):
    """The right of one reviewer to edit a draft."""

    id: str
    """Known to its holder only."""
    draft_id: str
    reviewer: str
    until: datetime
    version: int
    """The draft's version when the edit began."""


class UnsavedEdit(Struct, frozen=True):
    """A text that was typed and not saved, because somebody else took the edit over."""

    id: str
    draft_id: str
    reviewer: str
    at: datetime
    """The time of the takeover."""
    version: int
    """The draft's version when the edit began."""
    text: str


class Approval(Struct, frozen=True):
    """The approval of a draft by one reviewer."""

    reviewer: str
    at: datetime


class DraftActivity(Struct, frozen=True):
    """The other reviewers of a draft."""

    viewers: tuple[Viewer, ...]
    """The other reviewers who have it open."""
    editing: Viewer | None
    """The reviewer who edits it."""
    unsaved: tuple[UnsavedEdit, ...]
    """Texts of edits that were taken over, oldest first."""
    approvals: tuple[Approval, ...] = ()
    """The reviewers who have approved the draft with its present text."""


class Comment(Struct, frozen=True):
    """A comment on a draft, or on some words of it."""

    id: str
    draft_id: str
    reviewer: str
    at: datetime
    text: str
    quote: str = ""
    """The words; empty for a comment on the whole draft."""
    start: int | None = None
    """Position of the words in the text as it is now, in characters; None if they are not in it any more."""
    resolved_at: datetime | None = None
    resolved_by: str | None = None


class ReviewedDraft(Struct, frozen=True):
    """A draft as its reviewers see it: who is on it, who has approved it, and what they say about it."""

    reviewer: str
    """The name of the caller."""
    activity: DraftActivity
    comments: tuple[Comment, ...] = ()
    required: int = 1
    """The approvals that its accounts ask for."""
    is_shared: bool = False
    """True if another reviewer has any draft of the desk open."""

    @property
    def lacks_approvals(self) -> bool:
        """True if an account asks for more approvals than the draft has."""
        return len(self.activity.approvals) < self.required

    @property
    def is_approved_by_caller(self) -> bool:
        """True if the caller has approved the draft as it stands."""
        return any(approval.reviewer == self.reviewer for approval in self.activity.approvals)


def find_quote(text: str, quote: str, start: int) -> int | None:
    """Return the position of `quote` in `text` that is closest to `start`; None if it is not in it."""
    if not quote:
        return None
    positions = []
    # Overlapping ones too: any of them may be meant.
    position = text.find(quote)
    while position >= 0:
        positions.append(position)
        position = text.find(quote, position + 1)
    return min(positions, key=lambda found: abs(found - start), default=None)
