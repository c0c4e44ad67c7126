"""The review's queue as the desk has it: read as far as it is looked at, and looked at again when it changes."""

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
"""So long after it was empty a list that nobody has touched shows what is new by itself."""


class ReadsQueue(DeskScreen, inherit_bindings=False):
    """A screen with a `Queue` and a `TabsLine`."""

    def __init__(self) -> None:
        super().__init__()
        self.tab = "to_review"
        self._view: View | None = None
        """What is shown; None until the desk was asked."""
        self._marks: dict[View, Marks] = {}
        """What is marked, by the list that it was marked in."""
        self._number = 0
        """Grows with each list that is asked for: answers for another one come too late."""
        self._newest = ""
        self._new = 0
        self._filling_since: datetime | None = None
        """When the list was found empty: what comes then is not waited for."""
        self._reading: Reading | None = None
        self._latest = Latest(self._read_rows)
        self._looking = Latest(self._look_again)
        """Whether rows were left as they are, for what was read of them was older."""
        self._search: SearchLine | None = None

    @property
    def queue(self) -> Queue:
        """The rows."""
        return self.query_one(Queue)

    @property
    def view(self) -> "View":
        """The tab, and the filters within it."""
        from copydesk.model.window import Tab, View  # noqa: PLC0415 - what the first paint does not need waits

        if self._view is None:
            self._view = View(tab=Tab(self.tab))
        return self._view

    def marks_of(self, view: "View") -> Marks:
        """What is marked in one list; it is kept while others are looked at."""
        self._marks = {each: marks for each, marks in self._marks.items() if marks or marks is self.queue.marks}
        return self._marks.setdefault(view, Marks(self._order(view)))

    # The desk.

    def on_glanced(self, message: Glanced) -> None:
        """The first rows: what the desk will say, too."""
        window = Window(len(message.drafts))
        window.rows = list(message.drafts)
        self.queue.show_window(window, self.queue.marks)
        self.call_after_refresh(message.shown)

    def say_trouble(self, error: CopydeskError) -> None:
        """Say why there is nothing."""
        self.queue.say(self.trouble_note(error))

    def read(self) -> None:
        """The list, where there is none yet; else only what is on the screen, so that nothing moves."""
        if self.queue.window.read and self.queue.rows:
            ids, number, newest = self.queue.shown_ids(), self._number, self._newest
            self.ask_for(lambda desk: self._looking.wish((desk, number, ids, newest)))
        else:
            self.read_anew()

    def read_anew(self) -> None:
        """Read the list, with the cursor on the draft that it is on, or where that stood."""
        self._number += 1
        self.queue.end_range()
        number, view, place = self._number, self.view, self._standing()
        self.ask_for(lambda desk: self._read_list(desk, number, view, place), keys_wait=True)

    def _standing(self) -> "Place | None":
        """Where the cursor's draft stands, where that is not near the beginning."""
        far = self.queue.cursor >= PAGE // 2
        return self.queue.window.place(self.queue.cursor) if far else None

    async def _read_list(self, desk: "Desk", number: int, view: "View", place: "Place | None") -> None:
        from copydesk.tui.queue_reading import Reading  # noqa: PLC0415 - as above

        if number != self._number:
            return
        self._reading, changes = Reading(view), self.app.changes
        try:
            found = await self._reading.begin(desk, place, self.marks_of(view))
        except InvalidError as error:
            self.post_message(QueryWrong(number, str(error)))
            return
        self.post_message(QueueRead(number, found))
        self._look_at_changes(changes)

    def _look_at_changes(self, changes: int) -> None:
        """Look once more at what took so long to read that something was written meanwhile."""
        if changes != self.app.changes:
            self.call_later(self.read)

    async def _count(self, desk: "Desk", number: int, view: "View") -> None:
        total = 0
        async for total in desk.drafts.counting(view):  # noqa: B007 - only the last one counts
            if number != self._number:
                return
        self.post_message(TotalRead(number, total))

    @on(QueueRead)
    def _show_list(self, message: QueueRead) -> None:
        if message.number != self._number:
            return
        found, self.has_read = message.found, True
        filling = self._is_filling()
        self._newest, self._new = found.newest, 0
        self._show_counts(found.counts)
        marks = self.marks_of(found.view)
        marks.settle(*found.marked)
        if not found.window.rows:
            self.queue.marks = marks
            self.queue.say(self._nothing(sources=found.sources))
            self.queue.window.read = True
            self._filling_since = self.app.clock()
        else:
            self._set_rows()
            cursor = 0 if filling else found.cursor_on(self.queue.current, self.queue.cursor)
            self.queue.show_window(found.window, marks, cursor)
            self.show_begun()
        if self._search is not None:
            self._search.say("")
        if found.marked.gone:
            self.app.say(f"{plural(found.marked.gone, 'marked draft')} went from this list, the mark with it.")
        if not found.window.sure:
            self.app.ask(lambda desk: self._count(desk, message.number, found.view))
        self.show_title()

    def _is_filling(self) -> bool:
        """Whether the list was empty until just now, and nobody has gone through it yet."""
        since, untouched = self._filling_since, not self.queue.cursor and not self.queue.marked
        return since is not None and untouched and self.app.clock() - since < FILLING

    def _nothing(self, *, sources: bool) -> "note.Note":
        if self.view.narrowed:
            return note.nothing_found()
        if self.tab != "to_review":
            return note.nothing_in(TABS[self.tab][0])
        return note.empty() if sources else note.no_sources()

    def _set_rows(self) -> None:
        """What the rows of this list are drawn by."""
        from copydesk.model.window import belongs  # noqa: PLC0415 - as above

        tab = self.view.tab
        self.queue.fits = lambda draft: belongs(tab, draft)
        self._set_zone()

    def _set_zone(self) -> None:
        self.queue.tell_times(self._reading.zone if self._reading is not None else None)

    def _order(self, view: "View") -> "Precedes":
        from copydesk.model.window import precedes  # noqa: PLC0415 - as above

        order = view.order
        return lambda one, other: precedes(order, one, other)

    @on(QueryWrong)
    def _say_wrong(self, message: QueryWrong) -> None:
        if message.number == self._number and self._search is not None:
            self._search.say(message.why)

    @on(Queue.Wanted)
    def _want(self, message: Queue.Wanted) -> None:
        number, wish = self._number, message.wish
        if self.queue.current is None:  # the keys that are typed next are for that row
            self.app.ask(lambda desk: self._latest.settle((desk, number, wish)), keys_wait=True)
        else:
            self.app.ask(lambda desk: self._latest.wish((desk, number, wish)))

    async def _read_rows(self, wanted: "tuple[Desk, int, Wish]") -> None:
        (desk, number, wish), changes = wanted, self.app.changes
        if number == self._number and self._reading is not None:
            self.post_message(RowsRead(number, wish, await self._reading.more(desk, wish)))
            self._look_at_changes(changes)

    @on(RowsRead)
    def _take(self, message: RowsRead) -> None:
        if message.number == self._number:
            self.queue.take(message.wish, message.read)
            self.show_begun()
            self.show_title()

    @on(TotalRead)
    def _take_total(self, message: TotalRead) -> None:
        if message.number == self._number:
            self.queue.set_total(message.total)
            self.show_title()

    def show_begun(self) -> None:
        """Show on the rows what is being done to them: they were read before it is written."""

    def is_older(self, draft: "ListedDraft") -> bool:
        """Whether this was read before the draft was changed here."""
        return False

    async def _look_again(self, wish: "tuple[Desk, int, tuple[str, ...], str]") -> None:
        desk, number, ids, newest = wish
        with suppress(InvalidError):  # that the words cannot be looked for was told
            if self._reading is not None:
                self.post_message(LookedAgain(number, await self._reading.look_again(desk, ids, newest)))

    @on(LookedAgain)
    def _show_again(self, message: LookedAgain) -> None:
        self._show_counts(message.looked.counts)
        if message.number == self._number:
            self._set_zone()
            older = {draft.id for draft in message.looked.drafts if self.is_older(draft)}
            # What is left out is looked at again when it is written: that is a change of the desk.
            ids = [draft_id for draft_id in message.looked.ids if draft_id not in older]
            self.queue.renew(ids, message.looked.drafts)
            self._new = message.looked.new
            gone = len(message.looked.drafts) < len(message.looked.ids)
            if gone or (self._new and self._is_filling()):
                self.read_anew()
            self.show_title()

    def _show_counts(self, counts: "Counts") -> None:
        from copydesk.model.window import Tab, number_in  # noqa: PLC0415 - as above

        self.query_one(TabsLine).show(self.tab, {tab.value: number_in(tab, counts) for tab in Tab})

    def show_title(self) -> None:
        """How many there are, how many are marked, how many are new."""
        total = len(self.queue.window)
        parts = ["Queue", (f"{total}" if self.queue.window.sure else f"{total - 1}+") * bool(total)]
        parts += [self._reading.words] if self._reading is not None and self.view.narrowed else []
        parts += [f"{self.queue.marked}{'+' * self.queue.marks_open_end} marked"] if self.queue.marked else []
        parts += [f"{key('review.mark_range')} ends the range"] if self.queue.range_from else []
        parts += [f"{self._new} new, press {key('review.refresh')}"] if self._new else []
        self.queue.set_title(" · ".join(part for part in parts if part))
