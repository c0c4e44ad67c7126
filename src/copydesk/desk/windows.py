"""Pages of the review tabs around the cursor, in time independent of the number of drafts."""

from collections.abc import AsyncIterator, Sequence

from copydesk.desk.ground import Ground
from copydesk.model.draft import ListedDraft
from copydesk.model.window import Around, Place, Slice, Tab, View, precedes
from copydesk.store import window

AT_ONCE = 1000
"""Ids per query."""
COUNTED = 20_000
"""Drafts counted per query."""
MOST_NEW = 1000
"""Count of new drafts at which counting stops."""
MOST_TAGS = 1000


class Windows:
    """Parts of a view, for scrolling. Every method raises InvalidError if the view's search query is invalid."""

    _ground: Ground

    async def window(
        self,
        view: View,
        *,
        limit: int = 200,
        after: Place | None = None,
        before: Place | None = None,
        end: bool = False,
        offset: int = 0,
    ) -> Slice:
        """Return up to `limit` drafts of the view after or before a position, at its end, or from its start, in view
        order.

        `offset` skips rows in that direction. They are walked over: 100,000 take some milliseconds.
        """
        return await self._ground.read(
            window.read, view, limit=limit, place=after or before, backwards=end or before is not None, offset=offset
        )

    async def around(self, view: View, place: Place, *, limit: int = 200) -> Around:
        """Return drafts on both sides of a position, and the number before them. The draft at the
        position may be gone.
        """
        above = await self.window(view, limit=limit // 2, before=place)
        below = await self.window(view, limit=limit, after=above.places[-1] if above.places else None)
        # Nothing is above the first draft of the view, so counting is only needed if there are more.
        start = await self._ground.read(window.before, view, above.places[0]) if above.more else 0
        both = Slice((*above.drafts, *below.drafts), (*above.places, *below.places), below.more)
        return Around(both, start)

    async def total(self, view: View) -> int:
        """Return the number of drafts in the view. For an unfiltered tab use `counts`, which is faster."""
        return await self._ground.read(window.total, view)

    async def counting(self, view: View) -> AsyncIterator[int]:
        """Count the drafts of the view in steps: yield a lower bound after each query, and the exact number last.

        For callers that may lose interest, as counting a million search hits takes seconds.
        """
        total, position = 0, None
        while True:
            page = await self._ground.read(window.places, view, limit=1, after=position, offset=COUNTED - 1)
            if not page:
                yield total + await self._ground.read(window.total, view, position)
                return
            total, position = total + COUNTED, page[0]
            yield total

    async def standing(self, view: View, ids: Sequence[str]) -> tuple[Place, ...]:
        """Return the positions of those of these drafts that are in the view, unordered."""
        return await self._ground.read(window.standing, view, ids)

    async def extent(self, view: View, first: Place, last: Place) -> tuple[int, int]:
        """Return how many drafts are before `first`, and how many from `first` to `last` inclusive."""
        before = await self._ground.read(window.before, view, first)
        within = await self._ground.read(window.before, view, last) - before
        # `last` may have left the view; count it only if it is still there.
        return before, within + (last in await self.standing(view, (last.id,)))

    async def newest(self) -> str:
        """Return the id of the newest draft, for `newer_than`; empty without drafts."""
        return await self._ground.read(window.newest)

    async def newer_than(self, draft_id: str, view: View) -> int:
        """Return how many drafts of the view are newer than `draft_id`, at most `MAX_NEW_COUNT`."""
        return await self._ground.read(window.since, view, draft_id, MOST_NEW)

    async def moment(self) -> int:
        """Return the number of draft events so far, for `entered_since`."""
        return await self._ground.read(window.moment)

    async def came_since(self, moment: int, tab: Tab, ids: Sequence[str]) -> frozenset[str]:
        """Return those of these drafts that were created or moved into the tab after event number `event_number`."""
        return await self._ground.read(window.came_since, tab, moment, ids)

    async def these(self, ids: tuple[str, ...]) -> tuple[ListedDraft, ...]:
        """Return the drafts with these ids, unordered; missing ones are left out."""
        return await self._ground.read(window.these, ids)

    async def between(self, view: View, first: Place | None = None, last: Place | None = None) -> tuple[str, ...]:
        """Return the ids of the view's drafts from `first` to `last` inclusive; by default all of them."""
        ids: list[str] = []
        # Queries start after a position, so begin at the draft before `first` to include it.
        previous = await self.window(view, limit=1, before=first) if first else None
        after = previous.places[0] if previous and previous.places else None
        while True:
            page = await self._ground.read(window.places, view, limit=AT_ONCE, after=after)
            within = [row.id for row in page if last is None or not precedes(view.order, last, row)]
            ids += within
            if len(within) < AT_ONCE:
                return tuple(ids)
            after = page[-1]

    async def tags(self) -> tuple[str, ...]:
        """Return the names of the existing tags, at most `MAX_TAGS`."""
        return await self._ground.read(window.tags, MOST_TAGS)
