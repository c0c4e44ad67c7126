"""What the queue asks the desk for: a list from a place on, more of it, and the rows that are shown once more."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from copydesk.model.draft import ListedDraft
from copydesk.model.filters import Counts
from copydesk.model.window import Place, Slice, View, narrowing, number_in, precedes
from copydesk.tui.cells import cell
from copydesk.tui.window import PAGE, Way, Window, Wish

if TYPE_CHECKING:
    from copydesk.desk import Desk

_HITS = 100
"""Hits of a search that are read at once."""
MOST_HITS = 2000
"""Hits that are shown; whoever has more is to look for more words."""


class Found(NamedTuple):
    """A list, as far as it was read at first."""

    window: Window
    counts: Counts
    newest: str
    sources: bool
    """Whether there is any source."""
    view: View
    place: Place | None
    """Where the cursor's draft stood, where that was not near the beginning."""

    def cursor_on(self, draft: ListedDraft | None, cursor: int) -> int:
        """The position of the draft; where it is gone, that of what is there now."""
        at = self.window.find(draft.id) if draft is not None else None
        if at is not None or self.place is None:
            return cursor if at is None else at
        for position, place in enumerate(self.window.places, self.window.start):
            if not precedes(self.view.tab, place, self.place):
                return position
        return self.window.stop - 1


class Looked(NamedTuple):
    """What is on the screen, as it is now."""

    ids: tuple[str, ...]
    drafts: tuple[ListedDraft, ...]
    counts: Counts
    new: int
    """Drafts of this list that came since it was read."""


class Reading:
    """One list: a view, or what a search finds in it."""

    def __init__(self, view: View, query: str) -> None:
        self._view = view
        self._query = query
        self._cursor: str | None = None
        self._hits = 0
        self.words = ""
        """What it is narrowed to."""

    @property
    def more_hits(self) -> bool:
        """Whether there are hits that were not read."""
        return self._cursor is not None

    async def begin(self, desk: "Desk", place: Place | None) -> Found:
        """The list, around a place or from its beginning."""
        newest, counts = await desk.drafts.newest(), await desk.drafts.counts()
        window = Window(0 if self._view.narrowed or self._query else number_in(self._view.tab, counts))
        if self._query:
            window = Window(forward_only=True)
            window.take(Wish(Way.START), await self._search(desk))
        elif place is None:
            window.take(Wish(Way.START), await desk.drafts.window(self._view, limit=PAGE))
        else:
            around = await desk.drafts.around(self._view, place, limit=PAGE)
            window.around(around.before, around.slice)
        self.words = await self._narrowed_to(desk)
        sources = bool(window.rows) or bool(await desk.sources.list())
        return Found(window, counts, newest, sources, self._view, place)

    async def more(self, desk: "Desk", wish: Wish) -> Slice:
        """The rows that are wanted."""
        if self._query:
            return await self._search(desk)
        return await desk.drafts.window(
            self._view,
            limit=PAGE,
            after=wish.place if wish.way is Way.AFTER else None,
            before=wish.place if wish.way is Way.BEFORE else None,
            end=wish.way is Way.END,
            offset=wish.at,
        )

    async def look_again(self, desk: "Desk", ids: tuple[str, ...], newest: str) -> Looked:
        """These drafts as they are now."""
        new = 0 if self._query else await desk.drafts.newer_than(newest, self._view)
        return Looked(ids, await desk.drafts.these(ids), await desk.drafts.counts(), new)

    async def _search(self, desk: "Desk") -> Slice:
        page = await desk.drafts.search(self._query, limit=_HITS, cursor=self._cursor, **narrowing(self._view))
        self._cursor = page.next_cursor
        self._hits += len(page.items)
        places = tuple(Place(None, draft.id) for draft in page.items)
        return Slice(page.items, places, self._cursor is not None and self._hits < MOST_HITS)

    async def _narrowed_to(self, desk: "Desk") -> str:
        view = self._view
        sources: Sequence[str] = ()
        if view.source_id is not None:
            sources = [f"from {cell(each.name)}" for each in await desk.sources.list() if each.id == view.source_id]
        kinds = [view.format.value] if view.format is not None else []
        return ", ".join([*kinds, *sources, *(f"#{cell(tag)}" for tag in view.tags)])
