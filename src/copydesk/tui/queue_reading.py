"""Load the rows of the queue from the desk: a list from a position on, more rows of it, and visible rows again."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from copydesk.model.draft import ListedDraft
from copydesk.model.filters import Counts
from copydesk.model.window import Place, Slice, Tab, View, number_in, precedes
from copydesk.tui.cells import cell
from copydesk.tui.marks import Marks, Span
from copydesk.tui.window import PAGE, Way, Window, Wish

if TYPE_CHECKING:
    from copydesk.desk import Desk


TIMED = frozenset({Tab.SCHEDULED, Tab.MISSED, Tab.POSTED})
"""Tabs whose rows show the time at which a draft is or was published; the others show its age."""


class Settled(NamedTuple):
    """The current positions of marked drafts; None for those that are no longer in the list."""

    spans: Mapping[Span, Span | None]
    places: Mapping[str, Place | None]

    @property
    def gone(self) -> int:
        """The number of marked drafts that are no longer in the list."""
        missing_in_spans = (max(before.size - (after.size if after else 0), 0) for before, after in self.spans.items())
        return sum(missing_in_spans) + sum(position is None for position in self.places.values())


class Found(NamedTuple):
    """A newly loaded list."""

    window: Window
    counts: Counts
    newest: str
    sources: bool
    """True if the desk has any sources."""
    view: View
    place: Place | None
    """The previous position of the draft under the cursor, if the list was loaded around it."""
    marked: "Settled"

    def cursor_on(self, draft: ListedDraft | None, cursor: int) -> int:
        """Return the index of `draft`; if it is no longer in the list, that of the row now in its place."""
        index = self.window.find(draft.id) if draft is not None else None
        if index is not None or self.place is None:
            return cursor if index is None else index
        for row_index, position in enumerate(self.window.places, self.window.start):
            if not precedes(self.view.order, position, self.place):
                return row_index
        return self.window.stop - 1


class Looked(NamedTuple):
    """The current state of the rows on screen."""

    ids: tuple[str, ...]
    drafts: tuple[ListedDraft, ...]
    counts: Counts
    new: int
    """The number of drafts of this list that arrived since it was loaded."""


class Reading:
    """Loads one list: the drafts of a view."""

    def __init__(self, view: View, moment: int | None = None) -> None:
        self._view = view
        self.words = ""
        """The active filters as text."""
        self.moment = moment
        """The number of draft events when the list was loaded; None before.

        Drafts that arrived in the list later are not part of it.
        """
        self.zone: tzinfo | None = None
        """The user's time zone, if the rows show times."""

    async def read_zone(self, desk: "Desk") -> None:
        """Load the user's time zone if the rows show times."""
        if self._view.tab in TIMED:
            self.zone = ZoneInfo(await desk.schedule.zone())

    async def begin(self, desk: "Desk", place: Place | None, marks: Marks) -> Found:
        """Load the list from its start, or around `position`, and the current positions of `marks`."""
        # Taken before the rows are read: a draft that arrives in between then counts as new, and is not lost.
        event_count = await desk.drafts.moment()
        newest, counts = await desk.drafts.newest(), await desk.drafts.counts()
        # The counts ignore filters, so the length of a filtered list is unknown.
        window = Window(None if self._view.narrowed else number_in(self._view.tab, counts))
        if place is None:
            window.take(Wish(Way.START), await desk.drafts.window(self._view, limit=PAGE))
        else:
            around = await desk.drafts.around(self._view, place, limit=PAGE)
            window.around(around.before, around.slice)
        self.words = await self._describe_filters(desk)
        await self.read_zone(desk)
        self.moment = event_count
        # Only the note of an empty list depends on whether there are sources.
        has_sources = bool(window.rows) or bool(await desk.sources.list())
        return Found(window, counts, newest, has_sources, self._view, place, await self._mark_positions(desk, marks))

    async def _mark_positions(self, desk: "Desk", marks: Marks) -> Settled:
        spans: dict[Span, Span | None] = {}
        for span in marks.spans:
            before, count = await desk.drafts.extent(self._view, span.first, span.last)
            spans[span] = Span(span.first, span.last, before, before + count - 1) if count else None
        ids = marks.single()
        positions: dict[str, Place | None] = dict.fromkeys(ids)
        if ids:
            positions |= {position.id: position for position in await desk.drafts.standing(self._view, ids)}
        return Settled(spans, positions)

    async def more(self, desk: "Desk", wish: Wish) -> Slice:
        """Load the requested rows, without drafts that arrived since the list was loaded.

        The user is told of those separately, and loads them by a refresh.
        """
        while True:
            page = await self._load_window(desk, wish)
            initial = await self._initial_rows(desk, page)
            if initial or not page.more:
                return Slice(
                    tuple(page.drafts[index] for index in initial),
                    tuple(page.places[index] for index in initial),
                    page.more,
                )
            # All rows of this page are new: continue with the next page in the same direction.
            is_backward = wish.way in (Way.BEFORE, Way.END)
            wish = Wish(Way.BEFORE, page.places[0]) if is_backward else Wish(Way.AFTER, page.places[-1])

    async def _initial_rows(self, desk: "Desk", page: Slice) -> Sequence[int]:
        """Return the indexes of those rows whose drafts were in the list when it was loaded."""
        if self.moment is None:
            return range(len(page.places))
        arrived = await desk.drafts.came_since(self.moment, self._view.tab, [position.id for position in page.places])
        return [index for index, position in enumerate(page.places) if position.id not in arrived]

    async def _load_window(self, desk: "Desk", wish: Wish) -> Slice:
        return await desk.drafts.window(
            self._view,
            limit=PAGE,
            after=wish.place if wish.way is Way.AFTER else None,
            before=wish.place if wish.way is Way.BEFORE else None,
            end=wish.way is Way.END,
            offset=wish.at,
        )

    async def look_again(self, desk: "Desk", ids: tuple[str, ...], newest: str) -> Looked:
        """Return the current state of these drafts."""
        new = await desk.drafts.newer_than(newest, self._view)
        await self.read_zone(desk)
        return Looked(ids, await desk.drafts.these(ids), await desk.drafts.counts(), new)

    async def _describe_filters(self, desk: "Desk") -> str:
        view = self._view
        sources: Sequence[str] = ()
        if view.source_id is not None:
            sources = [
                f"from {cell(source.name)}" for source in await desk.sources.list() if source.id == view.source_id
            ]
        formats = [view.format.value] if view.format is not None else []
        return ", ".join([*formats, *sources, *(f"#{cell(tag)}" for tag in view.tags)])
