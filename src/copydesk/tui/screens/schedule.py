"""The schedule screen: the week with its slots and drafts, and the actions on them."""

from datetime import datetime
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.model.draft import Status
from copydesk.model.schedule import NO_SLOTS_REASON, AutoSchedule
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.modals.schedule import PickDraftDialog, PlanDialog
from copydesk.tui.naming import key_label
from copydesk.tui.screens.week_changes import WeekEditing
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.week import reschedule_draft
from copydesk.tui.week_clock import grid_position, shift_time
from copydesk.tui.widgets.week_grid import WeekGrid
from copydesk.tui.words import STATUS, plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.schedule import WeekDraft

MAX_APPROVED = 100
"""Approved drafts offered for a slot."""
# Drafts that are being posted or were posted keep their time.
_MOVABLE = frozenset({Status.SCHEDULED, Status.MISSED})


class PlanReady(Message, bubble=False):
    """The automatic schedule was computed."""

    def __init__(self, plan: AutoSchedule) -> None:
        super().__init__()
        self.plan = plan


class ApprovedLoaded(Message, bubble=False):
    """The approved drafts that can be scheduled for `at` were loaded."""

    def __init__(self, drafts: "list[ListedDraft]", at: datetime, time_label: str) -> None:
        super().__init__()
        self.drafts = drafts
        self.at = at
        self.time_label = time_label


