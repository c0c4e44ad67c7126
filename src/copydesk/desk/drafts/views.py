"""Pages of the review tabs around a cursor, and the counts beside them."""

from collections.abc import AsyncIterator, Callable, Sequence
from zoneinfo import ZoneInfo

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.model.draft import ListedDraft, Status
from copydesk.model.filters import (
    TIMED_TABS,
    DraftPosition,
    DraftSlice,
    DraftView,
    LoadedView,
    RefreshedDrafts,
    SliceAround,
    Tab,
    precedes,
)
from copydesk.store import drafts, queue_window, schedule
from copydesk.store.database import Transaction
from copydesk.store.raw_sql import one_round_trip

ID_PAGE_SIZE = 1000
"""Ids per query."""
COUNT_STEP = 20_000
"""Drafts counted per query."""
MAX_NEW_COUNT = 1000
"""Count of new drafts at which counting stops."""
MAX_TAGS = 1000


class DraftViews:
    """Parts of a view, for scrolling. Every method raises InvalidError if the view's search query is invalid."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def window(
        self,
        view: DraftView,
        *,
        limit: int = 200,
        after: DraftPosition | None = None,
        before: DraftPosition | None = None,
        end: bool = False,
        offset: int = 0,
        event_number: int | None = None,
    ) -> DraftSlice:
        """Return up to `limit` drafts in the order of the view: after or before a position, at its end or its start.

        `offset` skips rows in that direction. They are walked over: 100,000 take some milliseconds. With `event_number`
        drafts that `entered_since` would name are left out, and pages that have no others skipped.
        """
        return await self._ctx.read(
            _load_window,
            view,
            after or before,
            limit=limit,
            backwards=end or before is not None,
            offset=offset,
            event_number=event_number,
        )

    @operation
    async def load(self, view: DraftView, position: DraftPosition | None = None, *, limit: int = 200) -> LoadedView:
        """Return the first `limit` drafts of the view, or those on both sides of a position, whose draft may be gone,
        with the number of draft events, the newest draft, the counts and the time zone, in one read.
        """
        return await self._ctx.read(_load_view, view, position, limit)

    @operation
    async def refresh(self, view: DraftView, ids: tuple[str, ...], newest_id: str) -> RefreshedDrafts:
        """Return the drafts with these ids, the counts, the number of drafts of the view that are newer than
        `newest_id`, at most `MAX_NEW_COUNT`, and the time zone, in one read.
        """
        return await self._ctx.read(_refresh_view, view, ids, newest_id)

    @operation
    async def count_in_steps(self, view: DraftView) -> AsyncIterator[int]:
        """Count the drafts of the view in steps: yield a lower bound after each query, and the exact number last.

        For callers that may lose interest, as counting a million search hits takes seconds.
        """
        total, position = 0, None
        while True:
            page = await self._ctx.read(
                queue_window.list_positions, view, limit=1, after=position, offset=COUNT_STEP - 1
            )
            if not page:
                yield total + await self._ctx.read(queue_window.count_all, view, position)
                return
            total, position = total + COUNT_STEP, page[0]
            yield total

    @operation
    async def positions_of(self, view: DraftView, ids: Sequence[str]) -> tuple[DraftPosition, ...]:
        """Return the positions of those of these drafts that are in the view, unordered."""
        return await self._ctx.read(queue_window.positions, view, ids)

    @operation
    async def extent(self, view: DraftView, first: DraftPosition, last: DraftPosition) -> tuple[int, int]:
        """Return how many drafts are before `first`, and how many from `first` to `last` inclusive."""
        before = await self._ctx.read(queue_window.count_before, view, first)
        within = await self._ctx.read(queue_window.count_before, view, last) - before
        # `last` may have left the view; count it only if it is still there.
        return before, within + (last in await self.positions_of(view, (last.id,)))

    @operation
    async def entered_since(self, event_number: int, tab: Tab, ids: Sequence[str]) -> frozenset[str]:
        """Return those of these drafts that were created or moved into the tab after event number `event_number`."""
        return await self._ctx.read(queue_window.list_arrived_since, tab, event_number, ids)

    @operation
    async def by_ids(self, ids: tuple[str, ...]) -> tuple[ListedDraft, ...]:
        """Return the drafts with these ids, unordered; missing ones are left out."""
        return await self._ctx.read(queue_window.by_ids, ids)

    @operation
    async def states(self, ids: Sequence[str]) -> dict[str, tuple[Status, bool]]:
        """Return the status of each of these drafts, and True if it is archived; missing ones are left out."""
        return await self._ctx.read(queue_window.load_states, ids)

    @operation
    async def between(
        self, view: DraftView, first: DraftPosition | None = None, last: DraftPosition | None = None
    ) -> tuple[str, ...]:
        """Return the ids of the view's drafts from `first` to `last` inclusive; by default all of them."""
        ids: list[str] = []
        # Queries start after a position, so begin at the draft before `first` to include it.
        previous = await self.window(view, limit=1, before=first) if first else None
        after = previous.positions[0] if previous and previous.positions else None
        while True:
            page = await self._ctx.read(queue_window.list_positions, view, limit=ID_PAGE_SIZE, after=after)
            within = [row.id for row in page if last is None or not precedes(view.order, last, row)]
            ids += within
            if len(within) < ID_PAGE_SIZE:
                return tuple(ids)
            after = page[-1]

    @operation
    async def tags(self) -> tuple[str, ...]:
        """Return the names of the existing tags, at most `MAX_TAGS`."""
        return await self._ctx.read(queue_window.list_tags, MAX_TAGS)


