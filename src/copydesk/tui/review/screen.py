"""The review screen: the queue, the draft under the cursor, and the source item that it was made from."""

import asyncio
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui import empty_states, labels
from copydesk.tui.browser import is_link, open_or_show_link
from copydesk.tui.desk_screen import RunScreen
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.messages import DeskOpened, FirstPageLoaded, JobFinished, RunChanged
from copydesk.tui.review.draft_queue import TWO_LINE_WIDTH, DraftQueue
from copydesk.tui.review.local_changes import LocalChanges
from copydesk.tui.review.preview_pane import ItemPane, PreviewPane
from copydesk.tui.review.queue_header import QueueHeader, SearchLine, TabsLine
from copydesk.tui.review.queue_pane import QueuePane
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import TooSmall, set_title

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.tui.review.actions import ReviewActions

PRELOAD_DELAY = 1.0
"""Seconds after opening the desk at which the actions are imported and the search line is mounted.

Neither the first key nor the first letter of a search must lag.
"""


PAGE_TITLES = {"draft": labels.DRAFT_TITLE, "item": labels.ITEM_TITLE}
"""The titles of the pages beside the queue."""


class ReviewScreen(RunScreen, inherit_bindings=False):
    """Three panes below the tabs, and the progress of the pipeline below them while it is watched."""

    NAME = "Review"
    WHERE = (KeyContext.LIST, KeyContext.REVIEW)
    BINDINGS = bindings(KeyContext.REVIEW)
    AUTO_FOCUS = "#queue"
    PANES = ("queue", "draft", "item")
    """The widgets that take the focus, in order."""

    header = getters.query_one(QueueHeader)
    queue_pane = getters.query_one(QueuePane)
    preview_pane = getters.query_one(PreviewPane)
    item_pane = getters.query_one(ItemPane)
    queue = getters.query_one("#queue", DraftQueue)

    def __init__(self) -> None:
        super().__init__()
        self.changes = LocalChanges()
        self._acting_on: tuple[Status, bool] | None = None
        """Status of the draft that keys act on, and True if it is archived; None for marked drafts, or none."""
        self._has_no_draft = False
        """True if the list is known to be empty."""
        self._followed: ListedDraft | None = None
        """The draft that was shown when the cursor moved to it, until the message of that arrives."""

    @cached_property
    def review_actions(self) -> "ReviewActions":
        """The actions on drafts; their code is imported on first use."""
        from copydesk.tui.review.actions import ReviewActions  # noqa: PLC0415 - not needed for the first paint

        return ReviewActions(self, self.queue_pane, self.preview_pane, self.changes)

    def body(self) -> Iterable[Widget]:
        """Yield the widgets; the search line and the run panel are mounted when first needed."""
        header = QueueHeader()
        yield header
        with Container(id="panes", classes="-queue"):
            yield QueuePane(header, self.changes)
            yield PreviewPane()
            yield ItemPane()

    def on_mount(self) -> None:
        if self.app.desk is None and self.app.open_error is None:
            self.queue.show_note(empty_states.opening(self.app.opening_text))
        # Not only with the message, which arrives a frame later.
        self.watch(self.queue, "cursor", self._follow_cursor, init=False)

    # Data.

    def on_first_page_loaded(self, message: FirstPageLoaded) -> None:
        """Show the first rows, read from the database before the desk is open."""
        self.queue_pane.show_first_page(message.drafts)
        # Called back only once the rows have been painted.
        self.call_after_refresh(message.on_displayed)

    @on(DeskOpened)
    def _schedule_preloading(self) -> None:
        self.set_timer(PRELOAD_DELAY, self.header.mount_search)
        self.set_timer(PRELOAD_DELAY, lambda: self.run_worker(self._preload_actions(), exit_on_error=False))

    async def _preload_actions(self) -> None:
        # In a thread: the import takes long enough to delay a key press.
        await asyncio.to_thread(import_module, "copydesk.tui.review.actions")
        self.review_actions.load()

    def refresh_data(self) -> None:
        """Refresh the queue, and load the previews again, which may be older than the change."""
        self.preview_pane.clear_cache()
        self.queue_pane.refresh_rows()
        if self.is_loaded:
            self.preview_pane.load_previews(self.queue.current_and_next())

    def show_error(self, error: CopydeskError) -> None:
        self.queue_pane.show_error(error)

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

    def selected_draft_id(self) -> str | None:
        """Return the id of the draft under the cursor."""
        return self.queue.current.id if self.queue.current is not None else None

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing to the draft under the cursor; of marked drafts each may differ."""
        if (reason := super().refusal(key_id)) or (self._acting_on is None and not self._has_no_draft):
            return reason
        from copydesk.tui.review.refusals import NEED_DRAFT, refusal  # noqa: PLC0415 - not needed for the first paint

        if self._acting_on is None:
            return labels.NO_DRAFT if key_id in NEED_DRAFT else ""
        if key_id == "review.approve" and self.preview_pane.lacks_own_approval:
            return ""
        status, archived = self._acting_on
        return refusal(key_id, status, archived=archived)

    def _update_key_line(self) -> None:
        """Dim the keys that do nothing to the draft under the cursor."""
        draft = self.queue.current
        state = (draft.status, draft.archived_at is not None) if draft and not self.queue.marked_count else None
        has_no_draft = self.queue_pane.is_empty
        if (state, has_no_draft) != (self._acting_on, self._has_no_draft):
            self._acting_on, self._has_no_draft = state, has_no_draft
            self.update_keys()

    def show_draft(self, draft_id: str) -> None:
        """Move the cursor to a draft, in its tab if the displayed list does not hold it."""
        self.queue.focus()
        self.queue_pane.show_draft(draft_id)

    # Panes.

    def _follow_cursor(self) -> None:
        """Show the draft under the cursor in the same frame as its row."""
        self._show_current()
        self._followed = self.queue.current

    @on(QueuePane.Moved)
    def _load_current(self) -> None:
        """Load what the panes show of the current draft and, in advance, of the one that is likely to be next."""
        followed, self._followed = self._followed, None
        if followed is None or followed is not self.queue.current:
            self._show_current()
        drafts = self.queue.current_and_next() if self.queue.current is not None else []
        self.preview_pane.load_previews(drafts)
        self.item_pane.load_items(drafts)

    def _show_current(self) -> None:
        # The cursor jumped to rows that are still loading; keep showing the old draft until they arrive.
        if self.queue.is_jumping:
            return
        self.queue.finish_jump()
        self._update_key_line()
        draft = self.queue.current
        if draft is None:
            self.preview_pane.clear()
            self.item_pane.clear()
        else:
            self.changes.record_display(draft.id)
            self.preview_pane.show(draft)
            self.item_pane.show(draft)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane; a narrow screen shows that pane only."""
        if event.widget.id in self.PANES:
            self._show_pane(event.widget)
            if isinstance(event.widget, DraftQueue) and self.is_loaded and self.has_class("-narrow"):
                # Rows are refreshed while they are visible, and may be out of date after another pane.
                self.queue_pane.refresh_rows()
        elif isinstance(event.widget.parent, SearchLine):
            self.show_keys(KeyContext.SEARCH, KeyContext.REVIEW)

    def _show_pane(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        for pane in self.PANES:
            panes.set_class(pane == widget.id, f"-{pane}")
        self.show_keys(KeyContext.LIST if isinstance(widget, LineList) else KeyContext.PAGE, KeyContext.REVIEW)

    def on_resize(self) -> None:
        """Fit the titles of the pages to the width."""
        self._title_pages()

    @on(QueuePane.Progressed)
    def _title_pages(self) -> None:
        """Name the queue's progress, and the keys that move to another draft, where a page hides the queue."""
        is_beside_queue = self.size.width >= TWO_LINE_WIDTH
        for pane, title in PAGE_TITLES.items():
            full = title if is_beside_queue else labels.page_title(title, self.queue_pane.progress)
            set_title(self.query_one(f"#{pane}"), full)

    def action_pane(self, by: int) -> None:
        """Focus the next pane (`by` 1) or the previous one (-1)."""
        current = self.PANES.index(self.focused.id) if self.focused and self.focused.id in self.PANES else 0
        self._go_to(self.PANES[(current + by) % len(self.PANES)])

    def action_full_screen(self) -> None:
        """Show only the focused pane, or all panes again."""
        self.query_one("#panes").toggle_class("-full")

    def _go_to(self, pane: str) -> None:
        widget = self.query_one(f"#{pane}")
        # Make the pane visible first: a hidden widget cannot take the focus.
        self._show_pane(widget)
        self.focus_after_layout(widget)

    def on_line_list_opened(self) -> None:
        """Enter on a draft focuses its page."""
        self._go_to("draft")

    @property
    def can_go_back(self) -> bool:
        return not self.queue.region and not self.query_one(TooSmall).display

    def go_back(self) -> bool:
        """Return to the queue if a narrow terminal hides it; return False if not."""
        if not self.can_go_back:
            return False
        self._go_to("queue")
        return True

    def action_back(self) -> None:
        """Clear marks, search or filters, else close the run panel, else focus the queue."""
        if self.queue_pane.clear_marks_or_filters() or self.close_run_panel():
            return
        self.query_one("#panes").remove_class("-full")
        self._go_to("queue")

    # The list.

    def action_step(self, by: int) -> None:
        """Move the cursor of the queue, whichever pane has the focus."""
        self.queue.action_move(by)

    def action_refresh(self) -> None:
        """Load the list again with what is new, or retry to open the desk."""
        if self.app.desk is None:
            self.queue.show_note(empty_states.opening(self.app.opening_text))
            self.app.open()
        else:
            self.item_pane.clear_cache()
            self.queue_pane.refresh_with_new()

    def action_tab(self, by: int) -> None:
        """Show the next tab (`by` 1) or the previous one (-1)."""
        names = self.app.preferences.tabs.keys
        if self.app.needs_user and not 0 <= names.index(self.queue_pane.tab) + by < len(names):
            self._show_needs_you()
        else:
            self.queue_pane.show_next_tab(by)

    def _show_needs_you(self) -> None:
        self.app.switch_mode(labels.NEEDS_YOU_TAB)

    @on(TabsLine.Clicked)
    def _show_clicked_tab(self, message: TabsLine.Clicked) -> None:
        if message.tab == labels.NEEDS_YOU_TAB:
            self._show_needs_you()
        else:
            self.queue_pane.show_tab(message.tab)

    def action_order(self) -> None:
        """Sort the list in the next order."""
        self.queue_pane.show_next_order()

    def action_filter(self) -> None:
        """Open the filter dialog."""
        self.queue_pane.open_filter()

    async def action_search(self) -> None:
        """Open the search line of this tab."""
        if self.app.desk is not None:
            await self.header.open_search()

    @on(SearchLine.Changed)
    def _search(self, message: SearchLine.Changed) -> None:
        """Search while typing; skip a query that has been edited since the message was sent."""
        if message.query == self.header.query_text:
            self.queue_pane.search_for(message.query.strip())

    @on(SearchLine.Entered)
    def _show_results(self) -> None:
        """Focus the results; Enter on an empty line closes the search."""
        if not self.header.query_text.strip():
            self.header.close_search()
        self.queue.focus()

    @on(SearchLine.Left)
    def _leave_search(self) -> None:
        self.queue_pane.clear_search()

    @on(QueuePane.Marked)
    def _on_marked(self) -> None:
        self._update_key_line()

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

    # The selected drafts.

    def action_approve(self) -> None:
        """Approve, so that it can be scheduled or posted."""
        self.review_actions.approve()

    def action_reject(self) -> None:
        self.review_actions.reject()

    def action_regenerate(self) -> None:
        """Request a new version of the text."""
        self.review_actions.regenerate()

    def action_archive(self) -> None:
        self.review_actions.archive()

    def action_restore(self) -> None:
        """Restore from the archive."""
        self.review_actions.runner.restore()

    def action_undo(self) -> None:
        """Undo the last change."""
        self.review_actions.undo()

    def action_redo(self) -> None:
        """Redo the change undone last."""
        self.review_actions.redo()

    def action_schedule(self) -> None:
        """Schedule for the next free slot."""
        self.review_actions.publishing.schedule()

    def action_schedule_at(self) -> None:
        """Prompt for a time to schedule for."""
        self.review_actions.publishing.schedule_at()

    def action_cancel_schedule(self) -> None:
        """Take the time of a scheduled draft away."""
        self.review_actions.publishing.cancel_schedule()

    def action_unapprove(self) -> None:
        """Return an approved draft to review."""
        self.review_actions.unapprove()

    def action_post(self) -> None:
        """Post now, after a confirmation."""
        self.review_actions.publishing.post()

    def action_mark_posted(self) -> None:
        """Mark a delivery of unknown outcome as posted."""
        self.review_actions.publishing.mark_posted()

    def action_edit(self) -> None:
        """Edit the text in the console."""
        self.review_actions.editing.edit()

    def action_edit_outside(self) -> None:
        """Edit the text in the user's editor."""
        self.review_actions.editing.edit_outside()

    def action_difference(self) -> None:
        """Show the diff against the previous version."""
        self.review_actions.inspecting.diff()

    def action_history(self) -> None:
        """Show the draft's history."""
        self.review_actions.inspecting.history()

    def action_comments(self) -> None:
        """Show the comments on the draft, and what other reviewers typed and did not save."""
        self.review_actions.comment()

    def action_decision_stats(self) -> None:
        """Show how fast the user decides."""
        self.review_actions.inspecting.decision_stats()

    def action_prompt(self) -> None:
        """Show what a language model was asked for the draft."""
        self.review_actions.inspecting.prompt()

    def action_merge_stories(self) -> None:
        """Merge the stories of the marked drafts."""
        self.review_actions.stories.merge()

    def action_split_story(self) -> None:
        """Make the item of the draft a story of its own."""
        self.review_actions.stories.split()

    def action_attach_image(self) -> None:
        """Attach the proposed image of the draft, or remove it again."""
        self.review_actions.attach_image()

    def action_why(self) -> None:
        """Ask for an address, and explain why that item has no draft."""
        self.review_actions.inspecting.why()

    def action_make_rule(self) -> None:
        """Make a rule of the reason for which the draft was rejected."""
        self.review_actions.rules.make_rule()

    def action_copy_text(self) -> None:
        self.review_actions.inspecting.copy_text()

    def action_copy_link(self) -> None:
        """Copy the link of the source item."""
        self.review_actions.inspecting.copy_link()

    def action_open_link(self) -> None:
        """Open the source item in the browser."""
        if self.queue_pane.current_or_notify() is None or (item := self.item_pane.item) is None:
            return
        if not is_link(item.entry.url):
            self.app.notify(labels.ITEM_WITHOUT_LINK, severity="warning")
            return
        self.run_worker(open_or_show_link(self.app, item.entry.url or ""), exit_on_error=False)
