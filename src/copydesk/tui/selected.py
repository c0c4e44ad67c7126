"""What is marked in the queue, as something from which the desk reads the ids: of many marks no id stands anywhere."""

from typing import TYPE_CHECKING, NamedTuple

from copydesk.tui.chosen import Those

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Span


class Selected(NamedTuple):
    """Drafts of a view."""

    view: "View"
    moment: int
    """Of when the list is in which they were marked."""
    every: bool = False
    """All that it shows."""
    spans: "tuple[Span, ...]" = ()
    """Ranges of its order."""
    but: frozenset[str] = frozenset()
    """Those that are left out of these."""
    ids: tuple[str, ...] = ()
    """Single ones beside them."""

    async def find(self, desk: "Desk") -> Those:
        """All of them, each once; first what the ranges hold, in its order. What came among them since is left."""
        found: list[str] = []
        if self.every:
            found += await desk.drafts.between(self.view)
        for span in self.spans:
            found += await desk.drafts.between(self.view, span.first, span.last)
        beside = self.but.union(self.ids)
        within = [draft_id for draft_id in dict.fromkeys(found) if draft_id not in beside]
        came = await desk.drafts.came_since(self.moment, self.view.tab, within)
        known = (draft_id for draft_id in within if draft_id not in came)
        return Those((*known, *self.ids), len(came))