class ScheduleScreen(WeekEditing):
    """Moves and schedules drafts, creates and deletes slots. Changes apply at once and can be undone with `u`."""

    NAME = "Schedule"
    WHERE = (KeyContext.SCHEDULE,)
    CSS_PATH = stylesheet_path("schedule.tcss")
    BINDINGS = bindings(KeyContext.SCHEDULE)

    def _movable_draft(self, verb: str) -> "WeekDraft | None":
        """Return the draft under the cursor if it can be rescheduled; otherwise notify why not and return None.

        `verb` completes the sentence "There is no draft here to …".
        """
        draft = self.grid.entry.draft if self.grid.entry else None
        if draft is None:
            self.app.notify_latest(f"There is no draft here to {verb}.")
        elif draft.status not in _MOVABLE:
            self.app.notify_latest(f"This draft is {STATUS[draft.status].text}: its time stays.")
        else:
            return draft
        return None

    def action_shift(self, days: int, hours: int) -> None:
        """Move the draft under the cursor by days and hours; the cursor follows it."""
        draft = self._movable_draft("move")
        if draft is None or self.week is None:
            return
        at = shift_time(draft.at, self.zone, days=days, hours=hours)
        if at <= self.now():
            self.app.notify_latest("That is in the past: the draft stays.")
            return

        async def reschedule(desk: "Desk") -> None:
            await desk.drafts.reschedule(draft.id, at)
            self.undo_stack.record((draft.id,))

        self.enqueue_write(reschedule, keys_wait=False)
        # Show the new time at once; the write is queued, and the week is loaded again when the queue is empty.
        self.week = reschedule_draft(self.week, draft.id, at)
        self.show(grid_position(at, self.zone), draft.id)

    def action_cancel(self) -> None:
        """Unschedule the draft under the cursor."""
        draft = self._movable_draft("take from its time")
        if draft is None:
            return

        async def cancel(desk: "Desk") -> None:
            await desk.drafts.cancel_schedule(draft.id)
            self.undo_stack.record((draft.id,))
            self.app.notify_latest(f"The draft is approved again, without a time · {key_label('schedule.undo')} undo")

        self.enqueue_write(cancel)

    @on(WeekGrid.Opened)
    def action_open(self) -> None:
        """Show the draft under the cursor on the review screen."""
        draft = self.grid.entry.draft if self.grid.entry else None
        if draft is None:
            self.app.notify_latest("There is no draft here to open.")
            return

        self.app.show_draft(draft.id)

    def action_fill(self) -> None:
        """Choose an approved draft for the time under the cursor."""
        at = self._time_under_cursor()
        if at is None:
            return

        async def offer(desk: "Desk") -> None:
            page = await desk.drafts.list(limit=MAX_APPROVED, status=Status.APPROVED, archived="exclude")
            (time_label,) = await desk.schedule.format_times(at)
            # Best first: by confidence, then the oldest.
            best = sorted(page.items, key=lambda draft: (-draft.confidence, draft.created_at))
            self.post_message(ApprovedLoaded(best, at, time_label))

        self.app.run_desk_task(offer, opens_screen=True)

    def _time_under_cursor(self) -> datetime | None:
        """Return the time of the selected or else the first free slot, or the start of the hour.

        Notify and return None if the hour does not exist on that day or has passed.
        """
        cell = self.grid.cell
        if cell is None:
            return None
        if cell.span is None:
            self.app.notify_latest("This hour does not exist on that day.")
            return None
        # The selected entry comes first: a selected slot wins over an earlier one.
        free = [entry for entry in (self.grid.entry, *cell.entries) if entry and entry.draft is None]
        at = free[0].at if free else cell.span.start
        if at <= self.now():
            self.app.notify_latest("That time has passed.")
            return None
        return at

    @on(ApprovedLoaded)
    def _open_pick_dialog(self, message: ApprovedLoaded) -> None:
        if not message.drafts:
            self.app.notify_latest("No approved draft waits for a time.")
            return

        def schedule(draft_id: str | None) -> None:
            if draft_id is not None:
                self._schedule(draft_id, message.at, message.time_label)

        limit_note = f" · the newest {MAX_APPROVED}" if len(message.drafts) == MAX_APPROVED else ""
        title = f"{message.time_label} · {key_label('list.open')} schedules{limit_note}"
        self.app.push_if_current(self, PickDraftDialog(message.drafts, title, self.now()), schedule)

    def _schedule(self, draft_id: str, at: datetime, time_label: str) -> None:
        async def schedule(desk: "Desk") -> None:
            await desk.drafts.schedule(draft_id, at)
            self.undo_stack.record((draft_id,))
            self.app.notify_latest(f"Scheduled for {time_label} · {key_label('schedule.undo')} undo")

        self.enqueue_write(schedule)

    def action_auto(self) -> None:
        """Compute the automatic schedule and show it for confirmation."""

        async def plan(desk: "Desk") -> None:
            self.post_message(PlanReady(await desk.schedule.auto_schedule(dry_run=True)))

        self.app.run_desk_task(plan, opens_screen=True)

    @on(PlanReady)
    def _open_plan_dialog(self, message: PlanReady) -> None:
        plan = message.plan
        if not plan.scheduled:
            reason = f": {plan.reason}" if plan.reason else ""
            left_out = plural(plan.skipped, "approved draft")
            advice = f" {key_label('schedule.new_slot')} makes one." if plan.reason == NO_SLOTS_REASON else ""
            self.app.notify_latest(
                f"{left_out} left out{reason}.{advice}" if plan.skipped else "No approved draft waits for a time."
            )
            return

        def apply(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self.enqueue_write(lambda desk: self._apply_plan(desk, plan))

        self.app.push_if_current(self, PlanDialog(plan, self.zone, self.now()), apply)

    async def _apply_plan(self, desk: "Desk", plan: AutoSchedule) -> None:
        """Schedule the drafts of the plan; notify what came out differently from the plan."""
        result = await desk.schedule.auto_schedule([placed.draft_id for placed in plan.scheduled])
        self.undo_stack.record(tuple(placed.draft_id for placed in result.scheduled))
        # Slots may have been taken, or drafts changed, while the plan was on the screen.
        planned = {(placed.draft_id, placed.scheduled_at) for placed in plan.scheduled}
        changed = sum((placed.draft_id, placed.scheduled_at) not in planned for placed in result.scheduled)
        parts = [f"{plural(len(result.scheduled), 'draft')} scheduled"]
        parts += [f"{changed} for another time than was shown"] * bool(changed)
        parts += [f"{result.skipped} not: {result.reason}"] * bool(result.skipped)
        self.app.notify_latest(f"{', '.join(parts)} · {key_label('schedule.undo')} undo")
