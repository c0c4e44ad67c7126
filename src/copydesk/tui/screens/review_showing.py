"""A draft that was asked for from elsewhere, shown in the review's queue."""

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
    """Where a draft is: a tab, and that as if it had been left with the cursor on it."""

    def __init__(self, view: "View", left: Left, turns: int) -> None:
        super().__init__()
        self.turns = turns
        """`QueueScreen.turns` when it was asked for."""
        self.view = view
        self.left = left


class ShowsDraft(QueueScreen, inherit_bindings=False):
    """A queue that goes to a draft by its id."""

    def __init__(self) -> None:
        super().__init__()
        self._locating = Latest(self._locate)

    def show_draft(self, draft_id: str) -> None:
        """Put the cursor on a draft: where the list that is shown has it, else in its tab, with nothing narrowed."""
        at = self.queue.window.find(draft_id)
        if at is None:
            turns = self.turns
            self.app.ask(lambda desk: self._locating.settle((desk, draft_id, turns)), keys_wait=True)
        else:
            self.queue.cursor = at
            self.queue.focus()

    async def _locate(self, wish: "tuple[Desk, str, int]") -> None:
        from copydesk.model.window import Tab, View, belongs, number_in  # noqa: PLC0415 - not for the first paint
        from copydesk.tui.queue_reading import Reading  # noqa: PLC0415 - as above

        desk, draft_id, turns = wish
        draft = await desk.drafts.get(draft_id)
        here = Tab(self.tab)
        view = View(tab=here if belongs(here, draft) else next(tab for tab in Tab if belongs(tab, draft)))
        reading, newest = Reading(view, await desk.drafts.moment()), await desk.drafts.newest()
        await reading.read_zone(desk)
        around = await desk.drafts.around(view, _place(view.tab, draft), limit=PAGE)
        window = Window(number_in(view.tab, await desk.drafts.counts()))
        window.around(around.before, around.slice)
        self.post_message(Located(view, Left(window, window.find(draft_id) or 0, newest, reading), turns))

    @on(Located)
    def _show_located(self, message: Located) -> None:
        """Unless somebody went to another list meanwhile."""
        if message.turns != self.turns:
            return
        self._leave()
        self.tab, self._view, self._filling_since = message.view.tab.value, message.view, None
        self.query_one(TabsLine).show(self.tab)
        self._left.pop(self.tab, None)
        self._come_back(message.left)
        self.queue.focus()


def _place(tab: "Tab", draft: "ListedDraft") -> "Place":
    """Where a draft stands in a tab's order; its neighbours are found even where the score was rounded."""
    from copydesk.model.window import Order, Place, order_of  # noqa: PLC0415 - as above

    order = order_of(tab)
    if order is Order.BEST:
        return Place(draft.score.total if draft.score else None, draft.id)
    if order is Order.SOONEST:
        return Place(draft.scheduled_at.timestamp() * 1_000_000 if draft.scheduled_at else None, draft.id)
    return Place(None, draft.id)
