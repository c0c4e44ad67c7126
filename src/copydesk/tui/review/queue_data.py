"""The data of the review queue, loaded as far as it is displayed and refreshed in place when the desk changes.

The messages about it carry the number of the list they belong to; those for an earlier list are dropped.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.errors import CopydeskError, InvalidError
from copydesk.text.formatting import plural
from copydesk.tui import empty_states
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.keys import key_label
from copydesk.tui.messages import FirstPageLoaded
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.marks import Marks, Precedes
from copydesk.tui.review.queue_header import TABS, TabsLine
from copydesk.tui.review.row_window import PAGE_SIZE, RowRequest, Window
from copydesk.tui.runtime.coalescer import Coalescer

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.delivery import Preview
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftCounts, DraftPosition, DraftSlice, DraftView
    from copydesk.model.source import Source
    from copydesk.tui.review.pages import DeliveryInfo
    from copydesk.tui.review.preview_page import ImageView
    from copydesk.tui.review.queue_header import SearchLine
    from copydesk.tui.review.queue_loader import LoadedQueue, QueueLoader, RefreshedRows


class QueueLoaded(Message, bubble=False):
    """A list was loaded, from the requested position."""

    def __init__(self, list_number: int, result: "LoadedQueue") -> None:
        super().__init__()
        self.list_number = list_number
        """Identifies the list: each tab, filter and search gets a new number."""
        self.result = result


class RowsLoaded(Message, bubble=False):
    """Requested rows of the list were loaded."""

    def __init__(self, list_number: int, request: RowRequest, rows: "DraftSlice") -> None:
        super().__init__()
        self.list_number = list_number
        self.request = request
        self.rows = rows


class TotalCounted(Message, bubble=False):
    """The rows of a filtered list were counted."""

    def __init__(self, list_number: int, total: int) -> None:
        super().__init__()
        self.list_number = list_number
        self.total = total


class RowsRefreshed(Message, bubble=False):
    """The visible rows were loaded again, with the counts and the number of new drafts."""

    def __init__(self, list_number: int, result: "RefreshedRows") -> None:
        super().__init__()
        self.list_number = list_number
        self.result = result


class QueryRejected(Message, bubble=False):
    """The search query is invalid; `reason` is shown to the user."""

    def __init__(self, list_number: int, reason: str) -> None:
        super().__init__()
        self.list_number = list_number
        self.reason = reason


class FilterOptionsLoaded(Message, bubble=False):
    """The sources and tags to filter by were loaded."""

    def __init__(self, sources: "Sequence[Source]", tags: Sequence[str]) -> None:
        super().__init__()
        self.sources = sources
        self.tags = tags


class PreviewLoaded(Message, bubble=False):
    """The previews of a draft and its delivery were loaded."""

    def __init__(self, draft: "ListedDraft", previews: "Sequence[Preview]", delivery: "DeliveryInfo") -> None:
        super().__init__()
        self.draft = draft
        self.previews = previews
        self.delivery = delivery


class ImagesLoaded(Message, bubble=False):
    """The images of a previewed draft were loaded, in their order."""

    def __init__(self, preview: PreviewLoaded, images: "Sequence[ImageView]") -> None:
        super().__init__()
        self.preview = preview
        self.images = images


AUTO_SHOW_DURATION = timedelta(minutes=2)
"""For this long after a list was empty, new drafts are shown without a key press, as long as nobody has moved in it."""


class QueueDataMixin(DeskScreen, inherit_bindings=False):
    """A screen with a `Queue` and a `TabsLine`."""

    def __init__(self) -> None:
        super().__init__()
        self.tab = "to_review"
        self._view: DraftView | None = None
        """The displayed list; None until the first load."""
        self._marks_by_view: dict[DraftView, Marks] = {}
        """Marks by the list that they were set in."""
        self._list_number = 0
        """Incremented with each list that is requested; results for an earlier number are dropped."""
        self._newest_id = ""
        self._new_count = 0
        self._filling_since: datetime | None = None
        """When the list was found empty; None if it was not."""
        self._loader: QueueLoader | None = None
        self._row_loader = Coalescer(self._load_rows)
        self._refresher = Coalescer(self._load_refresh)
        self._search: SearchLine | None = None

    @property
    def queue(self) -> DraftQueue:
        return self.query_one(DraftQueue)

    @property
    def view(self) -> "DraftView":
        """Return the tab and the filters within it."""
        from copydesk.model.filters import DraftView, Tab  # noqa: PLC0415 - not needed for the first paint

        if self._view is None:
            self._view = DraftView(tab=Tab(self.tab))
        return self._view

    def marks_for(self, view: "DraftView") -> Marks:
        """Return the marks of one list; they are kept while other lists are displayed."""
        # Drop empty marks of lists that are not displayed, so that searches do not pile up.
        self._marks_by_view = {
            other: marks for other, marks in self._marks_by_view.items() if marks or marks is self.queue.marks
        }
        return self._marks_by_view.setdefault(view, Marks(self._order_of(view)))

    def on_first_page_loaded(self, message: FirstPageLoaded) -> None:
        """Show the first rows, read from the database before the desk is open."""
        window = Window(len(message.drafts))
        window.rows = list(message.drafts)
        self.queue.show_window(window, self.queue.marks)
        # Called back only once the rows have been painted.
        self.call_after_refresh(message.on_displayed)

    def show_error(self, error: CopydeskError) -> None:
        self.queue.show_note(self.error_note(error))

    def refresh_data(self) -> None:
        """Load the list if there is none; otherwise refresh only the visible rows, so that nothing moves."""
        if self.queue.window.is_loaded and self.queue.rows:
            ids, number, newest = self.queue.visible_ids(), self._list_number, self._newest_id
            self.load_with_retry(lambda desk: self._refresher.submit((desk, number, ids, newest)))
        else:
            self.reload()

    def reload(self) -> None:
        """Load the list again, with the cursor on the same draft or, if that is gone, at the same position."""
        self._list_number += 1
        self.queue.end_range()
        number, view, position = self._list_number, self.view, self._cursor_position()
        self.load_with_retry(lambda desk: self._load_list(desk, number, view, position), keys_wait=True)

    def _cursor_position(self) -> "DraftPosition | None":
        """Return the position of the cursor's draft in the list's order; None near the start."""
        # Near the start the first page holds the draft in any case.
        is_far = self.queue.cursor >= PAGE_SIZE // 2
        return self.queue.window.position_at(self.queue.cursor) if is_far else None

    async def _load_list(self, desk: "Desk", number: int, view: "DraftView", position: "DraftPosition | None") -> None:
        from copydesk.tui.review.queue_loader import QueueLoader  # noqa: PLC0415 - not needed for the first paint

        if number != self._list_number:
            return
        self._loader, changes = QueueLoader(view), self.app.change_count
        try:
            result = await self._loader.load(desk, position, self.marks_for(view))
        except InvalidError as error:
            self.post_message(QueryRejected(number, str(error)))
            return
        self.post_message(QueueLoaded(number, result))
        self._refresh_if_outdated(changes)

    def _refresh_if_outdated(self, changes: int) -> None:
        """Refresh once more if something was written while the rows were loading."""
        if changes != self.app.change_count:
            self.call_later(self.refresh_data)

    async def _count_rows(self, desk: "Desk", number: int, view: "DraftView") -> None:
        total = 0
        async for total in desk.drafts.views.count_in_steps(view):  # noqa: B007 - the last value is the total
            if number != self._list_number:
                return
        self.post_message(TotalCounted(number, total))

    @on(QueueLoaded)
    def _show_list(self, message: QueueLoaded) -> None:
        if message.list_number != self._list_number:
            return
        result, self.is_loaded = message.result, True
        was_filling = self._is_filling()
        self._newest_id, self._new_count = result.newest_id, 0
        self._show_counts(result.counts)
        marks = self.marks_for(result.view)
        marks.update_positions(*result.mark_positions)
        if not result.window.rows:
            self.queue.marks = marks
            self.queue.show_note(self._empty_note(sources=result.has_sources))
            self.queue.window.is_loaded = True
            self._filling_since = self.app.clock()
        else:
            self._set_rows()
            # While a list fills up, the cursor stays on the first row until the user moves it.
            cursor = 0 if was_filling else result.cursor_index(self.queue.current, self.queue.cursor)
            self.queue.show_window(result.window, marks, cursor)
            self.show_pending()
        if self._search is not None:
            self._search.show_error("")
        if result.mark_positions.removed_count:
            self.app.notify_latest(
                f"{plural(result.mark_positions.removed_count, 'marked draft')} went from this list, the mark with it."
            )
        # Count a filtered list in the background: that may take longer than loading its first rows.
        if not result.window.is_total_exact:
            self.app.run_desk_task(lambda desk: self._count_rows(desk, message.list_number, result.view))
        self.show_title()

    def _is_filling(self) -> bool:
        """Return True if the list was empty until recently and the user has not moved in it."""
        since, is_untouched = self._filling_since, not self.queue.cursor and not self.queue.marked_count
        return since is not None and is_untouched and self.app.clock() - since < AUTO_SHOW_DURATION

    def _empty_note(self, *, sources: bool) -> "empty_states.Note":
        if self.view.is_filtered:
            return empty_states.no_matches()
        if self.tab != "to_review":
            return empty_states.empty_tab(TABS[self.tab][0])
        return empty_states.nothing_to_review() if sources else empty_states.no_sources()

    def _set_rows(self) -> None:
        """Configure how the rows of this list are drawn."""
        from copydesk.model.filters import tab_contains  # noqa: PLC0415 - not needed for the first paint

        tab = self.view.tab
        self.queue.belongs = lambda draft: tab_contains(tab, draft)
        self._set_zone()

    def _set_zone(self) -> None:
        self.queue.show_times(self._loader.zone if self._loader is not None else None)

    def _order_of(self, view: "DraftView") -> "Precedes":
        from copydesk.model.filters import precedes  # noqa: PLC0415 - not needed for the first paint

        order = view.order
        return lambda first, second: precedes(order, first, second)

    @on(QueryRejected)
    def _show_query_error(self, message: QueryRejected) -> None:
        if message.list_number == self._list_number and self._search is not None:
            self._search.show_error(message.reason)

    @on(DraftQueue.RowsRequested)
    def _request_rows(self, message: DraftQueue.RowsRequested) -> None:
        number, request = self._list_number, message.request
        if self.queue.current is None:  # the next keys act on that row, so they wait for it
            self.app.run_desk_task(
                lambda desk: self._row_loader.submit_and_wait((desk, number, request)), hold_keys=True
            )
        else:
            self.app.run_desk_task(lambda desk: self._row_loader.submit((desk, number, request)))

    async def _load_rows(self, arguments: "tuple[Desk, int, RowRequest]") -> None:
        (desk, number, request), changes = arguments, self.app.change_count
        if number == self._list_number and self._loader is not None:
            self.post_message(RowsLoaded(number, request, await self._loader.load_rows(desk, request)))
            self._refresh_if_outdated(changes)

    @on(RowsLoaded)
    def _show_rows(self, message: RowsLoaded) -> None:
        if message.list_number == self._list_number:
            self.queue.merge_rows(message.request, message.rows)
            self.show_pending()
            self.show_title()

    @on(TotalCounted)
    def _show_total(self, message: TotalCounted) -> None:
        if message.list_number == self._list_number:
            self.queue.set_total(message.total)
            self.show_title()

    def show_pending(self) -> None:
        """Show pending changes on the rows, which were loaded before the changes were written."""

    def is_stale(self, draft: "ListedDraft") -> bool:
        """Return True if `draft` was loaded before it was changed here."""
        return False

    async def _load_refresh(self, request: "tuple[Desk, int, tuple[str, ...], str]") -> None:
        desk, number, ids, newest = request
        with suppress(InvalidError):  # the invalid query was reported when the list was loaded
            if self._loader is not None:
                self.post_message(RowsRefreshed(number, await self._loader.refresh_rows(desk, ids, newest)))

    @on(RowsRefreshed)
    def _show_refresh(self, message: RowsRefreshed) -> None:
        self._show_counts(message.result.counts)
        if message.list_number == self._list_number:
            self._set_zone()
            stale = {draft.id for draft in message.result.drafts if self.is_stale(draft)}
            # Skip stale rows: they are refreshed again once the local change has been written.
            ids = [draft_id for draft_id in message.result.ids if draft_id not in stale]
            self.queue.update_rows(ids, message.result.drafts)
            self._new_count = message.result.new_count
            # A visible draft was deleted; loading the list again closes the gap.
            has_missing = len(message.result.drafts) < len(message.result.ids)
            if has_missing or (self._new_count and self._is_filling()):
                self.reload()
            self.show_title()

    def _show_counts(self, counts: "DraftCounts") -> None:
        from copydesk.model.filters import Tab, count_in_tab  # noqa: PLC0415 - not needed for the first paint

        self.query_one(TabsLine).show(self.tab, {tab.value: count_in_tab(tab, counts) for tab in Tab})

    def show_title(self) -> None:
        """Show the total, the number of marked drafts, and the number of new ones."""
        total = len(self.queue.window)
        parts = ["Queue", (f"{total}" if self.queue.window.is_total_exact else f"{total - 1}+") * bool(total)]
        parts += [self._loader.filter_text] if self._loader is not None and self.view.is_filtered else []
        parts += (
            [f"{self.queue.marked_count}{'+' * self.queue.is_count_partial} marked"] if self.queue.marked_count else []
        )
        parts += [f"{key_label('review.mark_range')} ends the range"] if self.queue.range_start else []
        parts += [f"{self._new_count} new, press {key_label('review.refresh')}"] if self._new_count else []
        self.queue.set_title(" · ".join(part for part in parts if part))
