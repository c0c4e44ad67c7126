"""What is marked in the queue, as something from which the desk reads the ids: of many marks no id stands anywhere."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Span

_PAGE = 100
"""Hits of a search that are read at once."""


class Selected(NamedTuple):
    """Drafts of a view."""

    view: "View"
    query: str = ""
    """What was searched for in it."""
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
            found += await self._searched(desk) if self.query else await desk.drafts.between(self.view)
        for span in self.spans:
            found += await desk.drafts.between(self.view, span.first, span.last)
        within = [draft_id for draft_id in found if draft_id not in self.but]
        return tuple(dict.fromkeys((*within, *self.ids)))

    async def _searched(self, desk: "Desk") -> list[str]:
        from copydesk.model.window import narrowing  # noqa: PLC0415 - what the first paint does not need waits

        found: list[str] = []
        cursor = None
        while True:
            page = await desk.drafts.search(self.query, limit=_PAGE, cursor=cursor, **narrowing(self.view))
            found += (draft.id for draft in page.items)
            cursor = page.next_cursor
            if cursor is None:
                return found
