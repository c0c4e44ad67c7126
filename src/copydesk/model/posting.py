"""What is told of posts: where a draft went, what became of it there, and what would stop it."""

from datetime import datetime

from copydesk.model.delivery import Evidence, State
from copydesk.model.draft import Draft
from copydesk.model.wire import Struct


class PostResult(Struct, frozen=True):
    """What became of a draft that was posted: accounts by their names (`bluesky:me.example`)."""

    posted: tuple[str, ...]
    failed: tuple[str, ...]
    draft: Draft
    under_way: tuple[str, ...] = ()
    """Where it is not known yet: it is gone on with by itself."""


class Sent(Struct, frozen=True):
    """One post of a delivery that is there."""

    id: str | None
    url: str | None
    evidence: Evidence


class DeliveryReport(Struct, frozen=True):
    """One draft on its way to one account, as the user reads it."""

    id: str
    draft_id: str
    account: str
    """`bluesky:me.example`"""
    state: State
    says: str
    """What is known of it, and what can be done, in words."""
    due_at: datetime
    posts: tuple[Sent, ...]
    """What is there of it, in order."""
    parts: int
    """How many posts it has in all; 0 before that is settled."""
    attempts: int
    """Requests so far; of a thread as many as it has posts, where all went well."""
    retry_after: datetime | None
    sent_at: datetime | None
    gone_at: datetime | None
    """When it was noticed that the post is not there any more."""


class Stop(Struct, frozen=True):
    """What would stop a draft from being posted to an account."""

    account: str
    message: str
    part: int | None = None
    """Which post of a thread, from 0."""


class Price(Struct, frozen=True):
    """What posting a draft to an account costs."""

    account: str
    amount: str
    """A decimal number: `0.215`."""
    currency: str


class PreviewPart(Struct, frozen=True):
    """One post, as a platform counts it."""

    text: str
    length: int
    """In the platform's own units."""
    limit: int | None
    """In the same; None where there is none, or none is known."""
    stops: tuple[str, ...] = ()
    """Why it would not be taken."""


class Preview(Struct, frozen=True):
    """How a text would stand at one place that it is meant for."""

    account: str
    """`bluesky:me.example`; the platform's name where no account of it is connected."""
    platform: str
    connected: bool
    parts: tuple[PreviewPart, ...] = ()
    stops: tuple[str, ...] = ()
    """Why none of it would be taken."""
    card: bool = False
    """Whether the platform makes a card of the first link by itself."""

    @property
    def fits(self) -> bool:
        """Whether all of it would be taken."""
        return not self.stops and not any(part.stops for part in self.parts)
