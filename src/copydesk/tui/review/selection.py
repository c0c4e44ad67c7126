"""The drafts that an action applies to: the one under the cursor, or all marked ones.

Most marked rows are not loaded, so the marks are resolved to draft ids by the desk.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftView
    from copydesk.tui.review.marks import Span


class ResolvedDrafts(NamedTuple):
    """The ids of several drafts."""

    ids: Sequence[str]
    skipped: int = 0
    """Number of drafts excluded because they arrived after the list was loaded: the user has not seen them."""


class Selection(NamedTuple):
    """One draft, or several whose ids are determined when the action runs."""

    draft: "ListedDraft | None"
    """The single draft; None for several."""
    number: int = 1
    resolve: "Callable[[Desk], Awaitable[ResolvedDrafts]] | None" = None
    """Returns the ids of several drafts."""
    on_start: Callable[[], None] = lambda: None
    """Called when the action on several drafts starts: later marks belong to the next action."""
    on_finish: Callable[[Sequence[str] | None], None] = lambda _: None
    """Called at the end with the ids that nothing was done to; None if nothing was done to any of them."""


def select_draft(draft: "ListedDraft") -> Selection:
    """Select the draft under the cursor."""
    return Selection(draft)


def select_ids(ids: Sequence[str]) -> Selection:
    """Select drafts by id."""

    async def resolve(_: "Desk") -> ResolvedDrafts:
        return ResolvedDrafts(ids)

    return Selection(None, len(ids), resolve)


class MarkedDrafts(NamedTuple):
    """Marked drafts of a view."""

    view: "DraftView"
    event_count: int
    """The number of draft events when the list in which they were marked was loaded."""
    all_marked: bool = False
    """True for all drafts of the view."""
    spans: "tuple[Span, ...]" = ()
    """Ranges in the order of the view."""
    excluded: frozenset[str] = frozenset()
    """Ids excluded from the view or the ranges."""
    ids: tuple[str, ...] = ()
    """Additional single drafts."""

    async def resolve(self, desk: "Desk") -> ResolvedDrafts:
        """Load the ids without duplicates: the ranges in the view's order, then single drafts.

        Drafts that arrived in the ranges since the list was loaded are excluded and counted.
        """
        found: list[str] = []
        if self.all_marked:
            found += await desk.drafts.views.between(self.view)
        for span in self.spans:
            found += await desk.drafts.views.between(self.view, span.first, span.last)
        handled_separately = self.excluded.union(self.ids)
        in_ranges = [draft_id for draft_id in dict.fromkeys(found) if draft_id not in handled_separately]
        arrived = await desk.drafts.views.entered_since(self.event_count, self.view.tab, in_ranges)
        visible_ids = (draft_id for draft_id in in_ranges if draft_id not in arrived)
        return ResolvedDrafts((*visible_ids, *self.ids), len(arrived))
