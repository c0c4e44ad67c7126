"""The keys with which drafts are decided on. What they do is imported with the first of them."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from textual import on

from copydesk.tui.asking import GONE
from copydesk.tui.chosen import Chosen, one
from copydesk.tui.messages import Decided, DeskOpened, Worked
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.tui.deciding.deciding import Deciding

READY_AFTER = 1.0
"""Seconds after which what the keys do is imported, pressed or not: the first of them is not to be felt."""


class Rows(Protocol):
    """The rows of the drafts, as far as those who act on them know them."""

    @property
    def current(self) -> "ListedDraft | None":
        """The draft under the cursor."""

    def fade(self, ids: Sequence[str], status: "Status") -> None:
        """These were acted on, and are in this state now: they stay, in grey, until the list is read again."""

    def unfade(self, ids: Sequence[str]) -> None:
        """They are as they were read."""

    def action_move(self, by: int) -> None:
        """So many rows down."""


class Decides(DeskScreen, inherit_bindings=False):
    """A screen with rows of drafts, in a widget with the id `queue`."""

    @cached_property
    def deciding(self) -> "Deciding":
        """What the keys do."""
        from copydesk.tui.deciding.deciding import Deciding  # noqa: PLC0415 - not for the first paint

        return Deciding(self)

    @property
    def rows(self) -> Rows:
        """The drafts that are shown."""
        return cast("Rows", self.query_one("#queue"))

    def chosen(self) -> Chosen | None:
        """What an action is for."""
        draft = self.rows.current
        return one(draft) if draft else None

    def go_to(self, draft_id: str) -> None:
        """Put the cursor on a draft, where its row is known."""
        queue = self.query_one(Queue)
        at = queue.window.find(draft_id)
        if at is not None:
            queue.cursor = at

    @on(DeskOpened)
    def _make_ready(self) -> None:
        self.set_timer(READY_AFTER, lambda: self.run_worker(self._get_ready(), exit_on_error=False))

    async def _get_ready(self) -> None:
        await asyncio.to_thread(import_module, "copydesk.tui.deciding.deciding")
        self.deciding.begin()

    @on(Decided)
    def _show_decided(self, message: Decided) -> None:
        self.deciding.show(message)
        if GONE in message.outcome.failed.values():
            self.read()

    @on(Worked)
    def _show_work(self, message: Worked) -> None:
        self.query_one(TopLine).show_work(message.words)

    def action_approve(self) -> None:
        """Let it be scheduled or posted."""
        self.deciding.approve()

    def action_reject(self) -> None:
        """Turn it down."""
        self.deciding.reject()

    def action_regenerate(self) -> None:
        """Let a new version be written."""
        self.deciding.regenerate()

    def action_archive(self) -> None:
        """Put it away."""
        self.deciding.archive()

    def action_undo(self) -> None:
        """Take back the last change."""
        self.deciding.undo()

    def action_redo(self) -> None:
        """Do it again."""
        self.deciding.redo()

    def action_schedule(self) -> None:
        """Give it the next free slot."""
        self.deciding.schedule()

    def action_schedule_at(self) -> None:
        """Give it a time."""
        self.deciding.schedule_at()

    def action_post(self) -> None:
        """Post it now."""
        self.deciding.post()

    def action_edit(self) -> None:
        """Edit its text here."""
        self.deciding.edit()

    def action_edit_outside(self) -> None:
        """Edit its text in the user's editor."""
        self.deciding.edit_outside()

    def action_difference(self) -> None:
        """Show what changed since the version before."""
        self.deciding.difference()

    def action_history(self) -> None:
        """Show what happened to it."""
        self.deciding.history()

    def action_copy_text(self) -> None:
        """Copy its text."""
        self.deciding.copy_text()

    def action_copy_link(self) -> None:
        """Copy the link of its source."""
        self.deciding.copy_link()
