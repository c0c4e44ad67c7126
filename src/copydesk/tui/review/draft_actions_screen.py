"""Base of the screens with actions on drafts. The actions' code is imported with the first of them."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from textual import on

from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.messages import ActionFinished, DeskOpened, WorkStatusChanged
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.selection import Selection, select_draft
from copydesk.tui.runtime.desk_tasks import DRAFT_DELETED_MESSAGE
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.tui.review.actions import ReviewActions

IMPORT_DELAY = 1.0
"""Seconds after opening the desk at which the actions are imported in advance: the first key must not lag."""


class DraftRows(Protocol):
    """The interface of a list of drafts that the actions work on."""

    @property
    def current(self) -> "ListedDraft | None": ...

    def fade(self, ids: Sequence[str], status: "Status") -> None:
        """Show these drafts greyed out, with the status they are about to get, until the list is loaded again."""

    def unfade(self, ids: Sequence[str]) -> None:
        """Show these drafts as they were loaded."""

    def action_move(self, by: int) -> None:
        """Move the cursor `by` rows down, or up if negative."""


class DraftActionsScreen(DeskScreen, inherit_bindings=False):
    """A screen with rows of drafts, in a widget with the id `queue`."""

    @cached_property
    def review_actions(self) -> "ReviewActions":
        """Create the actions on first use."""
        from copydesk.tui.review.actions import ReviewActions  # noqa: PLC0415 - not needed for the first paint

        return ReviewActions(self)

    @property
    def rows(self) -> DraftRows:
        return cast("DraftRows", self.query_one("#queue"))

    def draft_selection(self) -> Selection | None:
        """Return the drafts that an action applies to, or None if there is none."""
        draft = self.rows.current
        return select_draft(draft) if draft else None

    def move_cursor_to(self, draft_id: str) -> None:
        """Move the cursor to a draft, if its row is loaded."""
        queue = self.query_one(DraftQueue)
        index = queue.window.find_index(draft_id)
        if index is not None:
            queue.cursor = index

    @on(DeskOpened)
    def _schedule_import(self) -> None:
        self.set_timer(IMPORT_DELAY, lambda: self.run_worker(self._import_actions(), exit_on_error=False))

    async def _import_actions(self) -> None:
        # In a thread: the import takes long enough to delay a key press.
        await asyncio.to_thread(import_module, "copydesk.tui.review.actions")
        self.review_actions.load()

    @on(ActionFinished)
    def _show_outcome(self, message: ActionFinished) -> None:
        self.review_actions.show_result(message)
        # A draft was deleted elsewhere, so the list on the screen is out of date.
        if DRAFT_DELETED_MESSAGE in message.outcome.failed.values():
            self.refresh_data()

    @on(WorkStatusChanged)
    def _show_work(self, message: WorkStatusChanged) -> None:
        self.query_one(TopLine).show_work(message.text)

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

    def action_undo(self) -> None:
        """Undo the last change."""
        self.review_actions.undo()

    def action_redo(self) -> None:
        """Redo the change undone last."""
        self.review_actions.redo()

    def action_schedule(self) -> None:
        """Schedule for the next free slot."""
        self.review_actions.schedule()

    def action_schedule_at(self) -> None:
        """Prompt for a time to schedule for."""
        self.review_actions.schedule_at()

    def action_post(self) -> None:
        """Post now, after a confirmation."""
        self.review_actions.post()

    def action_edit(self) -> None:
        """Edit the text in the console."""
        self.review_actions.edit()

    def action_edit_outside(self) -> None:
        """Edit the text in the user's editor."""
        self.review_actions.edit_outside()

    def action_difference(self) -> None:
        """Show the diff against the previous version."""
        self.review_actions.diff()

    def action_history(self) -> None:
        """Show the draft's history."""
        self.review_actions.history()

    def action_copy_text(self) -> None:
        self.review_actions.copy_text()

    def action_copy_link(self) -> None:
        """Copy the link of the source item."""
        self.review_actions.copy_link()
