"""The slot actions of the schedule screen, and the parser of weekly slots as users type them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError
from copydesk.model.schedule import Slot
from copydesk.tui import labels
from copydesk.tui.dialogs.prompt import PromptDialog
from copydesk.tui.schedule.week_clock import GridPosition
from copydesk.tui.schedule.week_layout import format_slot
from copydesk.tui.schedule.week_pane import WeekEdits, WeekPane
from copydesk.tui.undo_stack import UndoStep

if TYPE_CHECKING:
    from copydesk.desk import Desk

_DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""Indexed by `day_of_week`: 0 is Sunday."""
_WEEK = (1, 2, 3, 4, 5, 6, 0)
_GROUPS = {
    "daily": _WEEK,
    "everyday": _WEEK,
    "day": _WEEK,
    "weekdays": _WEEK[:5],
    "weekday": _WEEK[:5],
    "weekends": _WEEK[5:],
    "weekend": _WEEK[5:],
}
_FILLER_WORDS = frozenset({"every", "and", "at"})
_MIN_LETTERS = 3
"""Minimum letters of a day's abbreviation."""
_MINUTE = re.compile(r"(?:(\d{1,2})[:.])?(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?", re.ASCII)


class SlotActions:
    """Create and delete the weekly slot under the cursor."""

    def __init__(self, pane: WeekPane, edits: WeekEdits) -> None:
        self._pane = pane
        self._edits = edits

    def new(self) -> None:
        """Prompt for the minute of a weekly slot in the hour under the cursor, or for other times."""
        if self._pane.grid.cursor is not None:
            self._prompt(self._pane.grid.cursor)

    def _prompt(self, position: GridPosition, value: str = "", error: str = "") -> None:
        # Slots count weekdays from Sunday (0).
        hour = Slot(day_of_week=position.day.isoweekday() % 7, hour=position.hour.hour, minute=0)

        def create(answer: str | None) -> None:
            slots = parse_slots(answer, hour) if answer is not None else ()
            if slots:
                self._create(slots)
            elif answer is not None:
                self._prompt(position, answer, labels.invalid_slot(hour.hour))

        hint = error or labels.slot_prompt_hint(format_slot(hour))
        dialog = PromptDialog(labels.slot_prompt(hour.hour), value=value, hint=hint)
        self._pane.app.push_screen(dialog, create)

    def _create(self, slots: Sequence[Slot]) -> None:
        async def create(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(slot for slot in slots if slot not in old)
            if not new:
                self._pane.app.notify_latest(labels.slots_exist(len(slots), _format_slots(slots)))
                return
            added = len(new), _format_slots(new)
            await self._replace(desk, old, (*old, *new), labels.slots_addition(*added))
            self._pane.app.notify_latest(labels.slots_added(*added))

        self._edits.enqueue(create)

    def delete(self) -> None:
        """Delete the weekly slot under the cursor. A draft in it keeps its time."""
        entry = self._pane.entry
        if entry is None or entry.slot is None:
            self._pane.app.notify_latest(labels.NO_SLOT_HERE)
            return
        slot = entry.slot.slot

        async def delete(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(other for other in old if other != slot)
            await self._replace(desk, old, new, labels.slot_deletion(format_slot(slot)))
            self._pane.app.notify_latest(labels.slot_deleted(format_slot(slot)))

        self._edits.enqueue(delete)

    async def _replace(self, desk: "Desk", old: tuple[Slot, ...], new: tuple[Slot, ...], description: str) -> None:
        new = await desk.schedule.set_slots(new)
        step = UndoStep(
            description, lambda desk: _replace_slots(desk, new, old), lambda desk: _replace_slots(desk, old, new)
        )
        self._edits.record(step)


def _format_slots(slots: Sequence[Slot]) -> str:
    """Format slots that share a time as `Mon, Wed 09:30`."""
    *rest, last = (format_slot(slot) for slot in slots)
    return ", ".join([*(label[:3] for label in rest), last])


async def _replace_slots(desk: "Desk", expected: tuple[Slot, ...], new: tuple[Slot, ...]) -> None:
    """Replace the slots. Raise ConflictError if they were changed since and are no longer `expected`."""
    # Undo must not overwrite what another process has changed meanwhile.
    if await desk.schedule.slots() != expected:
        raise ConflictError(labels.SLOTS_CHANGED)
    await desk.schedule.set_slots(new)


def parse_slots(text: str, default: Slot) -> tuple[Slot, ...]:
    """Return the slots that `text` describes, Monday first; an empty tuple if it is invalid.

    An empty text means `default` itself; `30` and `4:30` are another minute or time of its day. After days a number is
    an hour: `weekdays 9:30`, `daily 9`, `mon,wed 9:30`, `sat-sun 10`; days without a time take the time of `default`.
    """
    # Remove blanks around hyphens, so that a range of days is one token.
    tokens = re.sub(r"\s*([-–])\s*", r"\1", text.lower()).replace(",", " ").split()
    if not tokens:
        return (default,)
    times, days = (
        [token for token in tokens if token[0].isdigit()],
        [token for token in tokens if not token[0].isdigit()],
    )
    if len(times) > 1:
        return ()
    day_numbers = _parse_days(days)
    clock = _parse_time(times, default, with_days=bool(days))
    if clock is None or (days and not day_numbers):
        return ()
    return tuple(Slot(day_of_week=day, hour=clock[0], minute=clock[1]) for day in day_numbers or (default.day_of_week,))


def _parse_time(times: Sequence[str], default: Slot, *, with_days: bool) -> tuple[int, int] | None:
    """Return (hour, minute); None if invalid."""
    if not times:
        return default.hour, default.minute
    match = (_CLOCK if with_days else _MINUTE).fullmatch(times[0])
    if match is None:
        return None
    hour, minute = (match[1], match[2] or 0) if with_days else (match[1] or default.hour, match[2])
    return (int(hour), int(minute)) if int(hour) < 24 and int(minute) < 60 else None


def _parse_days(tokens: Sequence[str]) -> tuple[int, ...]:
    """Return the days, Monday first; an empty tuple if a word is not a day."""
    day_numbers: set[int] = set()
    for token in tokens:
        parsed = _parse_days_word(token)
        if not parsed and token not in _FILLER_WORDS:
            return ()
        day_numbers.update(parsed)
    return tuple(day for day in _WEEK if day in day_numbers)


def _parse_days_word(token: str) -> Sequence[int]:
    first, *last = re.split("[-–]", token)
    if token in _GROUPS or not last:
        return _GROUPS.get(token) or _parse_day(token)
    start, end = _parse_day(first), _parse_day(last[0])
    if len(last) > 1 or not start or not end:
        return ()
    # Modulo 7: a range such as sat-mon continues after Sunday.
    first_index, days = _WEEK.index(start[0]), (_WEEK.index(end[0]) - _WEEK.index(start[0])) % 7 + 1
    return [_WEEK[(first_index + offset) % 7] for offset in range(days)]


def _parse_day(token: str) -> Sequence[int]:
    """Parse `mon`, `monday` or `mondays`; return a sequence of one day, or an empty one."""
    if len(token) < _MIN_LETTERS:
        return ()
    return [number for number, name in enumerate(_DAY_NAMES) if name.startswith(token) or token == f"{name}s"]
