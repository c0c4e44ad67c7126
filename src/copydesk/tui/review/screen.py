"""The review screen: the queue, the draft under the cursor, and the source item that it was made from."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.tui import empty_states
from copydesk.tui.browser import is_link, open_or_show_link
from copydesk.tui.desk_screen import RunScreen
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.messages import ItemLoaded, JobFinished, RunChanged
from copydesk.tui.review.caching import lru_put
from copydesk.tui.review.draft_actions_screen import DraftActionsScreen
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.preview import PreviewMixin
from copydesk.tui.review.queue_header import TabsLine
from copydesk.tui.review.queue_screen import ShowDraftMixin
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.line_views import TooSmall
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.item import Item

_ITEM_CACHE_SIZE = 64


class ReviewScreen(ShowDraftMixin, PreviewMixin, DraftActionsScreen, RunScreen, inherit_bindings=False):
    """Three panes below the tabs, and the progress of the pipeline below them while it is watched."""

    NAME = "Review"
    WHERE = (KeyContext.LIST, KeyContext.REVIEW)
    BINDINGS = bindings(KeyContext.REVIEW)
    AUTO_FOCUS = "#queue"
    PANES = ("queue", "draft", "item")

    item_pane = getters.query_one("#item", Page)

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, Item] = {}
        self._item_loader = Coalescer(self._load_items)

    def body(self) -> Iterable[Widget]:
        """Yield the widgets; the search line and the run panel are mounted when first needed."""
        yield TabsLine()
        with Container(id="panes", classes="-queue"):
            yield DraftQueue(self.app.clock, id="queue")
            yield Page(id="draft")
            yield Page(id="item")

    def on_mount(self) -> None:
        self.queue.set_title("Queue")
        self.draft_pane.set_title("Draft")
        self.item_pane.set_title("Source")
        if self.app.desk is None and self.app.open_error is None:
            self.queue.show_note(empty_states.OPENING)

    @on(LineList.Moved)
    def _show_current(self) -> None:
        draft = self.queue.current
        # The cursor jumped to rows that are still loading; keep showing the old draft until they arrive.
        if self.queue.is_jumping:
            return
        self.queue.finish_jump()
        if draft is None:
            self.draft_pane.show(())
            self.item_pane.show(())
            return
        self.show_text(draft)
        if item := self._items.get(draft.item_id):
            lru_put(self._items, item.id, item, _ITEM_CACHE_SIZE)
            self._show_item(item)
        missing = [nearby for nearby in self.queue.current_and_next() if nearby.item_id not in self._items]
        if missing and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._item_loader.submit((desk, missing)))

    async def _load_items(self, request: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """Load the items of the current draft and then, in advance, of the one likely to be next."""
        desk, drafts = request
        for draft in drafts:
            if draft.item_id not in self._items:
                with self.suppress_prefetch_errors(draft):
                    item = await desk.drafts.item(draft.item_id)
                    lru_put(self._items, item.id, item, _ITEM_CACHE_SIZE)
                    self.post_message(ItemLoaded(item))

    @on(ItemLoaded)
    def _show_loaded_item(self, message: ItemLoaded) -> None:
        if self.queue.current and self.queue.current.item_id == message.item.id:
            self._show_item(message.item)

    def _show_item(self, item: "Item") -> None:
        from copydesk.tui.review.pages import item_page  # noqa: PLC0415 - not needed for the first paint

        self.item_pane.show(lambda: item_page(item, self.app.clock()))

    def show_pending(self) -> None:
        """Show pending changes on the rows, which were loaded before the changes were written."""
        # Not `self.review_actions`: the cached property would import the actions' code.
        if "review_actions" in vars(self):
            for draft_id, status in self.review_actions.pending.final_statuses.items():
                self.queue.fade([draft_id], status)

    def is_stale(self, draft: "ListedDraft") -> bool:
        """Return True if `draft` was loaded before it was changed here."""
        return "review_actions" in vars(self) and self.review_actions.is_outdated(draft)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane; a narrow screen shows that pane only."""
        if event.widget.id in self.PANES:
            self._show_pane(event.widget)

    def _show_pane(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        for pane in self.PANES:
            panes.set_class(pane == widget.id, f"-{pane}")
        self.show_keys(KeyContext.LIST if isinstance(widget, LineList) else KeyContext.PAGE, KeyContext.REVIEW)

    def action_pane(self, by: int) -> None:
        """Focus the next pane (`by` 1) or the previous one (-1)."""
        current = self.PANES.index(self.focused.id) if self.focused and self.focused.id in self.PANES else 0
        self._go_to(self.PANES[(current + by) % len(self.PANES)])

    def _go_to(self, pane: str) -> None:
        widget = self.query_one(f"#{pane}")
        # Make the pane visible first: a hidden widget cannot take the focus.
        self._show_pane(widget)
        self.focus_after_layout(widget)

    def on_line_list_opened(self) -> None:
        """Enter on a draft focuses its page."""
        self._go_to("draft")

    def action_step(self, by: int) -> None:
        """Move the cursor of the queue, whichever pane has the focus."""
        self.queue.action_move(by)

    def action_refresh(self) -> None:
        """Load the list again with what is new, or retry to open the desk."""
        if self.app.desk is None:
            self.queue.show_note(empty_states.OPENING)
            self.app.open()
        else:
            # Items may have been fetched again since they were cached.
            self._items.clear()
            self.reload()

    def go_back(self) -> bool:
        """Return to the queue if a narrow terminal hides it; return False if it is visible."""
        if self.queue.region or self.query_one(TooSmall).display:
            return False
        self._go_to("queue")
        return True

    def action_back(self) -> None:
        """Clear marks, search or filters, else close the run panel, else focus the queue."""
        if not self.clear_marks_or_filters() and not self.close_run_panel():
            self._go_to("queue")

    def action_open_link(self) -> None:
        """Open the source item in the browser."""
        draft = self.queue.current
        item = self._items.get(draft.item_id) if draft else None
        if item is None:
            return
        if not is_link(item.entry.url):
            self.app.notify("This item has no link to open.", severity="warning")
            return
        self.run_worker(open_or_show_link(self.app, item.entry.url or ""), exit_on_error=False)

    # New drafts are not inserted by themselves: the title counts them, so that no row moves under the cursor.

    def on_run_changed(self, message: RunChanged) -> None:
        """Check for new drafts when a run has ended.

        Textual calls the handlers of the base classes, too.
        """
        if message.view.finished_run is not None:
            self.refresh_data()

    def on_job_finished(self, _: JobFinished) -> None:
        if self.app.desk is not None:
            self.refresh_data()
