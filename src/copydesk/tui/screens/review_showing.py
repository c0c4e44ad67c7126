"""Showing a draft, requested on another screen, in the review queue."""

from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.tui.latest import Latest
from copydesk.tui.screens.review_queue import Left, QueueScreen
from copydesk.tui.widgets.tabs_line import TabsLine
from copydesk.tui.window import PAGE, Window

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.window import Place, Tab, View


class Located(Message, bubble=False):
    """The tab that holds a draft was loaded, with the cursor on the draft."""

    def __init__(self, view: "View", left: Left, turns: int) -> None:
        super().__init__()
        self.turns = turns
        """`QueueScreen.list_switches` at the time of the request."""
        self.view = view
        self.left = left


class ShowsDraft(QueueScreen, inherit_bindings=False):
    """A queue that can move to a draft by its id."""

    def __init__(self) -> None:
        super().__init__()
        self._locator = Latest(self._locate)

    def show_draft(self, draft_id: str) -> None:
        """Move the cursor to a draft: in the displayed list if it is loaded there, else in its tab, unfiltered."""
        index = self.queue.window.find(draft_id)
        if index is None:
            switches = self.turns
            self.app.ask(lambda desk: self._locator.settle((desk, draft_id, switches)), keys_wait=True)
        else:
            self.queue.cursor = index
            self.queue.focus()

    async def _locate(self, request: "tuple[Desk, str, int]") -> None:
        from copydesk.model.window import Tab, View, belongs, number_in  # noqa: PLC0415 - not needed for the first paint
        from copydesk.tui.queue_reading import Reading  # noqa: PLC0415 - as above

        desk, draft_id, switches = request
        draft = await desk.drafts.get(draft_id)
        current_tab = Tab(self.tab)
        view = View(tab=current_tab if belongs(current_tab, draft) else next(tab for tab in Tab if belongs(tab, draft)))
        loader, newest = Reading(view, await desk.drafts.moment()), await desk.drafts.newest()
        await loader.read_zone(desk)
        around = await desk.drafts.around(view, _position_in(view.tab, draft), limit=PAGE)
        window = Window(number_in(view.tab, await desk.drafts.counts()))
        window.around(around.before, around.slice)
        self.post_message(Located(view, Left(window, window.find(draft_id) or 0, newest, loader), switches))

    @on(Located)
    def _show_located(self, message: Located) -> None:
        """Show the draft, unless the user switched lists while it was located."""
        if message.turns != self.turns:
            return
        self._leave()
        self.tab, self._view, self._filling_since = message.view.tab.value, message.view, None
        self.query_one(TabsLine).show(self.tab)
        # The located state replaces the one in which the tab was left.
        self._left.pop(self.tab, None)
        self._come_back(message.left)
        self.queue.focus()


def _position_in(tab: "Tab", draft: "ListedDraft") -> "Place":
    """Return a draft's position in a tab's order.

    The score may be rounded: the position need not match a row exactly to find its neighbours.
    """
    from copydesk.model.window import Order, Place, order_of  # noqa: PLC0415 - as above

    order = order_of(tab)
    if order is Order.BEST:
        return Place(draft.score.total if draft.score else None, draft.id)
    if order is Order.SOONEST:
        # Positions in this order count in microseconds.
        return Place(draft.scheduled_at.timestamp() * 1_000_000 if draft.scheduled_at else None, draft.id)
    return Place(None, draft.id)
