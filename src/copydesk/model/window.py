"""The tabs of the review: which drafts each of them shows, in which order, and how many there are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from copydesk.model.draft import TO_REVIEW, Format, ListedDraft, Status
from copydesk.model.filters import Counts
from copydesk.model.wire import Struct


class Tab(StrEnum):
    """One of the tabs, in their order."""

    TO_REVIEW = "to_review"
    APPROVED = "approved"
    SCHEDULED = "scheduled"
    POSTED = "posted"
    MISSED = "missed"
    REJECTED = "rejected"
    FAILED = "failed"
    ALL = "all"
    """In whatever state, those that are archived too: no other tab shows them."""


class Order(StrEnum):
    """How a tab's drafts follow each other; the id decides between equals."""

    BEST = "best"
    """The highest score first; those without one last."""
    NEWEST = "newest"
    SOONEST = "soonest"
    """By the time that they are scheduled to; what goes out without one first."""


STATES: Final[Mapping[Tab, tuple[Status, ...]]] = {
    Tab.TO_REVIEW: TO_REVIEW,
    Tab.APPROVED: (Status.APPROVED,),
    Tab.SCHEDULED: (Status.SCHEDULED, Status.POSTING),
    Tab.POSTED: (Status.POSTED,),
    Tab.MISSED: (Status.MISSED,),
    Tab.REJECTED: (Status.REJECTED,),
    Tab.FAILED: (Status.GENERATION_FAILED,),
    Tab.ALL: (),
}
"""The states of a tab's drafts; none stands for any."""
_ORDERS: Final = {Tab.TO_REVIEW: Order.BEST, Tab.SCHEDULED: Order.SOONEST}


def order_of(tab: Tab) -> Order:
    """How the tab's drafts follow each other."""
    return _ORDERS.get(tab, Order.NEWEST)


def belongs(tab: Tab, draft: ListedDraft) -> bool:
    """Whether the tab shows this draft."""
    return tab is Tab.ALL or (draft.archived_at is None and draft.status in STATES[tab])


def number_in(tab: Tab, counts: Counts) -> int:
    """How many drafts the tab shows."""
    if tab is Tab.ALL:
        return sum(counts.by_status.values()) + counts.archived
    return counts.among(STATES[tab])


class View(Struct, frozen=True):
    """A tab, and what of it is shown: that for which every filter that is given holds."""

    tab: Tab = Tab.TO_REVIEW
    format: Format | None = None
    source_id: str | None = None
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    query: str = ""
    """With these words, as `copydesk.model.query` reads them while they are typed; empty where none are looked for."""

    @property
    def order(self) -> Order:
        """How its drafts follow each other: what a search finds is the newest first."""
        return Order.NEWEST if self.query else order_of(self.tab)

    @property
    def narrowed(self) -> bool:
        """Whether it shows less than the whole tab."""
        return bool(self.format or self.source_id or self.tags or self.query)


class Place(NamedTuple):
    """Where a draft stands in its tab's order."""

    key: float | None
    """The score, or the time that it is scheduled to in microseconds since 1970, or among what a search finds how
    many drafts were stored before it; None where it has none, and where ids alone give the order."""
    id: str


class Slice(NamedTuple):
    """Some of a view's drafts that follow each other, in its order."""

    drafts: tuple[ListedDraft, ...]
    places: tuple[Place, ...]
    """Where each of them stands."""
    more: bool
    """Whether there are more in the direction in which it was read."""


class Around(NamedTuple):
    """A view's drafts on both sides of a place."""

    slice: Slice
    before: int
    """How many there are before the first of them."""


def precedes(order: Order, one: Place, other: Place) -> bool:
    """Whether the draft at `one` stands before that at `other`."""
    mine, theirs = (-1.0 if place.key is None else place.key for place in (one, other))
    if order is Order.SOONEST:
        return (mine, one.id) < (theirs, other.id)
    return (mine, one.id) > (theirs, other.id)
