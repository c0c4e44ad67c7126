"""Load the rows of the queue from the desk: a list from a position on, more rows of it, and visible rows again."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, NamedTuple

from copydesk.model.draft import ListedDraft
from copydesk.model.filters import (
    DraftCounts,
    DraftPosition,
    DraftSlice,
    DraftView,
    Order,
    Tab,
    count_in_tab,
    precedes,
    tab_contains,
)
from copydesk.tui import labels
from copydesk.tui.review.marks import Marks, Span
from copydesk.tui.review.row_window import PAGE_SIZE, RowOrigin, RowRequest, Window
from copydesk.tui.terminal.cells import safe_line

if TYPE_CHECKING:
    from copydesk.desk import Desk


class MarkPositions(NamedTuple):
    """The current positions of marked drafts; None for those that are no longer in the list."""

    spans: Mapping[Span, Span | None]
    positions: Mapping[str, DraftPosition | None]

    @property
    def removed_count(self) -> int:
        """The number of marked drafts that are no longer in the list."""
        missing_in_spans = (max(before.size - (after.size if after else 0), 0) for before, after in self.spans.items())
        return sum(missing_in_spans) + sum(position is None for position in self.positions.values())


class LoadedQueue(NamedTuple):
    """A newly loaded list."""

    window: Window
    counts: DraftCounts
    newest_id: str
    has_sources: bool
    """True if the desk has any sources."""
    view: DraftView
    position: DraftPosition | None
    """The previous position of the draft under the cursor, if the list was loaded around it."""
    mark_positions: "MarkPositions"

    def cursor_index(self, draft: ListedDraft | None, cursor: int) -> int:
        """Return the index of `draft`; if it is no longer in the list, that of the row now in its place."""
        index = self.window.find_index(draft.id) if draft is not None else None
        if index is not None or self.position is None:
            return cursor if index is None else index
        for row_index, position in enumerate(self.window.positions, self.window.start):
            if not precedes(self.view.order, position, self.position):
                return row_index
        return self.window.stop - 1


class RefreshedRows(NamedTuple):
    """The current state of the rows on screen."""

    ids: tuple[str, ...]
    drafts: tuple[ListedDraft, ...]
    counts: DraftCounts
    new_count: int
    """The number of drafts of this list that arrived since it was loaded."""


class QueueLoader:
    """Loads one list: the drafts of a view."""

    def __init__(self, view: DraftView) -> None:
        self._view = view
        self.filter_text = ""
        """The active filters as text."""
        self.event_count: int | None = None
        """The number of draft events when the list was loaded; None before.

        Drafts that arrived in the list later are not part of it.
        """
        self.zone: tzinfo | None = None
        """The user's time zone, if the rows show times."""

    async def load(self, desk: "Desk", position: DraftPosition | None, marks: Marks) -> LoadedQueue:
        """Load the list from its start, or around `position`, and the current positions of `marks`."""
        loaded = await desk.drafts.views.load(self._view, position, limit=PAGE_SIZE)
        # The counts ignore filters, so the length of a filtered list is unknown.
        window = Window(None if self._view.is_filtered else count_in_tab(self._view.tab, loaded.counts))
        if position is None:
            window.merge(RowRequest(RowOrigin.START), loaded.rows.slice)
        else:
            window.load_around(loaded.rows.before, loaded.rows.slice)
        self.filter_text = await self._describe_filters(desk)
        self.zone = loaded.zone
        self.event_count = loaded.event_number
        # Only the note of an empty list depends on whether there are sources.
        has_sources = bool(window.rows) or bool(await desk.sources.list())
        return LoadedQueue(
            window,
            loaded.counts,
            loaded.newest_id,
            has_sources,
            self._view,
            position,
            await self._mark_positions(desk, marks),
        )

    async def _mark_positions(self, desk: "Desk", marks: Marks) -> MarkPositions:
        spans: dict[Span, Span | None] = {}
        for span in marks.spans:
            before, count = await desk.drafts.views.extent(self._view, span.first, span.last)
            spans[span] = Span(span.first, span.last, before, before + count - 1) if count else None
        ids = marks.individual_ids()
        positions: dict[str, DraftPosition | None] = dict.fromkeys(ids)
        if ids:
            positions |= {position.id: position for position in await desk.drafts.views.positions_of(self._view, ids)}
        return MarkPositions(spans, positions)

    async def load_rows(self, desk: "Desk", request: RowRequest) -> DraftSlice:
        """Load the requested rows, without drafts that arrived since the list was loaded.

        The user is told of those separately, and loads them by a refresh.
        """
        return await desk.drafts.views.window(
            self._view,
            limit=PAGE_SIZE,
            after=request.position if request.origin is RowOrigin.AFTER else None,
            before=request.position if request.origin is RowOrigin.BEFORE else None,
            end=request.origin is RowOrigin.END,
            offset=request.start_index,
            event_number=self.event_count,
        )

    async def refresh_rows(self, desk: "Desk", ids: tuple[str, ...], newest_id: str) -> RefreshedRows:
        """Return the current state of these drafts."""
        found = await desk.drafts.views.refresh(self._view, ids, newest_id)
        self.zone = found.zone
        return RefreshedRows(ids, found.drafts, found.counts, found.new_count)

    async def _describe_filters(self, desk: "Desk") -> str:
        view = self._view
        sources = await desk.sources.list() if view.source_id is not None else ()
        names = [safe_line(source.name) for source in sources if source.id == view.source_id]
        formats = [labels.FORMAT_NAMES[view.format]] if view.format is not None else []
        source = [labels.filtered_by_source(name) for name in names]
        if view.source_id is not None and not names:
            source = [labels.unknown_source(safe_line(view.source_id))]
        agent = [labels.FILTERED_BY_AGENT] * view.by_agent
        return ", ".join([*formats, *source, *agent, *(f"#{safe_line(tag)}" for tag in view.tags)])


class SavedTab(NamedTuple):
    """The state of a tab while another one is shown."""

    window: Window
    cursor: int
    newest_id: str
    loader: QueueLoader


async def locate_draft(desk: "Desk", draft_id: str, tab: Tab, sorts: Mapping[str, Order]) -> tuple[DraftView, SavedTab]:
    """Load the tab that holds a draft, preferably `tab`, in its order, with the cursor on the draft."""
    draft = await desk.drafts.get(draft_id)
    tab = tab if tab_contains(tab, draft) else next(other for other in Tab if tab_contains(other, draft))
    view = DraftView(tab=tab, sort=sorts.get(tab.value))
    positions = await desk.drafts.views.positions_of(view, (draft_id,))
    # It may have left the tab since; then the nearest one takes its place.
    position = positions[0] if positions else DraftPosition(None, draft_id)
    loader = QueueLoader(view)
    loaded = await loader.load(desk, position, Marks(lambda *_: False))
    return view, SavedTab(loaded.window, loaded.window.find_index(draft_id) or 0, loaded.newest_id, loader)
