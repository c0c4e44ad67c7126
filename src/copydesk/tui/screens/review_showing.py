"""Showing a draft, requested on another screen, in the review queue."""

from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.tui.latest import Coalescer
from copydesk.tui.screens.review_queue import QueueScreen, SavedTab
from copydesk.tui.widgets.tabs_line import TabsLine
from copydesk.tui.window import PAGE_SIZE, Window

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.window import DraftPosition, DraftView, Tab


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
        from copydesk.model.window import DraftView, Tab, count_in_tab, tab_contains  # noqa: PLC0415 - not needed for the first paint
        from copydesk.tui.queue_reading import QueueLoader  # noqa: PLC0415 - as above

        desk, draft_id, switches = request
        draft = await desk.drafts.get(draft_id)
        current_tab = Tab(self.tab)
        view = DraftView(
            tab=current_tab
            if tab_contains(current_tab, draft)
            else next(tab for tab in Tab if tab_contains(tab, draft))
        )
        loader, newest = QueueLoader(view, await desk.drafts.event_number()), await desk.drafts.newest()
        await loader.load_zone(desk)
        around = await desk.drafts.around(view, _position_in(view.tab, draft), limit=PAGE_SIZE)
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
    from copydesk.model.window import DraftPosition, Order, get_order  # noqa: PLC0415 - as above

    order = get_order(tab)
    if order is Order.BEST:
        return DraftPosition(draft.score.total if draft.score else None, draft.id)
    if order is Order.SOONEST:
        # Positions in this order count in microseconds.
        return DraftPosition(draft.scheduled_at.timestamp() * 1_000_000 if draft.scheduled_at else None, draft.id)
    return DraftPosition(None, draft.id)
