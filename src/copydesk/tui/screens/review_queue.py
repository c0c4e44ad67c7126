"""The review queue's tabs, search, filters and marks."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import on

from copydesk.tui.chosen import Selection, select_draft
from copydesk.tui.messages import DeskOpened
from copydesk.tui.screens.review_messages import FilterOptionsLoaded
from copydesk.tui.screens.review_reading import QueueDataMixin
from copydesk.tui.widgets.queue import DraftQueue
from copydesk.tui.widgets.tabs_line import TABS, TabsLine
from copydesk.tui.window import Window

SEARCH_MOUNT_DELAY = 1.0
"""Seconds after opening the desk at which the search line is mounted in advance: its first letter must not lag."""

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import DraftView
    from copydesk.tui.marks import Marks
    from copydesk.tui.queue_reading import QueueLoader
    from copydesk.tui.widgets.search_line import SearchLine


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
            from copydesk.tui.widgets.search_line import SearchLine  # noqa: PLC0415 - not needed for the first paint

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
        self.post_message(FilterOptionsLoaded(await desk.sources.list(), await desk.drafts.tags()))

    @on(FilterOptionsLoaded)
    def _open_filter(self, message: FilterOptionsLoaded) -> None:
        from copydesk.tui.modals.filters import FilterDialog  # noqa: PLC0415 - not needed for the first paint

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
        from copydesk.model.window import DraftView, Tab  # noqa: PLC0415 - not needed for the first paint

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
        from copydesk.tui.selected import MarkedDrafts  # noqa: PLC0415 - not needed for the first paint

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
