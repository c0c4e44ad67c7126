"""The review's queue by its keys: tabs, search, filters and marks."""

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
"""Seconds after which the search is made, asked for or not: its first letter is not to wait for it."""

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.window import View
    from copydesk.tui.marks import Marks
    from copydesk.tui.queue_reading import Reading
    from copydesk.tui.widgets.search_line import SearchLine


class Left(NamedTuple):
    """A tab as it was left."""

    window: Window
    cursor: int
    newest: str
    reading: "Reading"


class QueueScreen(ReadsQueue, inherit_bindings=False):
    """A queue with tabs. The seams for those who act on drafts are `queue.current` and `chosen`."""

    def __init__(self) -> None:
        super().__init__()
        self._left: dict[str, Left] = {}
        self.turns = 0
        """How often the user has gone to another list: a draft that was to be shown before that comes too late."""

    # Tabs.

    def action_tab(self, by: int) -> None:
        """The next tab, or the one before."""
        names = list(TABS)
        self.show_tab(names[(names.index(self.tab) + by) % len(names)])

    @on(TabsLine.Clicked)
    def _click_tab(self, message: TabsLine.Clicked) -> None:
        self.show_tab(message.tab)

    def show_tab(self, tab: str) -> None:
        """Another tab, as it was left; search and filters belong to the one that they were made in."""
        if tab == self.tab or self.app.desk is None:
            return
        self.turns += 1
        self._leave()
        self.tab, self._view, self._filling_since = tab, None, None
        self.query_one(TabsLine).show(tab)
        left = self._left.pop(tab, None)
        if left is None or not left.window.rows:
            self.queue.marks = self.marks_of(self.view)
            self.queue.say(())
            self.has_read = False
            self.read_anew()
            self.show_title()
            return
        self._come_back(left)

    def _leave(self) -> None:
        self._close_search()
        self.queue.end_range()
        if self.view.narrowed:
            self._view = None
            self._left.pop(self.tab, None)
        elif self.queue.window.read and self._reading is not None and self._reading.moment is not None:
            window = self.queue.window
            window.shrink(self.queue.cursor)
            self._left[self.tab] = Left(window, self.queue.cursor, self._newest, self._reading)

    def _come_back(self, left: Left) -> None:
        self._number += 1
        self._reading, self._newest, self._new = left.reading, left.newest, 0
        self._set_rows()
        self.queue.show_window(left.window, self.marks_of(self.view), left.cursor)
        self.show_title()
        self.read()

    # Search and filters.

    @on(DeskOpened)
    def _make_search_ready(self) -> None:
        self.set_timer(READY_AFTER, self._make_search)

    async def _make_search(self) -> None:
        if self._search is None:
            from copydesk.tui.widgets.search_line import SearchLine  # noqa: PLC0415 - as above

            self._search = SearchLine()
            self._search.display = False
            await self.mount(self._search, after=self.query_one(TabsLine))

    async def action_search(self) -> None:
        """Look for words in this tab."""
        if self.app.desk is None:
            return
        await self._make_search()
        if self._search is not None:
            self._search.display = True
            # At once: what is typed next is no key of the queue any more.
            self.set_focus(self._search.line)

    def on_search_line_changed(self, message: "SearchLine.Changed") -> None:
        """What is found shows while it is typed; what stands there no more is not looked for."""
        if self._search is not None and message.query == self._search.line.value:
            self._look_for(message.query.strip())

    def _look_for(self, query: str) -> None:
        from msgspec.structs import replace  # noqa: PLC0415 - as above

        self._narrow(replace(self.view, query=query))

    def on_search_line_entered(self) -> None:
        """Go to what was found."""
        if not self.view.query:
            self._close_search()
        self.queue.focus()

    def on_search_line_left(self) -> None:
        """Show everything again."""
        self.clear_search()

    def clear_search(self) -> None:
        """Everything in the tab again."""
        self._close_search()
        self.queue.focus()
        self._look_for("")

    def _close_search(self) -> None:
        if self._search is not None:
            self._search.end()
            self._search.display = False

    def action_filter(self) -> None:
        """Show only some of the tab."""
        self.app.ask(self._ask_for_filter, opens=True)

    async def _ask_for_filter(self, desk: "Desk") -> None:
        self.post_message(OptionsRead(await desk.sources.list(), await desk.drafts.tags()))

    @on(OptionsRead)
    def _choose_filter(self, message: OptionsRead) -> None:
        from copydesk.tui.modals.filters import FilterScreen  # noqa: PLC0415 - as above

        self.app.open_over(self, FilterScreen(self.view, message.sources, message.tags), self._narrow)

    def _narrow(self, view: "View | None") -> None:
        """Another list, from its beginning; what is marked in this one is kept for it."""
        if view is not None and view != self.view:
            self.turns += 1
            self.queue.end_range()
            self._view = view
            # The rows of the list before may stand a moment longer, but nothing of them is marked.
            self.queue.marks, self.queue.cursor = self.marks_of(view), 0
            self.read_anew()

    def _whole_tab(self) -> "View":
        from copydesk.model.window import Tab, View  # noqa: PLC0415 - as above

        return View(tab=Tab(self.tab))

    # Marks.

    def action_mark(self) -> None:
        """Mark the draft, and go on."""
        self.queue.mark()

    def action_mark_range(self) -> None:
        """Begin or end a range."""
        self.queue.mark_range()

    def action_mark_all(self) -> None:
        """Mark all that is shown."""
        if self.queue.rows:
            self.queue.mark_all()

    @on(Queue.Marked)
    def _count_marks(self) -> None:
        self.show_title()

    def chosen(self) -> Chosen | None:
        """What an action is for: what is marked, else the draft under the cursor."""
        from copydesk.tui.selected import Selected  # noqa: PLC0415 - as above

        draft, marked = self.queue.current, self.queue.marked
        if not marked:
            return one(draft) if draft is not None else None
        moment = self._reading.moment if self._reading is not None else None
        growing = self.queue.range_from is not None and self.queue.span() is None
        if moment is None or self.queue.marks_open_end or growing:
            self.app.say("What is marked is still being read: try it again.")
            return None
        self.queue.end_range()
        marks = self.queue.marks
        selected = Selected(self.view, moment, marks.every, marks.spans, frozenset(marks.but), tuple(marks.ids))
        begin, keep = partial(self.begin_bulk, marks), partial(self.keep_marked, marks, marks.copy())
        return Chosen(None, marked, selected.find, begin, keep)

    def begin_bulk(self, marks: "Marks") -> None:
        """What is marked in its list is the bulk's: what is marked there from now on is not."""
        marks.clear()
        self.queue.marks_changed()

    def keep_marked(self, marks: "Marks", before: "Marks", ids: "Sequence[str] | None") -> None:
        """After a bulk: of its list these are marked again, for nothing was done to them; or all that were `before`."""
        if ids is not None:
            marks.mark_too(self.queue.places(ids))
        elif not marks:
            marks.take(before)
        self.queue.marks_changed()

    def unmark(self) -> bool:
        """Take the marks away, then the search, then the filters; False where there was none of them."""
        if self.queue.marked:
            self.queue.mark_only(())
        elif self.view.query or (self._search is not None and self._search.display):
            self.clear_search()
        elif self.view.narrowed:
            self._narrow(self._whole_tab())
        else:
            return False
        return True
