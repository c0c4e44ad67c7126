"""What is marked in the queue, as something from which the desk reads the ids: of many marks no id stands anywhere."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Span


class Selected(NamedTuple):
    """Drafts of a view."""

    view: "View"
    every: bool = False
    """All that it shows."""
    spans: "tuple[Span, ...]" = ()
    """Ranges of its order."""
    but: frozenset[str] = frozenset()
    """Those that are left out of these."""
    ids: tuple[str, ...] = ()
    """Single ones beside them."""

    async def find(self, desk: "Desk") -> tuple[str, ...]:
        """The ids of all of them, each once; first what the ranges hold, in its order."""
        found: list[str] = []
        if self.every:
            found += await desk.drafts.between(self.view)
        for span in self.spans:
            found += await desk.drafts.between(self.view, span.first, span.last)
        within = [draft_id for draft_id in found if draft_id not in self.but]
        return tuple(dict.fromkeys((*within, *self.ids)))
