"""The editing part of the schedule screen: slots, time zone, clock, and undo."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.schedule import Slot
from copydesk.tui.modals.ask import PromptDialog
from copydesk.tui.naming import key_label
from copydesk.tui.pages.week_lines import format_slot
from copydesk.tui.screens.week_screen import WeekScreen
from copydesk.tui.slot_entry import parse_slots
from copydesk.tui.ways_back import UndoStack, UndoStep
from copydesk.tui.week import CalendarEntry
from copydesk.tui.week_clock import GridPosition
from copydesk.tui.zone_asking import prompt_time_zone

if TYPE_CHECKING:
    from copydesk.desk import Desk

_SLOT_EXAMPLES = "weekdays 9:30 · daily 9 · mon,wed 9:30"
Work = Callable[["Desk"], Awaitable[None]]


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
