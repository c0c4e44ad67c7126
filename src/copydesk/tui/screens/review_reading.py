"""The review queue's data: loaded as far as it is displayed, and refreshed in place when the desk changes."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from textual import on

from copydesk.errors import CopydeskError, InvalidError
from copydesk.tui.latest import Latest
from copydesk.tui.marks import Marks, Precedes
from copydesk.tui.messages import Glanced
from copydesk.tui.naming import key
from copydesk.tui.pages import note
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.screens.review_messages import LookedAgain, QueryWrong, QueueRead, RowsRead, TotalRead
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.tabs_line import TABS, TabsLine
from copydesk.tui.window import PAGE, Window, Wish
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import Counts
    from copydesk.model.window import Place, View
    from copydesk.tui.queue_reading import Reading
    from copydesk.tui.widgets.search_line import SearchLine

FILLING = timedelta(minutes=2)
"""For this long after a list was empty, new drafts are shown without a key press, as long as nobody has moved in it."""


class ReadsQueue(DeskScreen, inherit_bindings=False):
    """A screen with a `Queue` and a `TabsLine`."""

    def __init__(self) -> None:
        super().__init__()
        self.tab = "to_review"
        self._view: View | None = None
        """The displayed list; None until the first load."""
        self._marks_by_view: dict[View, Marks] = {}
        """Marks by the list that they were set in."""
        self._number = 0
        """Incremented with each list that is requested; results for an earlier number are dropped."""
        self._newest = ""
        self._new = 0
        self._filling_since: datetime | None = None
        """When the list was found empty; None if it was not."""
        self._reading: Reading | None = None
        self._row_loader = Latest(self._load_rows)
        self._refresher = Latest(self._load_refresh)
        self._search: SearchLine | None = None

    @property
    def queue(self) -> Queue:
        return self.query_one(Queue)

    @property
    def view(self) -> "View":
        """Return the tab and the filters within it."""
        from copydesk.model.window import Tab, View  # noqa: PLC0415 - not needed for the first paint

        if self._view is None:
            self._view = View(tab=Tab(self.tab))
        return self._view

    def marks_of(self, view: "View") -> Marks:
        """Return the marks of one list; they are kept while other lists are displayed."""
        # Drop empty marks of lists that are not displayed, so that searches do not pile up.
        self._marks_by_view = {
            other: marks for other, marks in self._marks_by_view.items() if marks or marks is self.queue.marks
        }
        return self._marks_by_view.setdefault(view, Marks(self._order_of(view)))

    def on_glanced(self, message: Glanced) -> None:
        """Show the first rows, read from the database before the desk is open."""
        window = Window(len(message.drafts))
        window.rows = list(message.drafts)
        self.queue.show_window(window, self.queue.marks)
        # Called back only once the rows have been painted.
        self.call_after_refresh(message.shown)

    def say_trouble(self, error: CopydeskError) -> None:
        self.queue.say(self.trouble_note(error))

    def read(self) -> None:
        """Load the list if there is none; otherwise refresh only the visible rows, so that nothing moves."""
        if self.queue.window.read and self.queue.rows:
            ids, number, newest = self.queue.shown_ids(), self._number, self._newest
            self.ask_for(lambda desk: self._refresher.wish((desk, number, ids, newest)))
        else:
            self.read_anew()

    def read_anew(self) -> None:
        """Load the list again, with the cursor on the same draft or, if that is gone, at the same position."""
        self._number += 1
        self.queue.end_range()
        number, view, position = self._number, self.view, self._cursor_position()
        self.ask_for(lambda desk: self._load_list(desk, number, view, position), keys_wait=True)

    def _cursor_position(self) -> "Place | None":
        """Return the position of the cursor's draft in the list's order; None near the start."""
        # Near the start the first page holds the draft in any case.
        is_far = self.queue.cursor >= PAGE // 2
        return self.queue.window.place(self.queue.cursor) if is_far else None

    async def _load_list(self, desk: "Desk", number: int, view: "View", position: "Place | None") -> None:
        from copydesk.tui.queue_reading import Reading  # noqa: PLC0415 - not needed for the first paint

        if number != self._number:
            return
        self._reading, changes = Reading(view), self.app.changes
        try:
            result = await self._reading.begin(desk, position, self.marks_of(view))
        except InvalidError as error:
            self.post_message(QueryWrong(number, str(error)))
            return
        self.post_message(QueueRead(number, result))
        self._refresh_if_outdated(changes)

    def _refresh_if_outdated(self, changes: int) -> None:
        """Refresh once more if something was written while the rows were loading."""
        if changes != self.app.changes:
            self.call_later(self.read)

    async def _count_rows(self, desk: "Desk", number: int, view: "View") -> None:
        total = 0
        async for total in desk.drafts.counting(view):  # noqa: B007 - the last value is the total
            if number != self._number:
                return
        self.post_message(TotalRead(number, total))

    @on(QueueRead)
    def _show_list(self, message: QueueRead) -> None:
        if message.number != self._number:
            return
        result, self.has_read = message.found, True
        was_filling = self._is_filling()
        self._newest, self._new = result.newest, 0
        self._show_counts(result.counts)
        marks = self.marks_of(result.view)
        marks.settle(*result.marked)
        if not result.window.rows:
            self.queue.marks = marks
            self.queue.say(self._empty_note(sources=result.sources))
            self.queue.window.read = True
            self._filling_since = self.app.clock()
        else:
            self._set_rows()
            # While a list fills up, the cursor stays on the first row until the user moves it.
            cursor = 0 if was_filling else result.cursor_on(self.queue.current, self.queue.cursor)
            self.queue.show_window(result.window, marks, cursor)
            self.show_begun()
        if self._search is not None:
            self._search.say("")
        if result.marked.gone:
            self.app.say(f"{plural(result.marked.gone, 'marked draft')} went from this list, the mark with it.")
        # Count a filtered list in the background: that may take longer than loading its first rows.
        if not result.window.sure:
            self.app.ask(lambda desk: self._count_rows(desk, message.number, result.view))
        self.show_title()

    def _is_filling(self) -> bool:
        """Return True if the list was empty until recently and the user has not moved in it."""
        since, is_untouched = self._filling_since, not self.queue.cursor and not self.queue.marked
        return since is not None and is_untouched and self.app.clock() - since < FILLING

    def _empty_note(self, *, sources: bool) -> "note.Note":
        if self.view.narrowed:
            return note.nothing_found()
        if self.tab != "to_review":
            return note.nothing_in(TABS[self.tab][0])
        return note.empty() if sources else note.no_sources()

    def _set_rows(self) -> None:
        """Configure how the rows of this list are drawn."""
        from copydesk.model.window import belongs  # noqa: PLC0415 - not needed for the first paint

        tab = self.view.tab
        self.queue.fits = lambda draft: belongs(tab, draft)
        self._set_zone()

    def _set_zone(self) -> None:
        self.queue.tell_times(self._reading.zone if self._reading is not None else None)

    def _order_of(self, view: "View") -> "Precedes":
        from copydesk.model.window import precedes  # noqa: PLC0415 - not needed for the first paint

        order = view.order
        return lambda first, second: precedes(order, first, second)

    @on(QueryWrong)
    def _show_query_error(self, message: QueryWrong) -> None:
        if message.number == self._number and self._search is not None:
            self._search.say(message.why)

    @on(Queue.Wanted)
    def _request_rows(self, message: Queue.Wanted) -> None:
        number, request = self._number, message.wish
        if self.queue.current is None:  # the next keys act on that row, so they wait for it
            self.app.ask(lambda desk: self._row_loader.settle((desk, number, request)), keys_wait=True)
        else:
            self.app.ask(lambda desk: self._row_loader.wish((desk, number, request)))

    async def _load_rows(self, arguments: "tuple[Desk, int, Wish]") -> None:
        (desk, number, request), changes = arguments, self.app.changes
        if number == self._number and self._reading is not None:
            self.post_message(RowsRead(number, request, await self._reading.more(desk, request)))
            self._refresh_if_outdated(changes)

    @on(RowsRead)
    def _show_rows(self, message: RowsRead) -> None:
        if message.number == self._number:
            self.queue.take(message.wish, message.read)
            self.show_begun()
            self.show_title()

    @on(TotalRead)
    def _show_total(self, message: TotalRead) -> None:
        if message.number == self._number:
            self.queue.set_total(message.total)
            self.show_title()

    def show_begun(self) -> None:
        """Show pending changes on the rows, which were loaded before the changes were written."""

    def is_older(self, draft: "ListedDraft") -> bool:
        """Return True if `draft` was loaded before it was changed here."""
        return False

    async def _load_refresh(self, request: "tuple[Desk, int, tuple[str, ...], str]") -> None:
        desk, number, ids, newest = request
        with suppress(InvalidError):  # the invalid query was reported when the list was loaded
            if self._reading is not None:
                self.post_message(LookedAgain(number, await self._reading.look_again(desk, ids, newest)))

    @on(LookedAgain)
    def _show_refresh(self, message: LookedAgain) -> None:
        self._show_counts(message.looked.counts)
        if message.number == self._number:
            self._set_zone()
            stale = {draft.id for draft in message.looked.drafts if self.is_older(draft)}
            # Skip stale rows: they are refreshed again once the local change has been written.
            ids = [draft_id for draft_id in message.looked.ids if draft_id not in stale]
            self.queue.renew(ids, message.looked.drafts)
            self._new = message.looked.new
            # A visible draft was deleted; loading the list again closes the gap.
            has_missing = len(message.looked.drafts) < len(message.looked.ids)
            if has_missing or (self._new and self._is_filling()):
                self.read_anew()
            self.show_title()

    def _show_counts(self, counts: "Counts") -> None:
        from copydesk.model.window import Tab, number_in  # noqa: PLC0415 - not needed for the first paint

        self.query_one(TabsLine).show(self.tab, {tab.value: number_in(tab, counts) for tab in Tab})

    def show_title(self) -> None:
        """Show the total, the number of marked drafts, and the number of new ones."""
        total = len(self.queue.window)
        parts = ["Queue", (f"{total}" if self.queue.window.sure else f"{total - 1}+") * bool(total)]
        parts += [self._reading.words] if self._reading is not None and self.view.narrowed else []
        parts += [f"{self.queue.marked}{'+' * self.queue.marks_open_end} marked"] if self.queue.marked else []
        parts += [f"{key('review.mark_range')} ends the range"] if self.queue.range_from else []
        parts += [f"{self._new} new, press {key('review.refresh')}"] if self._new else []
        self.queue.set_title(" · ".join(part for part in parts if part))
