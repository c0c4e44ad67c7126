"""The marks of the queue as a query for draft ids: most marked rows are not loaded."""

from typing import TYPE_CHECKING, NamedTuple

from copydesk.tui.chosen import Those

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Span


class Selected(NamedTuple):
    """Marked drafts of a view."""

    view: "View"
    moment: int
    """The number of draft events when the list in which they were marked was loaded."""
    every: bool = False
    """True for all drafts of the view."""
    spans: "tuple[Span, ...]" = ()
    """Ranges in the order of the view."""
    but: frozenset[str] = frozenset()
    """Ids excluded from the view or the ranges."""
    ids: tuple[str, ...] = ()
    """Additional single drafts."""

    async def find(self, desk: "Desk") -> Those:
        """Load the ids without duplicates: the ranges in the view's order, then single drafts.

        Drafts that arrived in the ranges since the list was loaded are excluded and counted.
        """
        found: list[str] = []
        if self.every:
            found += await desk.drafts.between(self.view)
        for span in self.spans:
            found += await desk.drafts.between(self.view, span.first, span.last)
        handled_separately = self.but.union(self.ids)
        in_ranges = [draft_id for draft_id in dict.fromkeys(found) if draft_id not in handled_separately]
        arrived = await desk.drafts.came_since(self.moment, self.view.tab, in_ranges)
        visible_ids = (draft_id for draft_id in in_ranges if draft_id not in arrived)
        return Those((*visible_ids, *self.ids), len(arrived))
