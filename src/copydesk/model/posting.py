"""Reports about posts: where a draft was posted, the outcome, and what would prevent it."""

from datetime import datetime

from copydesk.model.delivery import DeliveryState, Evidence
from copydesk.model.draft import Draft
from copydesk.model.wire import Struct


class PostResult(Struct, frozen=True):
    """Outcome of posting a draft, with accounts by their labels (`bluesky:me.example`)."""

    posted: tuple[str, ...]
    failed: tuple[str, ...]
    draft: Draft
    under_way: tuple[str, ...] = ()
    """Accounts whose outcome is not known yet; delivery continues in the background."""


class DeliveredPost(Struct, frozen=True):
    """One published post of a delivery."""

    id: str | None
    url: str | None
    evidence: Evidence


class DeliveryReport(Struct, frozen=True):
    """One draft on its way to one account, for display."""

    id: str
    draft_id: str
    account: str
    """`bluesky:me.example`"""
    state: DeliveryState
    says: str
    """The state and the available options, in words."""
    due_at: datetime
    posts: tuple[DeliveredPost, ...]
    """The published posts, in order."""
    parts: int
    """Total number of posts; 0 until it is fixed."""
    attempts: int
    """Requests so far; the number of posts of a thread if none had to be retried."""
    retry_after: datetime | None
    sent_at: datetime | None
    gone_at: datetime | None
    """When the post was found to have been deleted."""


class PostingBlocker(Struct, frozen=True):
    """A reason that prevents posting a draft to an account."""

    account: str
    message: str
    part: int | None = None
    """Index of the post in a thread, from 0."""


class Price(Struct, frozen=True):
    """The cost of posting a draft to an account."""

    account: str
    amount: str
    """A decimal number: `0.215`."""
    currency: str


class PreviewPart(Struct, frozen=True):
    """One post, measured as the platform does."""

    text: str
    length: int
    """In the platform's own units."""
    limit: int | None
    """In the same units; None if there is none or it is unknown."""
    stops: tuple[str, ...] = ()
    """Why the platform would reject it."""


class Preview(Struct, frozen=True):
    """A text as it would appear on one target platform or account."""

    account: str
    """`bluesky:me.example`; the platform's name if no account of it is connected."""
    platform: str
    connected: bool
    parts: tuple[PreviewPart, ...] = ()
    stops: tuple[str, ...] = ()
    """Why the platform would reject all of it."""
    card: bool = False
    """True if the platform renders a card for the first link by itself."""

    @property
    def fits(self) -> bool:
        """True if nothing would be rejected."""
        return not self.stops and not any(part.stops for part in self.parts)
