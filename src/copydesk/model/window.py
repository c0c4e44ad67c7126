"""The tabs of the review: which drafts each of them shows, in which order, and how many there are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from copydesk.model.draft import TO_REVIEW, Format, ListedDraft, Status
from copydesk.model.filters import Archived, Counts, Narrowing
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

    @property
    def narrowed(self) -> bool:
        """Whether it shows less than the whole tab."""
        return bool(self.format or self.source_id or self.tags)


class Place(NamedTuple):
    """Where a draft stands in its tab's order."""

    key: float | None
    """The score, or the time that it is scheduled to in microseconds since 1970; None where it has none, and where
    ids alone give the order."""
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


def precedes(tab: Tab, one: Place, other: Place) -> bool:
    """Whether the draft at `one` stands before that at `other`."""
    mine, theirs = (-1.0 if place.key is None else place.key for place in (one, other))
    if order_of(tab) is Order.SOONEST:
        return (mine, one.id) < (theirs, other.id)
    return (mine, one.id) > (theirs, other.id)


def narrowing(view: View) -> Narrowing:
    """The same drafts as the filters of a list or a search."""
    return Narrowing(
        status=STATES[view.tab],
        format=view.format,
        source_id=view.source_id,
        tags=view.tags,
        archived=(Archived.INCLUDE if view.tab is Tab.ALL else Archived.EXCLUDE).value,
    )
