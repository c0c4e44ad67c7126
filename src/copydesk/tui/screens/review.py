"""The review: the queue, the draft under the cursor, and the item that it was made of."""

from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.tui.browser import browse, is_link
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.messages import DeskClosed, DeskOpened, Glanced, ItemRead, JobDone, NewCounted, QueueRead, RunChanged
from copydesk.tui.pages import note
from copydesk.tui.screens.deciding import Decides
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.key_line import KeyLine
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.too_small import TooSmall
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.item import Item
    from copydesk.model.run import Run
    from copydesk.tui.widgets.run_panel import RunPanel

SHOWN = 200
"""Drafts that the queue holds at once."""
_KEPT_ITEMS = 64


class ReviewScreen(Decides, inherit_bindings=False):
    """Three panes, and the pipeline's run below them while it is looked at."""

    COMPONENT_CLASSES = set(INK)
    BINDINGS = bindings(Where.REVIEW)
    AUTO_FOCUS = "#queue"
    HORIZONTAL_BREAKPOINTS = [
        (0, "-tiny"),
        (40, "-narrow"),
        (100, "-medium"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall")]
    PANES = ("queue", "draft", "item")

    app = getters.app(DeskApp)
    queue = getters.query_one("#queue", Queue)
    draft_pane = getters.query_one("#draft", Page)
    item_pane = getters.query_one("#item", Page)

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, Item] = {}
        self._run_panel: RunPanel | None = None
        self._reading = Latest(self._read_item)
        self._total = 0
        self._watching = False

    def compose(self) -> ComposeResult:
        """Each widget is made once; the run's when there is the first."""
        yield TopLine(self.app.desk_name, "Review")
        with Container(id="panes", classes="-queue"):
            yield Queue(self.app.clock, id="queue")
            yield Page(id="draft")
            yield Page(id="item")
        yield KeyLine((Where.LIST, Where.REVIEW, Where.CONSOLE))
        yield TooSmall()

    def on_mount(self) -> None:
        """Show how far the desk is."""
        self.queue.set_title("Queue")
        self.draft_pane.set_title("Draft")
        self.item_pane.set_title("Source")
        if self.app.desk is not None:
            self._read()
        elif self.app.trouble is not None:
            self.queue.say(note.trouble(self.app.trouble.message, self.app.trouble.hint))
        else:
            self.queue.say(note.OPENING)

    # The desk.

    def on_glanced(self, message: Glanced) -> None:
        """The first rows: what the desk will say, too."""
        self.queue.show(message.drafts)
        self.call_after_refresh(message.shown)

    def on_desk_opened(self, _: DeskOpened) -> None:
        """Read what there is to review."""
        self._read()

    def on_desk_closed(self, message: DeskClosed) -> None:
        """Say why there is nothing."""
        self.queue.say(note.trouble(message.error.message, message.error.hint))

    def _read(self) -> None:
        self.app.ask(self._read_queue)

    async def _read_queue(self, desk: "Desk") -> None:
        drafts = await desk.drafts.queue(SHOWN)
        total = await desk.drafts.count_to_review() if len(drafts) >= SHOWN else len(drafts)
        sources = bool(drafts) or bool(await desk.sources.list())
        self.post_message(QueueRead(drafts, total, sources=sources))

    @on(QueueRead)
    def _fill(self, message: QueueRead) -> None:
        """The cursor stays on its draft, or on its line where that is gone."""
        self._total = message.total
        self._title()
        if not message.drafts:
            self.queue.say(note.EMPTY if message.sources else note.NO_SOURCES)
            return
        current = self.queue.current
        places = {draft.id: at for at, draft in enumerate(message.drafts)}
        self.queue.show(message.drafts, places.get(current.id, self.queue.cursor) if current else 0)

    def _title(self, new: int = 0) -> None:
        shown = min(self._total, SHOWN)
        count = f" · {shown}" if shown == self._total else f" · {shown} of {self._total}"
        self.queue.set_title("Queue" + count * bool(self._total) + f" · {new} new, press ." * bool(new))

    # The draft under the cursor.

    @on(LineList.Moved)
    def _show_current(self) -> None:
        draft = self.queue.current
        if draft is None:
            self.draft_pane.show(())
            self.item_pane.show(())
            return
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - what the first paint does not need waits

        self.draft_pane.show(draft_page(draft, self.app.clock()))
        if draft.item_id in self._items:
            self._show_item(self._items[draft.item_id])
        elif self.app.desk is not None:
            self.app.ask(lambda desk: self._reading.wish((desk, draft.item_id)))

    async def _read_item(self, wish: "tuple[Desk, str]") -> None:
        desk, item_id = wish
        self.post_message(ItemRead(await desk.drafts.item(item_id)))

    @on(ItemRead)
    def _keep_item(self, message: ItemRead) -> None:
        if len(self._items) >= _KEPT_ITEMS:
            self._items.clear()
        self._items[message.item.id] = message.item
        if self.queue.current and self.queue.current.item_id == message.item.id:
            self._show_item(message.item)

    def _show_item(self, item: "Item") -> None:
        from copydesk.tui.pages.item import item_page  # noqa: PLC0415 - as above

        self.item_pane.show(item_page(item, self.app.clock()))

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus; a narrow screen shows only that."""
        self._select(event.widget)

    def _select(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        for pane in self.PANES:
            panes.set_class(pane == widget.id, f"-{pane}")
        first = Where.LIST if isinstance(widget, LineList) else Where.PAGE
        self.query_one(KeyLine).show((first, Where.REVIEW, Where.CONSOLE))

    def action_pane(self, by: int) -> None:
        """The next pane, or the one before."""
        here = self.PANES.index(self.focused.id) if self.focused and self.focused.id in self.PANES else 0
        self._go_to(self.PANES[(here + by) % len(self.PANES)])

    def _go_to(self, pane: str) -> None:
        widget = self.query_one(f"#{pane}")
        # Displayed first: what is hidden cannot take the focus.
        self._select(widget)
        self.call_after_refresh(widget.focus)

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
            self._read()

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
        self.run_worker(self._browse(item.entry.url or ""), exit_on_error=False)

    async def _browse(self, url: str) -> None:
        if not await browse(url):
            self.app.notify(f"There is no browser to open {url}", severity="warning")

    # The run.

    def action_run_pipeline(self) -> None:
        """Run the pipeline, or show again how the run gets on."""
        self._watching = True
        view = self.app.run_view
        if view is not None and view.under_way:
            self.run_panel().display = True
        else:
            self.app.start_run()

    def run_panel(self) -> "RunPanel":
        """The run's panel, which is made for the first run."""
        if self._run_panel is None:
            from copydesk.tui.widgets.run_panel import RunPanel  # noqa: PLC0415 - as above

            self._run_panel = RunPanel(id="run")
            self.mount(self._run_panel, after="#panes")
        return self._run_panel

    def action_cancel_run(self) -> None:
        """Cancel the run."""
        self.app.cancel_run()

    def go_back(self) -> bool:
        """Back from a text that takes the whole screen to the queue; False where the queue can be seen."""
        if self.queue.region or self.query_one(TooSmall).display:
            return False
        self._go_to("queue")
        return True

    def action_back(self) -> None:
        """Leave the run to itself; then back to the queue."""
        if self._run_panel is not None and self._run_panel.display:
            self._watching = False
            self._run_panel.display = False
        else:
            self._go_to("queue")

    def on_run_changed(self, message: RunChanged) -> None:
        """Show how the run gets on; what it brought waits until it is asked for, unless there is nothing else."""
        view = message.view
        panel = self.run_panel()
        panel.show(view)
        panel.display = self._watching
        self.query_one(TopLine).show_run(view)
        if view.ended is not None:
            self._after(view.ended)

    def on_job_done(self, _: JobDone) -> None:
        """What came by itself waits as well."""
        self._count_anew()

    def _after(self, run: "Run") -> None:
        if not self._watching:
            self.app.say_ended(run)
        self._count_anew()

    def _count_anew(self) -> None:
        if self.queue.rows:
            self.app.ask(self._count)
        else:
            self._read()

    async def _count(self, desk: "Desk") -> None:
        self.post_message(NewCounted(await desk.drafts.count_to_review()))

    @on(NewCounted)
    def _say_new(self, message: NewCounted) -> None:
        self._title(new=max(message.total - self._total, 0))
