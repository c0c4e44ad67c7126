"""The part of the schedule that changes slots, zone and clock, and takes back what was done."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.schedule import Slot
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.naming import key
from copydesk.tui.pages.week_lines import slot_shown
from copydesk.tui.screens.week_screen import WeekScreen
from copydesk.tui.slot_entry import slots_read
from copydesk.tui.ways_back import Step, WaysBack
from copydesk.tui.week import Thing
from copydesk.tui.week_clock import Place
from copydesk.tui.zone_asking import ask_zone

if TYPE_CHECKING:
    from copydesk.desk import Desk

_DAYS = "weekdays 9:30 · daily 9 · mon,wed 9:30"
Work = Callable[["Desk"], Awaitable[None]]


class WeekChanges(WeekScreen):
    """What is done is seen at once or soon, written in turn, and remembered so that it can be undone."""

    def __init__(self) -> None:
        super().__init__()
        self.ways_back = WaysBack()

    def carry_out(self, work: Work, *, keys_wait: bool = True) -> None:
        """Write, after what was written before; then read what came of it, unless it is shown already."""
        if self.app.desk is None:
            self.app.complain(self.app.trouble or CopydeskError("The desk is not open yet."))
            return
        self.writing += 1
        self.changes += 1

        def written() -> None:
            self.writing -= 1
            self.changes += 1
            if not self.writing and self.app.desk is not None:
                self.read_week(keys_wait=keys_wait)

        self.app.carry_out(work, keys_wait=keys_wait, ended=written)

    # Slots.

    def action_new_slot(self) -> None:
        """Ask for the minute of a weekly slot in the hour under the cursor, or for others."""
        if self.grid.cursor is not None:
            self._ask_minute(self.grid.cursor)

    def _ask_minute(self, where: Place, value: str = "", wrong: str = "") -> None:
        hour = Slot(day_of_week=where.day.isoweekday() % 7, hour=where.hour.hour, minute=0)
        question = f"A slot every {slot_shown(hour)[:3]}, at which minute of {hour.hour:02}:00–{hour.hour:02}:59?"
        hint = wrong or f"Enter alone: {hour.hour:02}:00. Or a minute, or a time as 4:30, or days, too: {_DAYS}."

        def make(answer: str | None) -> None:
            slots = slots_read(answer, hour) if answer is not None else ()
            if slots:
                self._make(slots)
            elif answer is not None:
                self._ask_minute(where, answer, f"That is no minute, no time and no days: write 30, 4:30, {_DAYS}.")

        self.app.push_screen(LineScreen(question, value=value, hint=f"{hint} {key('line.leave')} leaves."), make)

    def _make(self, slots: Sequence[Slot]) -> None:
        async def make(desk: "Desk") -> None:
            before = await desk.schedule.slots()
            new = tuple(slot for slot in slots if slot not in before)
            if not new:
                self.app.say(f"There is a slot every {_shown(slots)} already.")
                return
            made = "slot" if len(new) == 1 else f"{len(new)} slots"
            await self._set_slots(desk, before, (*before, *new), f"{made} {_shown(new)} made")

        self.carry_out(make)

    def action_delete_slot(self) -> None:
        """Delete the slot under the cursor, every week. A draft that stands in it stays."""
        slot = _slot_of(self.grid.thing)
        if slot is None:
            self.app.say("There is no slot here to delete.")
            return

        async def delete(desk: "Desk") -> None:
            before = await desk.schedule.slots()
            after = tuple(each for each in before if each != slot)
            await self._set_slots(desk, before, after, f"slot {slot_shown(slot)} deleted")

        self.carry_out(delete)

    async def _set_slots(self, desk: "Desk", before: tuple[Slot, ...], after: tuple[Slot, ...], words: str) -> None:
        after = await desk.schedule.set_slots(after)
        step = Step(words, lambda desk: _swap(desk, after, before), lambda desk: _swap(desk, before, after))
        self.ways_back.did(step)
        self.app.say(f"{words[:1].upper()}{words[1:]} · {key('schedule.undo')} undo")

    # The clock.

    def action_zone(self, value: str = "", wrong: CopydeskError | None = None) -> None:
        """Ask for the time zone."""
        if self.week is not None:
            ask_zone(self, self.week.zone, self._set_zone, value, wrong)

    def _set_zone(self, name: str | None) -> None:
        if not name or self.week is None or name.strip() == self.week.zone:
            return
        before, after = self.week.zone, name.strip()

        async def change(desk: "Desk") -> None:
            try:
                await desk.schedule.set_zone(after)
            except CopydeskError as error:
                self.app.call_later(self.action_zone, after, error)
                return
            words = f"time zone {before} changed to {after}"
            step = Step(words, lambda desk: desk.schedule.set_zone(before), lambda desk: desk.schedule.set_zone(after))
            self.ways_back.did(step)
            self.app.say(f"T{words[1:]} · {key('schedule.undo')} undo")

        self.carry_out(change)

    def action_accept_clock(self) -> None:
        """Say that the clock is right, where there is a doubt."""

        async def accept(desk: "Desk") -> None:
            if await desk.schedule.accept_clock():
                self.app.say("The clock is taken for right. What is due goes out again.")

        self.carry_out(accept)

    # Undo.

    def action_undo(self) -> None:
        """Take back what was done last."""
        self.carry_out(self._undo)

    def action_redo(self) -> None:
        """Do again what was undone last."""
        self.carry_out(self._redo)

    async def _undo(self, desk: "Desk") -> None:
        self._say_done(await self.ways_back.undo(desk, lambda: self.app.hurries))

    async def _redo(self, desk: "Desk") -> None:
        self._say_done(await self.ways_back.redo(desk, lambda: self.app.hurries))

    def _say_done(self, words: str) -> None:
        """On the terminal, where the screen is gone before anybody can read it there."""
        self.app.say(words)
        if self.app.hurries:
            self.app.last_words = words


def _shown(slots: Sequence[Slot]) -> str:
    """Slots of one time as `Mon, Wed 09:30`."""
    *others, last = (slot_shown(slot) for slot in slots)
    return ", ".join([*(each[:3] for each in others), last])


def _slot_of(thing: Thing | None) -> Slot | None:
    return thing.slot.slot if thing and thing.slot else None


async def _swap(desk: "Desk", of: tuple[Slot, ...], to: tuple[Slot, ...]) -> None:
    """Put slots in the place of others, if they are still those."""
    if await desk.schedule.slots() != of:
        raise ConflictError("The slots were changed since; they were left as they are.")
    await desk.schedule.set_slots(to)
