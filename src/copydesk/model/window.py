"""The tabs of the review screen: which drafts each contains, their order and number."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from copydesk.model.draft import TO_REVIEW, Format, ListedDraft, Status
from copydesk.model.filters import DraftCounts
from copydesk.model.wire import Struct


class Tab(StrEnum):
    """The tabs, in order."""

    TO_REVIEW = "to_review"
    APPROVED = "approved"
    SCHEDULED = "scheduled"
    POSTED = "posted"
    MISSED = "missed"
    REJECTED = "rejected"
    FAILED = "failed"
    ALL = "all"
    """Drafts in any state, including archived ones, which no other tab contains."""


class Order(StrEnum):
    """Order of a tab's drafts. Ties are resolved by id."""

    BEST = "best"
    """Highest score first; drafts without a score last."""
    NEWEST = "newest"
    SOONEST = "soonest"
    """By scheduled time; drafts being posted without one come first."""


TAB_STATUSES: Final[Mapping[Tab, tuple[Status, ...]]] = {
    Tab.TO_REVIEW: TO_REVIEW,
    Tab.APPROVED: (Status.APPROVED,),
    Tab.SCHEDULED: (Status.SCHEDULED, Status.POSTING),
    Tab.POSTED: (Status.POSTED,),
    Tab.MISSED: (Status.MISSED,),
    Tab.REJECTED: (Status.REJECTED,),
    Tab.FAILED: (Status.GENERATION_FAILED,),
    Tab.ALL: (),
}
"""Statuses of a tab's drafts; an empty tuple means any."""
_ORDERS: Final = {Tab.TO_REVIEW: Order.BEST, Tab.SCHEDULED: Order.SOONEST}


def get_order(tab: Tab) -> Order:
    """Return the order of the tab's drafts."""
    return _ORDERS.get(tab, Order.NEWEST)


def tab_contains(tab: Tab, draft: ListedDraft) -> bool:
    """Return True if the tab contains the draft."""
    return tab is Tab.ALL or (draft.archived_at is None and draft.status in TAB_STATUSES[tab])


def count_in_tab(tab: Tab, counts: DraftCounts) -> int:
    """Return the number of drafts in the tab."""
    if tab is Tab.ALL:
        return sum(counts.by_status.values()) + counts.archived
    return counts.total_in(TAB_STATUSES[tab])


class DraftView(Struct, frozen=True):
    """A tab with filters; all that are given must match."""

    tab: Tab = Tab.TO_REVIEW
    format: Format | None = None
    source_id: str | None = None
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    query: str = ""
    """A search that is being typed, see `copydesk.model.query`; "" for none."""

    @property
    def order(self) -> Order:
        """The order of the drafts; search results are newest first."""
        return Order.NEWEST if self.query else get_order(self.tab)

    @property
    def is_filtered(self) -> bool:
        """True if a filter or search is set."""
        return bool(self.format or self.source_id or self.tags or self.query)


class DraftPosition(NamedTuple):
    """Position of a draft in its tab's order."""

    key: float | None
    """The value sorted by, or None if the draft has none or the order is by id alone.

    Depending on the order: the score, the scheduled time in microseconds since 1970, or for a search the number of
    drafts stored before this one.
    """
    id: str


class DraftSlice(NamedTuple):
    """Consecutive drafts of a view, in its order."""

    drafts: tuple[ListedDraft, ...]
    positions: tuple[DraftPosition, ...]
    """Position of each draft."""
    has_more: bool
    """True if there are more in the direction of reading."""


class SliceAround(NamedTuple):
    """A view's drafts around a position."""

    slice: DraftSlice
    before: int
    """Number of drafts before the first one of the slice."""


def precedes(order: Order, one: DraftPosition, other: DraftPosition) -> bool:
    """Return True if a draft at `one` comes before one at `other`."""
    # A missing key sorts last in the descending orders and first in SOONEST.
    key, other_key = (-1.0 if position.key is None else position.key for position in (one, other))
    if order is Order.SOONEST:
        return (key, one.id) < (other_key, other.id)
    return (key, one.id) > (other_key, other.id)
