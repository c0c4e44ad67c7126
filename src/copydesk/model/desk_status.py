"""What a console shows of its desk beside the drafts."""

from copydesk.model.role import Role
from copydesk.model.serialization import Struct


class FailingSource(Struct, frozen=True):
    """A source whose last fetch failed."""

    id: str
    name: str
    error: str


class DeskStatus(Struct, frozen=True):
    """The state of a desk."""

    failing_sources: tuple[FailingSource, ...]
    """The enabled sources whose last fetch failed."""
    is_posting_paused: bool
    """True if the wall clock is in doubt."""
    needing_user: int
    """Number of deliveries, accounts and drafts that `posting.needs_you` lists."""
    most_approvals: int
    """The largest number of approvals that an account asks for; 0 if none is connected."""
    time_zone: str
    """The IANA name of the user's time zone."""
    role: Role | None
    """The caller's role; None for one who may do everything."""
