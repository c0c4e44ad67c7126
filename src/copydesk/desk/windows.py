"""The tabs of the review, read in windows: what is around the cursor, however many drafts there are."""

from collections.abc import AsyncIterator, Sequence

from copydesk.desk.ground import Ground
from copydesk.model.draft import ListedDraft
from copydesk.model.window import Around, Place, Slice, Tab, View, precedes
from copydesk.store import window

AT_ONCE = 1000
"""Ids that are read in one go."""
COUNTED = 20_000
"""Drafts that are counted in one go."""
MOST_NEW = 1000
"""New drafts are not counted further."""
MOST_TAGS = 1000


class Windows:
    """Some of a view's drafts, as one scrolls. InvalidError where a view's query is none."""

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
        """The view's drafts after a place, before one, at its end, or from its beginning; in its order each time.

        `offset` passes over so many in that direction: they are walked, which 100,000 take some milliseconds.
        """
        return await self._ground.read(
            window.read, view, limit=limit, place=after or before, backwards=end or before is not None, offset=offset
        )

    async def around(self, view: View, place: Place, *, limit: int = 200) -> Around:
        """The view's drafts on both sides of a place, and how many are before. No draft need stand there any more."""
        above = await self.window(view, limit=limit // 2, before=place)
        below = await self.window(view, limit=limit, after=above.places[-1] if above.places else None)
        start = await self._ground.read(window.before, view, above.places[0]) if above.more else 0
        both = Slice((*above.drafts, *below.drafts), (*above.places, *below.places), below.more)
        return Around(both, start)

    async def total(self, view: View) -> int:
        """How many drafts the view shows. Of a whole tab `counts` says it at once; with filters they are counted."""
        return await self._ground.read(window.total, view)

    async def counting(self, view: View) -> AsyncIterator[int]:
        """The same in steps: after each how many there are at least, at last how many there are.

        For whoever may lose interest: a million hits of a search take some seconds.
        """
        total, place = 0, None
        while True:
            some = await self._ground.read(window.places, view, limit=1, after=place, offset=COUNTED - 1)
            if not some:
                yield total + await self._ground.read(window.total, view, place)
                return
            total, place = total + COUNTED, some[0]
            yield total

    async def standing(self, view: View, ids: Sequence[str]) -> tuple[Place, ...]:
        """Where those of these drafts stand that the view shows, in no order."""
        return await self._ground.read(window.standing, view, ids)

    async def extent(self, view: View, first: Place, last: Place) -> tuple[int, int]:
        """How many drafts stand before the first place, and how many from there to the last, both of them too."""
        before = await self._ground.read(window.before, view, first)
        within = await self._ground.read(window.before, view, last) - before
        return before, within + (last in await self.standing(view, (last.id,)))

    async def newest(self) -> str:
        """The id of the newest draft of all, for `newer_than`; empty where there is none."""
        return await self._ground.read(window.newest)

    async def newer_than(self, draft_id: str, view: View) -> int:
        """How many of the view's drafts are newer than that one; MOST_NEW stands for as many or more."""
        return await self._ground.read(window.since, view, draft_id, MOST_NEW)

    async def moment(self) -> int:
        """How much has happened to drafts by now, for `came_since`."""
        return await self._ground.read(window.moment)

    async def came_since(self, moment: int, tab: Tab, ids: Sequence[str]) -> frozenset[str]:
        """Those of these drafts that were made, or came into the tab from another state, after that moment."""
        return await self._ground.read(window.came_since, tab, moment, ids)

    async def these(self, ids: tuple[str, ...]) -> tuple[ListedDraft, ...]:
        """The drafts with these ids, in no order; those that are gone are left out."""
        return await self._ground.read(window.these, ids)

    async def between(self, view: View, first: Place | None = None, last: Place | None = None) -> tuple[str, ...]:
        """The ids of the view's drafts from one place to another, both of them too; without them of all."""
        found: list[str] = []
        ahead = await self.window(view, limit=1, before=first) if first else None
        after = ahead.places[0] if ahead and ahead.places else None
        while True:
            some = await self._ground.read(window.places, view, limit=AT_ONCE, after=after)
            within = [place.id for place in some if last is None or not precedes(view.order, last, place)]
            found += within
            if len(within) < AT_ONCE:
                return tuple(found)
            after = some[-1]

    async def tags(self) -> tuple[str, ...]:
        """The names of the tags that there are, the first MOST_TAGS of them."""
        return await self._ground.read(window.tags, MOST_TAGS)
