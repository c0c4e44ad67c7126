"""The marks of the queue as a query for draft ids: most marked rows are not loaded."""

from typing import TYPE_CHECKING, NamedTuple

from copydesk.tui.chosen import ResolvedDrafts

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import DraftView
    from copydesk.tui.marks import Span


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
            found += await desk.drafts.between(self.view)
        for span in self.spans:
            found += await desk.drafts.between(self.view, span.first, span.last)
        handled_separately = self.excluded.union(self.ids)
        in_ranges = [draft_id for draft_id in dict.fromkeys(found) if draft_id not in handled_separately]
        arrived = await desk.drafts.entered_since(self.event_count, self.view.tab, in_ranges)
        visible_ids = (draft_id for draft_id in in_ranges if draft_id not in arrived)
        return ResolvedDrafts((*visible_ids, *self.ids), len(arrived))
