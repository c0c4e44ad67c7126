"""The review queue's tabs, search, filters and marks."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import on

from copydesk.tui.chosen import Chosen, one
from copydesk.tui.messages import DeskOpened
from copydesk.tui.screens.review_messages import OptionsRead
from copydesk.tui.screens.review_reading import ReadsQueue
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.tabs_line import TABS, TabsLine
from copydesk.tui.window import Window

READY_AFTER = 1.0
"""Seconds after opening the desk at which the search line is mounted in advance: its first letter must not lag."""

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Marks
    from copydesk.tui.queue_reading import Reading
    from copydesk.tui.widgets.search_line import SearchLine


class Left(NamedTuple):
    """The state of a tab while another one is shown."""

    window: Window
    cursor: int
    newest: str
    reading: "Reading"


class QueueScreen(ReadsQueue, inherit_bindings=False):
    """A queue with tabs.

    Actions on drafts use `queue.current` and `draft_selection`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left: dict[str, Left] = {}
        self.turns = 0
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
        self.turns += 1
        self._leave()
        self.tab, self._view, self._filling_since = tab, None, None
        self.query_one(TabsLine).show(tab)
        saved = self._left.pop(tab, None)
        if saved is None or not saved.window.rows:
            self.queue.marks = self.marks_of(self.view)
            self.queue.say(())
            self.has_read = False
            self.read_anew()
            self.show_title()
            return
        self._come_back(saved)

    def _leave(self) -> None:
        self._close_search()
        self.queue.end_range()
        # Search and filters end with leaving the tab, so there is no state worth saving.
        if self.view.narrowed:
            self._view = None
            self._left.pop(self.tab, None)
        elif self.queue.window.read and self._reading is not None and self._reading.moment is not None:
            window = self.queue.window
            # Keep only the rows around the cursor, so that saved tabs stay small.
            window.shrink(self.queue.cursor)
            self._left[self.tab] = Left(window, self.queue.cursor, self._newest, self._reading)

    def _come_back(self, saved: Left) -> None:
        # Rows that are still loading belong to the tab that was left.
        self._number += 1
        self._reading, self._newest, self._new = saved.reading, saved.newest, 0
        self._set_rows()
        self.queue.show_window(saved.window, self.marks_of(self.view), saved.cursor)
        self.show_title()
        self.read()

    @on(DeskOpened)
    def _schedule_search_mount(self) -> None:
        self.set_timer(READY_AFTER, self._mount_search)

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
            self.set_focus(self._search.line)

    def on_search_line_changed(self, message: "SearchLine.Changed") -> None:
        """Search while typing; skip a query that has been edited since the message was sent."""
        if self._search is not None and message.query == self._search.line.value:
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
            self._search.end()
            self._search.display = False

    def action_filter(self) -> None:
        """Open the filter dialog."""
        self.app.ask(self._load_filter_options, opens=True)

    async def _load_filter_options(self, desk: "Desk") -> None:
        self.post_message(OptionsRead(await desk.sources.list(), await desk.drafts.tags()))

    @on(OptionsRead)
    def _open_filter(self, message: OptionsRead) -> None:
        from copydesk.tui.modals.filters import FilterScreen  # noqa: PLC0415 - not needed for the first paint

        self.app.open_over(self, FilterScreen(self.view, message.sources, message.tags), self._apply_view)

    def _apply_view(self, view: "View | None") -> None:
        """Show the list of `view` from its start. The marks in the old list are kept for it."""
        if view is not None and view != self.view:
            self.turns += 1
            self.queue.end_range()
            self._view = view
            # The old rows stay on the screen until the new list is loaded, but none of them is marked.
            self.queue.marks, self.queue.cursor = self.marks_of(view), 0
            self.read_anew()

    def _unfiltered_view(self) -> "View":
        from copydesk.model.window import Tab, View  # noqa: PLC0415 - not needed for the first paint

        return View(tab=Tab(self.tab))

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

    @on(Queue.Marked)
    def _update_mark_count(self) -> None:
        self.show_title()

    def chosen(self) -> Chosen | None:
        """Return the marked drafts, else the one under the cursor; None if there is neither.

        Also None, with a notification, while it is not yet known which drafts are marked.
        """
        from copydesk.tui.selected import Selected  # noqa: PLC0415 - not needed for the first paint

        draft, marked = self.queue.current, self.queue.marked
        if not marked:
            return one(draft) if draft is not None else None
        snapshot_time = self._reading.moment if self._reading is not None else None
        range_is_loading = self.queue.range_from is not None and self.queue.span() is None
        if snapshot_time is None or self.queue.marks_open_end or range_is_loading:
            self.app.say("What is marked is still being read: try it again.")
            return None
        self.queue.end_range()
        marks = self.queue.marks
        selected = Selected(self.view, snapshot_time, marks.every, marks.spans, frozenset(marks.but), tuple(marks.ids))
        # The marks at this time, to be restored if the action does not get to process them.
        start, restore = partial(self.begin_bulk, marks), partial(self.keep_marked, marks, marks.copy())
        return Chosen(None, marked, selected.find, start, restore)

    def begin_bulk(self, marks: "Marks") -> None:
        """Clear the marks, which the bulk action has taken over: new marks belong to the next action."""
        marks.clear()
        self.queue.marks_changed()

    def keep_marked(self, marks: "Marks", before: "Marks", ids: "Sequence[str] | None") -> None:
        """Restore marks after a bulk action: those of `ids`, or `previous` if `ids` is None."""
        if ids is not None:
            marks.mark_too(self.queue.places(ids))
        elif not marks:
            marks.take(before)
        self.queue.marks_changed()

    def unmark(self) -> bool:
        """Clear the marks, else the search, else the filters. Return False if there was none of them."""
        if self.queue.marked:
            self.queue.mark_only(())
        elif self.view.query or (self._search is not None and self._search.display):
            self.clear_search()
        elif self.view.narrowed:
            self._apply_view(self._unfiltered_view())
        else:
            return False
        return True
