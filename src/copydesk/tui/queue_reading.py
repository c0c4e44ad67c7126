"""What the queue asks the desk for: a list from a place on, more of it, and the rows that are shown once more."""

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
"""In these lists the time is told at which a draft goes out or went, in the others how old it is."""


class Settled(NamedTuple):
    """Where what is marked stands by now; None for what is not in the list any more."""

    spans: Mapping[Span, Span | None]
    places: Mapping[str, Place | None]

    @property
    def gone(self) -> int:
        """How many marked drafts are not in the list any more."""
        fewer = (max(was.size - (now.size if now else 0), 0) for was, now in self.spans.items())
        return sum(fewer) + sum(place is None for place in self.places.values())


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
    marked: "Settled"

    def cursor_on(self, draft: ListedDraft | None, cursor: int) -> int:
        """The position of the draft; where it is gone, that of what is there now."""
        at = self.window.find(draft.id) if draft is not None else None
        if at is not None or self.place is None:
            return cursor if at is None else at
        for position, place in enumerate(self.window.places, self.window.start):
            if not precedes(self.view.order, place, self.place):
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
    """One list: what a view shows."""

    def __init__(self, view: View, moment: int | None = None) -> None:
        self._view = view
        self.words = ""
        """What it is narrowed to by filters."""
        self.moment = moment
        """Of when it is: what came into it since is no part of it. None until it was read."""
        self.zone: tzinfo | None = None
        """The user's, where the rows tell times on a clock."""

    async def read_zone(self, desk: "Desk") -> None:
        """Look whose clock it is that the rows tell times of."""
        if self._view.tab in TIMED:
            self.zone = ZoneInfo(await desk.schedule.zone())

    async def begin(self, desk: "Desk", place: Place | None, marks: Marks) -> Found:
        """The list, around a place or from its beginning, and where what is marked stands in it."""
        moment = await desk.drafts.moment()
        newest, counts = await desk.drafts.newest(), await desk.drafts.counts()
        window = Window(None if self._view.narrowed else number_in(self._view.tab, counts))
        if place is None:
            window.take(Wish(Way.START), await desk.drafts.window(self._view, limit=PAGE))
        else:
            around = await desk.drafts.around(self._view, place, limit=PAGE)
            window.around(around.before, around.slice)
        self.words = await self._narrowed_to(desk)
        await self.read_zone(desk)
        self.moment = moment
        sources = bool(window.rows) or bool(await desk.sources.list())
        return Found(window, counts, newest, sources, self._view, place, await self._settled(desk, marks))

    async def _settled(self, desk: "Desk", marks: Marks) -> Settled:
        spans: dict[Span, Span | None] = {}
        for span in marks.spans:
            before, within = await desk.drafts.extent(self._view, span.first, span.last)
            spans[span] = Span(span.first, span.last, before, before + within - 1) if within else None
        single = marks.single()
        places: dict[str, Place | None] = dict.fromkeys(single)
        if single:
            places |= {place.id: place for place in await desk.drafts.standing(self._view, single)}
        return Settled(spans, places)

    async def more(self, desk: "Desk", wish: Wish) -> Slice:
        """The rows that are wanted, without those that came since: nobody was told of them."""
        while True:
            read = await self._window(desk, wish)
            old = await self._old(desk, read)
            if old or not read.more:
                return Slice(tuple(read.drafts[at] for at in old), tuple(read.places[at] for at in old), read.more)
            back = wish.way in (Way.BEFORE, Way.END)
            wish = Wish(Way.BEFORE, read.places[0]) if back else Wish(Way.AFTER, read.places[-1])

    async def _old(self, desk: "Desk", read: Slice) -> Sequence[int]:
        """Which of the rows are those of drafts that the list had when it was read."""
        if self.moment is None:
            return range(len(read.places))
        came = await desk.drafts.came_since(self.moment, self._view.tab, [place.id for place in read.places])
        return [at for at, place in enumerate(read.places) if place.id not in came]

    async def _window(self, desk: "Desk", wish: Wish) -> Slice:
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
        new = await desk.drafts.newer_than(newest, self._view)
        await self.read_zone(desk)
        return Looked(ids, await desk.drafts.these(ids), await desk.drafts.counts(), new)

    async def _narrowed_to(self, desk: "Desk") -> str:
        view = self._view
        sources: Sequence[str] = ()
        if view.source_id is not None:
            sources = [f"from {cell(each.name)}" for each in await desk.sources.list() if each.id == view.source_id]
        kinds = [view.format.value] if view.format is not None else []
        return ", ".join([*kinds, *sources, *(f"#{cell(tag)}" for tag in view.tags)])
