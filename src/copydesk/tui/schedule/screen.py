"""The schedule screen: the week with its slots and drafts, and the actions on them.

`WeekEditing` edits slots, time zone and clock, with undo; `ScheduleScreen` adds the actions on drafts.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.draft import Status
from copydesk.model.schedule import NO_SLOTS_REASON, AutoSchedule, Slot
from copydesk.text.formatting import plural
from copydesk.tui.dialogs.prompt import PromptDialog
from copydesk.tui.dialogs.zone_prompt import prompt_time_zone
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.labels import STATUS
from copydesk.tui.schedule.dialogs import PickDraftDialog, PlanDialog
from copydesk.tui.schedule.slot_input import parse_slots
from copydesk.tui.schedule.week_clock import GridPosition, grid_position, shift_time
from copydesk.tui.schedule.week_grid import WeekGrid
from copydesk.tui.schedule.week_layout import CalendarEntry, reschedule_draft
from copydesk.tui.schedule.week_lines import format_slot
from copydesk.tui.schedule.week_screen import WeekScreen
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.undo_stack import UndoStack, UndoStep

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.schedule import WeekDraft


_SLOT_EXAMPLES = "weekdays 9:30 · daily 9 · mon,wed 9:30"
Work = Callable[["Desk"], Awaitable[None]]
MAX_APPROVED = 100
"""Approved drafts offered for a slot."""
# Drafts that are being posted or were posted keep their time.
_MOVABLE = frozenset({Status.SCHEDULED, Status.MISSED})


class WeekEditing(WeekScreen):
    """Changes are shown at once or soon, written one after the other, and can be undone."""

    def __init__(self) -> None:
        super().__init__()
        self.undo_stack = UndoStack()

    def enqueue_write(self, work: Work, *, keys_wait: bool = True) -> None:
        """Queue a write behind the earlier ones, then load the week again, unless more writes are pending."""
        if self.app.desk is None:
            self.app.notify_error(self.app.open_error or CopydeskError("The desk is not open yet."))
            return
        # A week loaded while a write is pending is older than what the screen shows, and is dropped.
        self.pending_writes += 1
        self.change_count += 1

        def finish() -> None:
            self.pending_writes -= 1
            self.change_count += 1
            # Load once, after the last of the pending writes.
            if not self.pending_writes and self.app.desk is not None:
                self.reload_week(keys_wait=keys_wait)

        self.app.enqueue_write(work, hold_keys=keys_wait, on_finished=finish)

    def action_new_slot(self) -> None:
        """Prompt for the minute of a weekly slot in the hour under the cursor, or for other times."""
        if self.grid.cursor is not None:
            self._prompt_slot(self.grid.cursor)

    def _prompt_slot(self, position: GridPosition, value: str = "", error: str = "") -> None:
        # Slots count weekdays from Sunday (0).
        hour = Slot(day_of_week=position.day.isoweekday() % 7, hour=position.hour.hour, minute=0)
        question = f"A slot every {format_slot(hour)[:3]}, at which minute of {hour.hour:02}:00–{hour.hour:02}:59?"
        hint = (
            error or f"Enter alone: {hour.hour:02}:00. Or a minute, or a time as 4:30, or days, too: {_SLOT_EXAMPLES}."
        )

        def create(answer: str | None) -> None:
            slots = parse_slots(answer, hour) if answer is not None else ()
            if slots:
                self._create_slots(slots)
            elif answer is not None:
                self._prompt_slot(
                    position, answer, f"That is no minute, no time and no days: write 30, 4:30, {_SLOT_EXAMPLES}."
                )

        self.app.push_screen(
            PromptDialog(question, value=value, hint=f"{hint} {key_label('line.leave')} leaves."), create
        )

    def _create_slots(self, slots: Sequence[Slot]) -> None:
        async def create(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(slot for slot in slots if slot not in old)
            if not new:
                self.app.notify_latest(f"There is a slot every {_format_slots(slots)} already.")
                return
            label = "slot" if len(new) == 1 else f"{len(new)} slots"
            await self._set_slots(desk, old, (*old, *new), f"{label} {_format_slots(new)} made")

        self.enqueue_write(create)

    def action_delete_slot(self) -> None:
        """Delete the weekly slot under the cursor. A draft in it keeps its time."""
        slot = _slot_of(self.grid.entry)
        if slot is None:
            self.app.notify_latest("There is no slot here to delete.")
            return

        async def delete(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(other for other in old if other != slot)
            await self._set_slots(desk, old, new, f"slot {format_slot(slot)} deleted")

        self.enqueue_write(delete)

    async def _set_slots(self, desk: "Desk", old: tuple[Slot, ...], new: tuple[Slot, ...], description: str) -> None:
        new = await desk.schedule.set_slots(new)
        step = UndoStep(
            description, lambda desk: _replace_slots(desk, new, old), lambda desk: _replace_slots(desk, old, new)
        )
        self.undo_stack.record(step)
        self.app.notify_latest(f"{description[:1].upper()}{description[1:]} · {key_label('schedule.undo')} undo")

    def action_zone(self, value: str = "", error: CopydeskError | None = None) -> None:
        """Prompt for the time zone; `value` and `error` are the rejected name and why, on a second try."""
        if self.week is not None:
            prompt_time_zone(self, self.week.zone, self._set_zone, value, error)

    def _set_zone(self, name: str | None) -> None:
        if not name or self.week is None or name.strip() == self.week.zone:
            return
        old, new = self.week.zone, name.strip()

        async def change(desk: "Desk") -> None:
            try:
                await desk.schedule.set_zone(new)
            except CopydeskError as error:
                # Ask again, with the rejected name in the line and the error below it.
                self.app.call_later(self.action_zone, new, error)
                return
            description = f"time zone {old} changed to {new}"
            step = UndoStep(
                description, lambda desk: desk.schedule.set_zone(old), lambda desk: desk.schedule.set_zone(new)
            )
            self.undo_stack.record(step)
            self.app.notify_latest(f"T{description[1:]} · {key_label('schedule.undo')} undo")

        self.enqueue_write(change)

    def action_accept_clock(self) -> None:
        """Accept the clock's time as correct, after a warning about it."""

        async def accept(desk: "Desk") -> None:
            if await desk.schedule.accept_clock():
                self.app.notify_latest("The clock is taken for right. What is due goes out again.")

        self.enqueue_write(accept)

    def action_undo(self) -> None:
        """Undo the last change."""
        self.enqueue_write(self._undo)

    def action_redo(self) -> None:
        """Redo the change undone last."""
        self.enqueue_write(self._redo)

    async def _undo(self, desk: "Desk") -> None:
        self._report_undo(await self.undo_stack.undo(desk, lambda: self.app.stopping))

    async def _redo(self, desk: "Desk") -> None:
        self._report_undo(await self.undo_stack.redo(desk, lambda: self.app.stopping))

    def _report_undo(self, message: str) -> None:
        """Notify of the result; print it in the terminal if the console exits before it could be read."""
        self.app.notify_latest(message)
        if self.app.stopping:
            self.app.exit_message = message


def _format_slots(slots: Sequence[Slot]) -> str:
    """Format slots that share a time as `Mon, Wed 09:30`."""
    *rest, last = (format_slot(slot) for slot in slots)
    return ", ".join([*(label[:3] for label in rest), last])


def _slot_of(entry: CalendarEntry | None) -> Slot | None:
    return entry.slot.slot if entry and entry.slot else None


async def _replace_slots(desk: "Desk", expected: tuple[Slot, ...], new: tuple[Slot, ...]) -> None:
    """Replace the slots. Raise ConflictError if they were changed since and are no longer `expected`."""
    # Undo must not overwrite what another process has changed meanwhile.
    if await desk.schedule.slots() != expected:
        raise ConflictError("The slots were changed since; they were left as they are.")
    await desk.schedule.set_slots(new)


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
