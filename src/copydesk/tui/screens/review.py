"""The review: the queue, the draft under the cursor, and the item that it was made of."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.tui.browser import follow, is_link
from copydesk.tui.keeping import keep
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.messages import ItemRead, JobDone, RunChanged
from copydesk.tui.pages import note
from copydesk.tui.screens.deciding import Decides
from copydesk.tui.screens.review_preview import PreviewsDraft
from copydesk.tui.screens.review_showing import ShowsDraft
from copydesk.tui.screens.run_screen import RunScreen
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.tabs_line import TabsLine
from copydesk.tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.item import Item

_KEPT_ITEMS = 64


class ReviewScreen(ShowsDraft, PreviewsDraft, Decides, RunScreen, inherit_bindings=False):
    """Three panes below the tabs, and the pipeline's run below them while it is looked at."""

    NAME = "Review"
    WHERE = (Where.LIST, Where.REVIEW)
    BINDINGS = bindings(Where.REVIEW)
    AUTO_FOCUS = "#queue"
    PANES = ("queue", "draft", "item")

    item_pane = getters.query_one("#item", Page)

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, Item] = {}
        self._reading_items = Latest(self._read_items)

    def body(self) -> Iterable[Widget]:
        """Each widget is made once; the search's and the run's when there is the first."""
        yield TabsLine()
        with Container(id="panes", classes="-queue"):
            yield Queue(self.app.clock, id="queue")
            yield Page(id="draft")
            yield Page(id="item")

    def on_mount(self) -> None:
        """Show how far the desk is."""
        self.queue.set_title("Queue")
        self.draft_pane.set_title("Draft")
        self.item_pane.set_title("Source")
        if self.app.desk is None and self.app.trouble is None:
            self.queue.say(note.OPENING)

    # The draft under the cursor.

    @on(LineList.Moved)
    def _show_current(self) -> None:
        draft = self.queue.current
        if self.queue.is_jumping:
            return
        self.queue.land()
        if draft is None:
            self.draft_pane.show(())
            self.item_pane.show(())
            return
        self.show_text(draft)
        if item := self._items.get(draft.item_id):
            keep(self._items, item.id, item, _KEPT_ITEMS)
            self._show_item(item)
        unknown = [each for each in self.queue.looked_at() if each.item_id not in self._items]
        if unknown and self.app.desk is not None:
            self.app.ask(lambda desk: self._reading_items.wish((desk, unknown)))

    async def _read_items(self, wish: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """That of the draft under the cursor, then that of the next."""
        desk, drafts = wish
        for draft in drafts:
            if draft.item_id not in self._items:
                with self.ahead(draft):
                    item = await desk.drafts.item(draft.item_id)
                    keep(self._items, item.id, item, _KEPT_ITEMS)
                    self.post_message(ItemRead(item))

    @on(ItemRead)
    def _show_read(self, message: ItemRead) -> None:
        if self.queue.current and self.queue.current.item_id == message.item.id:
            self._show_item(message.item)

    def _show_item(self, item: "Item") -> None:
        from copydesk.tui.pages.item import item_page  # noqa: PLC0415 - what the first paint does not need waits

        self.item_pane.show(lambda: item_page(item, self.app.clock()))

    # What is being done.

    def show_begun(self) -> None:
        """Show on the rows what is being done to them."""
        if "deciding" in vars(self):
            for draft_id, status in self.deciding.begun.every.items():
                self.queue.fade([draft_id], status)

    def is_older(self, draft: "ListedDraft") -> bool:
        """Whether this was read before the draft was changed here."""
        return "deciding" in vars(self) and self.deciding.is_older(draft)

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus; a narrow screen shows only that."""
        if event.widget.id in self.PANES:
            self._select(event.widget)

    def _select(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        for pane in self.PANES:
            panes.set_class(pane == widget.id, f"-{pane}")
        self.show_keys(Where.LIST if isinstance(widget, LineList) else Where.PAGE, Where.REVIEW)

    def action_pane(self, by: int) -> None:
        """The next pane, or the one before."""
        here = self.PANES.index(self.focused.id) if self.focused and self.focused.id in self.PANES else 0
        self._go_to(self.PANES[(here + by) % len(self.PANES)])

    def _go_to(self, pane: str) -> None:
        widget = self.query_one(f"#{pane}")
        # Displayed first: what is hidden cannot take the focus.
        self._select(widget)
        self.focus_when_shown(widget)

    def on_line_list_opened(self) -> None:
        """Enter on a draft goes into it."""
        self._go_to("draft")

    def action_step(self, by: int) -> None:
        """Another draft, wherever the focus is."""
        self.queue.action_move(by)

    def action_refresh(self) -> None:
        """Show what is new, or try again to open the desk."""
        if self.app.desk is None:
            self.queue.say(note.OPENING)
            self.app.open()
        else:
            self._items.clear()
            self.read_anew()

    def go_back(self) -> bool:
        """Back from a text that takes the whole screen to the queue; False where the queue can be seen."""
        if self.queue.region or self.query_one(TooSmall).display:
            return False
        self._go_to("queue")
        return True

    def action_back(self) -> None:
        """Take away the marks, the search, the filters; leave the run to itself; then back to the queue."""
        if not self.unmark() and not self.leave_run():
            self._go_to("queue")

    # The link.

    def action_open_link(self) -> None:
        """Open the source item in the browser."""
        draft = self.queue.current
        item = self._items.get(draft.item_id) if draft else None
        if item is None:
            return
        if not is_link(item.entry.url):
            self.app.notify("This item has no link to open.", severity="warning")
            return
        self.run_worker(follow(self.app, item.entry.url or ""), exit_on_error=False)

    # What came by itself waits until it is asked for, unless there is nothing else.

    def on_run_changed(self, message: RunChanged) -> None:
        """Look what a run brought. Textual calls the handlers of the other classes, too."""
        if message.view.ended is not None:
            self.read()

    def on_job_done(self, _: JobDone) -> None:
        """Look what was done."""
        if self.app.desk is not None:
            self.read()