def _load_window(
    conn: Transaction,
    user_id: str,
    view: DraftView,
    position: DraftPosition | None,
    *,
    limit: int,
    backwards: bool,
    offset: int,
    event_number: int | None,
) -> DraftSlice:
    while True:
        page = queue_window.query_slice(
            conn, user_id, view, limit=limit, position=position, backwards=backwards, offset=offset
        )()
        kept = page if event_number is None else _without_arrived(conn, user_id, view.tab, event_number, page)
        if kept.positions or not page.has_more:
            return kept
        position, offset = page.positions[0 if backwards else -1], 0


def _without_arrived(conn: Transaction, user_id: str, tab: Tab, event_number: int, page: DraftSlice) -> DraftSlice:
    ids = [position.id for position in page.positions]
    arrived = queue_window.list_arrived_since(conn, user_id, tab, event_number, ids)
    return DraftSlice(
        tuple(draft for draft in page.drafts if draft.id not in arrived),
        tuple(position for position in page.positions if position.id not in arrived),
        page.has_more,
    )


def _load_view(
    conn: Transaction, user_id: str, view: DraftView, position: DraftPosition | None, limit: int
) -> LoadedView:
    with one_round_trip(conn):
        # Before the rows: a draft that arrives in between then counts as new, and is not lost.
        newest, counts = queue_window.query_newest(conn, user_id), drafts.query_counts(conn, user_id)
        zone, rows = _query_zone(conn, user_id, view), _query_rows(conn, user_id, view, position, limit)
    return LoadedView(*newest(), counts(), rows(), zone())


def _query_zone(conn: Transaction, user_id: str, view: DraftView) -> Callable[[], ZoneInfo | None]:
    return schedule.query_time_zone(conn, user_id) if view.tab in TIMED_TABS else lambda: None


def _query_rows(
    conn: Transaction, user_id: str, view: DraftView, position: DraftPosition | None, limit: int
) -> Callable[[], SliceAround]:
    if position is None:
        first = queue_window.query_slice(conn, user_id, view, limit=limit)
        return lambda: SliceAround(first(), 0)
    above = queue_window.query_slice(conn, user_id, view, limit=(limit + 1) // 2, position=position, backwards=True)
    return lambda: _load_around(conn, user_id, view, above(), limit)


def _load_around(conn: Transaction, user_id: str, view: DraftView, above: DraftSlice, limit: int) -> SliceAround:
    last = above.positions[-1] if above.positions else None
    below = queue_window.query_slice(conn, user_id, view, limit=limit, position=last)()
    # Nothing is above the first draft of the view, so counting is only needed if there are more.
    start = queue_window.count_before(conn, user_id, view, above.positions[0]) if above.has_more else 0
    both = DraftSlice((*above.drafts, *below.drafts), (*above.positions, *below.positions), below.has_more)
    return SliceAround(both, start)


def _refresh_view(
    conn: Transaction, user_id: str, view: DraftView, ids: tuple[str, ...], newest_id: str
) -> RefreshedDrafts:
    with one_round_trip(conn):
        new_count = queue_window.query_count_newer(conn, user_id, view, newest_id, MAX_NEW_COUNT)
        current = queue_window.query_drafts(conn, user_id, ids)
        counts, zone = drafts.query_counts(conn, user_id), _query_zone(conn, user_id, view)
    return RefreshedDrafts(new_count=new_count(), drafts=current(), counts=counts(), zone=zone())
