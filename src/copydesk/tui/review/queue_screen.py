"""The review queue on its screen: tabs, search, filters, marks, and the display of a draft requested elsewhere."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.message import Message

from copydesk.tui.messages import DeskOpened
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.queue_data import FilterOptionsLoaded, QueueDataMixin
from copydesk.tui.review.queue_header import TABS, TabsLine
from copydesk.tui.review.row_window import PAGE_SIZE, Window
from copydesk.tui.review.selection import Selection, select_draft
from copydesk.tui.runtime.coalescer import Coalescer

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftPosition, DraftView, Tab
    from copydesk.tui.review.marks import Marks
    from copydesk.tui.review.queue_header import SearchLine
    from copydesk.tui.review.queue_loader import QueueLoader


SEARCH_MOUNT_DELAY = 1.0
"""Seconds after opening the desk at which the search line is mounted in advance: its first letter must not lag."""


class SavedTab(NamedTuple):
    """The state of a tab while another one is shown."""

    window: Window
    cursor: int
    newest: str
    loader: "QueueLoader"


class QueueScreen(QueueDataMixin, inherit_bindings=False):
    """A queue with tabs.

    Actions on drafts use `queue.current` and `draft_selection`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._saved_tabs: dict[str, SavedTab] = {}
        self.list_switches = 0
        """Number of times the user has switched lists. A draft located for an earlier value is not shown."""

    def action_tab(self, by: int) -> None:
        """Show the next tab (`by` 1) or the previous one (-1)."""
        names = list(TABS)
        self.show_tab(names[(names.index(self.tab) + by) % len(names)])

    @on(TabsLine.Clicked)
    def _select_clicked_tab(self, message: TabsLine.Clicked) -> None:
        self.show_tab(message.tab)

    def show_tab(self, tab: str) -> None:
        """Switch to `tab` as it was left. Search and filters belong to the tab they were entered in."""
        if tab == self.tab or self.app.desk is None:
            return
        self.list_switches += 1
        self._save_tab()
        self.tab, self._view, self._filling_since = tab, None, None
        self.query_one(TabsLine).show(tab)
        saved = self._saved_tabs.pop(tab, None)
        if saved is None or not saved.window.rows:
            self.queue.marks = self.marks_for(self.view)
            self.queue.show_note(())
            self.is_loaded = False
            self.reload()
            self.show_title()
            return
        self._restore_tab(saved)

    def _save_tab(self) -> None:
        self._close_search()
        self.queue.end_range()
        # Search and filters end with leaving the tab, so there is no state worth saving.
        if self.view.is_filtered:
            self._view = None
            self._saved_tabs.pop(self.tab, None)
        elif self.queue.window.is_loaded and self._loader is not None and self._loader.event_count is not None:
            window = self.queue.window
            # Keep only the rows around the cursor, so that saved tabs stay small.
            window.shrink(self.queue.cursor)
            self._saved_tabs[self.tab] = SavedTab(window, self.queue.cursor, self._newest_id, self._loader)

    def _restore_tab(self, saved: SavedTab) -> None:
        # Rows that are still loading belong to the tab that was left.
        self._list_number += 1
        self._loader, self._newest_id, self._new_count = saved.loader, saved.newest, 0
        self._set_rows()
        self.queue.show_window(saved.window, self.marks_for(self.view), saved.cursor)
        self.show_title()
        self.refresh_data()

    @on(DeskOpened)
    def _schedule_search_mount(self) -> None:
        self.set_timer(SEARCH_MOUNT_DELAY, self._mount_search)

    async def _mount_search(self) -> None:
        if self._search is None:
            from copydesk.tui.review.queue_header import SearchLine  # noqa: PLC0415 - not needed for the first paint

            self._search = SearchLine()
            self._search.display = False
            await self.mount(self._search, after=self.query_one(TabsLine))

    async def action_search(self) -> None:
        """Open the search line of this tab."""
        if self.app.desk is None:
            return
        await self._mount_search()
        if self._search is not None:
            self._search.display = True
            # Focus at once, not after layout: the next key typed is text, no longer a key of the queue.
            self.set_focus(self._search.input)

    def on_search_line_changed(self, message: "SearchLine.Changed") -> None:
        """Search while typing; skip a query that has been edited since the message was sent."""
        if self._search is not None and message.query == self._search.input.value:
            self._search_for(message.query.strip())

    def _search_for(self, query: str) -> None:
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        self._apply_view(replace(self.view, query=query))

    def on_search_line_entered(self) -> None:
        """Focus the results."""
        # Enter on an empty line closes the search.
        if not self.view.query:
            self._close_search()
        self.queue.focus()

    def on_search_line_left(self) -> None:
        self.clear_search()

    def clear_search(self) -> None:
        """Close the search and show the whole tab."""
        self._close_search()
        self.queue.focus()
        self._search_for("")

    def _close_search(self) -> None:
        if self._search is not None:
            self._search.clear()
            self._search.display = False

    def action_filter(self) -> None:
        """Open the filter dialog."""
        self.app.run_desk_task(self._load_filter_options, opens_screen=True)

    async def _load_filter_options(self, desk: "Desk") -> None:
        self.post_message(FilterOptionsLoaded(await desk.sources.list(), await desk.drafts.views.tags()))

    @on(FilterOptionsLoaded)
    def _open_filter(self, message: FilterOptionsLoaded) -> None:
        from copydesk.tui.review.filter_dialog import FilterDialog  # noqa: PLC0415 - not needed for the first paint

        self.app.push_if_current(self, FilterDialog(self.view, message.sources, message.tags), self._apply_view)

    def _apply_view(self, view: "DraftView | None") -> None:
        """Show the list of `view` from its start. The marks in the old list are kept for it."""
        if view is not None and view != self.view:
            self.list_switches += 1
            self.queue.end_range()
            self._view = view
            # The old rows stay on the screen until the new list is loaded, but none of them is marked.
            self.queue.marks, self.queue.cursor = self.marks_for(view), 0
            self.reload()

    def _unfiltered_view(self) -> "DraftView":
        from copydesk.model.filters import DraftView, Tab  # noqa: PLC0415 - not needed for the first paint

        return DraftView(tab=Tab(self.tab))

    def action_mark(self) -> None:
        """Toggle the mark of the current draft and move down."""
        self.queue.mark()

    def action_mark_range(self) -> None:
        """Start or end a range."""
        self.queue.mark_range()

    def action_mark_all(self) -> None:
        """Mark all drafts of the list."""
        if self.queue.rows:
            self.queue.mark_all()

    @on(DraftQueue.MarksChanged)
    def _update_mark_count(self) -> None:
        self.show_title()

    def draft_selection(self) -> Selection | None:
        """Return the marked drafts, else the one under the cursor; None if there is neither.

        Also None, with a notification, while it is not yet known which drafts are marked.
        """
        from copydesk.tui.review.selection import MarkedDrafts  # noqa: PLC0415 - not needed for the first paint

        draft, marked = self.queue.current, self.queue.marked_count
        if not marked:
            return select_draft(draft) if draft is not None else None
        snapshot_time = self._loader.event_count if self._loader is not None else None
        range_is_loading = self.queue.range_start is not None and self.queue.growing_range() is None
        if snapshot_time is None or self.queue.is_count_partial or range_is_loading:
            self.app.notify_latest("What is marked is still being read: try it again.")
            return None
        self.queue.end_range()
        marks = self.queue.marks
        selected = MarkedDrafts(
            self.view, snapshot_time, marks.all_marked, marks.spans, frozenset(marks.excluded), tuple(marks.ids)
        )
        # The marks at this time, to be restored if the action does not get to process them.
        start, restore = partial(self.start_bulk, marks), partial(self.restore_marks, marks, marks.copy())
        return Selection(None, marked, selected.resolve, start, restore)

    def start_bulk(self, marks: "Marks") -> None:
        """Clear the marks, which the bulk action has taken over: new marks belong to the next action."""
        marks.clear()
        self.queue.notify_marks_changed()

    def restore_marks(self, marks: "Marks", previous: "Marks", ids: "Sequence[str] | None") -> None:
        """Restore marks after a bulk action: those of `ids`, or `previous` if `ids` is None."""
        if ids is not None:
            marks.add(self.queue.positions_of(ids))
        elif not marks:
            marks.copy_from(previous)
        self.queue.notify_marks_changed()

    def clear_marks_or_filters(self) -> bool:
        """Clear the marks, else the search, else the filters. Return False if there was none of them."""
        if self.queue.marked_count:
            self.queue.mark_only(())
        elif self.view.query or (self._search is not None and self._search.display):
            self.clear_search()
        elif self.view.is_filtered:
            self._apply_view(self._unfiltered_view())
        else:
            return False
        return True


class DraftLocated(Message, bubble=False):
    """The tab that holds a draft was loaded, with the cursor on the draft."""

    def __init__(self, view: "DraftView", saved_tab: SavedTab, list_switches: int) -> None:
        super().__init__()
        self.list_switches = list_switches
        """`QueueScreen.list_switches` at the time of the request."""
        self.view = view
        self.saved_tab = saved_tab


class ShowDraftMixin(QueueScreen, inherit_bindings=False):
    """A queue that can move to a draft by its id."""

    def __init__(self) -> None:
        super().__init__()
        self._locator = Coalescer(self._locate)

    def show_draft(self, draft_id: str) -> None:
        """Move the cursor to a draft: in the displayed list if it is loaded there, else in its tab, unfiltered."""
        index = self.queue.window.find_index(draft_id)
        if index is None:
            switches = self.list_switches
            self.app.run_desk_task(
                lambda desk: self._locator.submit_and_wait((desk, draft_id, switches)), hold_keys=True
            )
        else:
            self.queue.cursor = index
            self.queue.focus()

    async def _locate(self, request: "tuple[Desk, str, int]") -> None:
        from copydesk.model.filters import DraftView, Tab, count_in_tab, tab_contains  # noqa: PLC0415 - not needed for the first paint
        from copydesk.tui.review.queue_loader import QueueLoader  # noqa: PLC0415 - as above

        desk, draft_id, switches = request
        draft = await desk.drafts.get(draft_id)
        current_tab = Tab(self.tab)
        view = DraftView(
            tab=current_tab
            if tab_contains(current_tab, draft)
            else next(tab for tab in Tab if tab_contains(tab, draft))
        )
        loader, newest = QueueLoader(view, await desk.drafts.views.event_number()), await desk.drafts.views.newest()
        await loader.load_zone(desk)
        around = await desk.drafts.views.around(view, _position_in(view.tab, draft), limit=PAGE_SIZE)
        window = Window(count_in_tab(view.tab, await desk.drafts.counts()))
        window.load_around(around.before, around.slice)
        self.post_message(
            DraftLocated(view, SavedTab(window, window.find_index(draft_id) or 0, newest, loader), switches)
        )

    @on(DraftLocated)
    def _show_located(self, message: DraftLocated) -> None:
        """Show the draft, unless the user switched lists while it was located."""
        if message.list_switches != self.list_switches:
            return
        self._save_tab()
        self.tab, self._view, self._filling_since = message.view.tab.value, message.view, None
        self.query_one(TabsLine).show(self.tab)
        # The located state replaces the one in which the tab was left.
        self._saved_tabs.pop(self.tab, None)
        self._restore_tab(message.saved_tab)
        self.queue.focus()


def _position_in(tab: "Tab", draft: "ListedDraft") -> "DraftPosition":
    """Return a draft's position in a tab's order.

    The score may be rounded: the position need not match a row exactly to find its neighbours.
    """
    from copydesk.model.filters import DraftPosition, Order, get_order  # noqa: PLC0415 - as above

    order = get_order(tab)
    if order is Order.BEST:
        return DraftPosition(draft.score.total if draft.score else None, draft.id)
    if order is Order.SOONEST:
        # Positions in this order count in microseconds.
        return DraftPosition(draft.scheduled_at.timestamp() * 1_000_000 if draft.scheduled_at else None, draft.id)
    return DraftPosition(None, draft.id)
