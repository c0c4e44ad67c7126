"""Texts of the week grid: title, header, cells, and the details of the cell under the cursor."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.job import ClockWarning
from copydesk.model.schedule import MAX_WEEK_DRAFTS, Slot, Week
from copydesk.tui import labels
from copydesk.tui.keys import key_label
from copydesk.tui.labels import STATUS
from copydesk.tui.layout import Paragraph
from copydesk.tui.schedule.week_clock import (
    DAYS,
    ClockChange,
    GridPosition,
    Hour,
    format_day,
    format_utc_offset,
    utc_offsets,
)
from copydesk.tui.schedule.week_layout import LABEL_WIDTH, CalendarEntry, HourCell, WeekLayout
from copydesk.tui.terminal.cells import fit, safe_line

MIN_WIDTH_FOR_MONTH = 14
"""Columns of at least this many cells show the month, too."""
SELECTION_MARK: Final = "▌"
"""Marks the entry that keys act on, for terminals without colours."""


def week_title(week: Week, now: datetime) -> str:
    """Return the dates of the week and its time zone.

    The UTC offsets of the whole week are listed, since a clock change may fall into it, and today's offset if it is
    another one.
    """
    zone, sunday = ZoneInfo(week.zone), week.monday + timedelta(days=6)
    (_, first), *later = utc_offsets(week.monday, zone)
    clock = ", ".join([first, *(labels.offset_from(DAYS[day.weekday()], text) for day, text in later)])
    today = format_utc_offset(now.astimezone(zone))
    current = "" if today in {first, *(text for _, text in later)} else today
    dates = f"{format_day(week.monday)} – {format_day(sunday)} {sunday.year}"
    return labels.week_title(dates, week.zone, clock, current, MAX_WEEK_DRAFTS if week.more else 0)


def week_header(grid: WeekLayout, width: int, today: date) -> Content:
    """Return the line with the days above their columns of `width` cells."""
    changed = {change.day for change in grid.changes}
    line = Content(" " * LABEL_WIDTH)
    for day in grid.days:
        name = format_day(day) if width >= MIN_WIDTH_FOR_MONTH else f"{DAYS[day.weekday()]} {day.day}"
        role = "accent" if day == today else "warn" if day in changed else "dim"
        line += Content.styled(fit(f" {name}{' ±' * (day in changed)}", width), role)
    return line


def hour_label(hour: Hour, now: datetime | None) -> Content:
    """Return the hour's label at the left; `now` is the current time if it falls into this hour."""
    if now is not None:
        return Content.styled(f"▸{now:%H:%M} ", "accent")
    return (
        Content.styled(labels.REPEATED_HOUR, "warn")
        if hour.is_repeat
        else Content.styled(f" {hour.hour:02}:00 ", "dim")
    )


def cell_line(cell: HourCell, width: int, *, now: datetime, selected: CalendarEntry | None = None) -> Content:
    """Return a cell's line in `width` cells, the first of which is reserved for the cursor.

    It shows `selected`, or else the first entry, and how many more there are.
    """
    room = width - 1
    if not cell.entries:
        text, role = _empty_cell(cell, room, now)
        return Content.styled(f" {fit(text, room)}", role)
    more = f"+{len(cell.entries) - 1}" if len(cell.entries) > 1 else ""
    line = _entry_line(selected or cell.entries[0], room - len(more), past=cell.is_past)
    return Content(" ") + line + Content.styled(more, "strong")


def _empty_cell(cell: HourCell, room: int, now: datetime) -> tuple[str, str]:
    if cell.is_now:
        return f"─{now:%H:%M}".ljust(room, "─"), "accent"
    if cell.is_skipped:
        return labels.SKIPPED_HOUR, "warn"
    if cell.span is None:
        return "", ""
    if not cell.span.is_complete:
        return labels.partial_hour(cell.span.first, cell.span.end - 1), "warn"
    # "UTC+02:00" takes nine cells.
    return (
        (f"UTC{cell.repeated_offset}" if room >= 9 else cell.repeated_offset, "warn")
        if cell.repeated_offset
        else ("·", "faint")
    )


def _entry_line(entry: CalendarEntry, room: int, *, past: bool) -> Content:
    """Return a slot as an outline, a draft as minute, conflict mark, status letter and beginning of its text."""
    if entry.draft is None:
        return Content.styled(f"[:{entry.minute:02}".ljust(room - 1) + "]", "faint" if past else "dim")
    sign = STATUS[entry.draft.status]
    # Minute, conflict mark, letter and a space take six cells.
    text = fit(safe_line(entry.draft.text), max(room - 6, 0))
    mark = ("!", "bad") if entry.conflict_minutes is not None else (" ", "")
    return Content.assemble((f":{entry.minute:02}", sign.role), mark, (sign.letter, sign.role), f" {text}").truncate(
        room
    )


def cell_title(cell: HourCell, zone: ZoneInfo, now: datetime) -> str:
    """Return the cell's hour in words, with its UTC offset and its distance from today."""
    day, hour = cell.position
    date_text = f"{format_day(day)} {day.year}"
    if cell.span is None:
        return labels.missing_hour(date_text, hour.hour, is_repeat=hour.is_repeat)
    first, last = time(hour.hour, cell.span.first), time(hour.hour, cell.span.end - 1)
    start = cell.span.start.astimezone(zone)
    is_repeated = hour.is_repeat or bool(cell.repeated_offset)
    occurrence = labels.hour_occurrence(is_repeat=hour.is_repeat) if is_repeated else ""
    days = (day - now.astimezone(zone).date()).days
    distance = labels.day_distance(days, is_now=cell.is_now, is_past=cell.is_past)
    return labels.hour_title(date_text, f"{first:%H:%M}–{last:%H:%M}", occurrence, format_utc_offset(start), distance)


def cell_details(
    cell: HourCell, zone: ZoneInfo, selected: CalendarEntry | None, width: int, room: int
) -> list[Content]:
    """Return the cell's entries, one per line and at most `room`; the selected one is always among them.

    Below them follows the selected draft's text, if its line was cut off.
    """
    index = cell.entries.index(selected) if selected in cell.entries else 0
    # Scroll just far enough that the selected entry is the first or the list's end is visible.
    start = min(index, max(len(cell.entries) - room, 0))
    lines = []
    for entry in cell.entries[start : start + room]:
        mark = Content.styled(SELECTION_MARK, "accent") if entry is selected else Content(" ")
        lines.append(mark + _detail_line(entry, cell.position, zone))
    draft = selected.draft if selected else None
    if draft is not None and lines[index - start].cell_length > width:
        lines += [Content(""), *Paragraph(Content(safe_line(draft.text)), indent=1).lines(max(width, 2))]
    return lines


def _detail_line(entry: CalendarEntry, position: GridPosition, zone: ZoneInfo) -> Content:
    local_time = f"{entry.at.astimezone(zone):%H:%M} "
    if entry.draft is None:
        return Content.assemble(local_time, (_free_slot(entry, position), "dim"))
    draft, sign = entry.draft, STATUS[entry.draft.status]
    conflict = f" · {labels.conflict(entry.conflict_minutes)}" if entry.conflict_minutes is not None else ""
    return Content.assemble(
        local_time,
        (f"{sign.letter} {sign.text}", sign.role),
        (conflict, "bad"),
        (f" · {_original_time(entry, zone)}{draft.format.lower()}", "dim"),
        f"  {safe_line(draft.text)}",
    )


def _free_slot(entry: CalendarEntry, position: GridPosition) -> str:
    # An entry without a draft is a slot.
    assert entry.slot
    slot = entry.slot.slot
    is_skipped = slot.hour != position.hour.hour or slot.minute != entry.minute
    return labels.free_slot(format_slot(slot), is_skipped=is_skipped)


def _original_time(entry: CalendarEntry, zone: ZoneInfo) -> str:
    """Return the time that the user entered, if it was entered in another time zone than the current one."""
    draft = entry.draft
    if draft is None or draft.zone is None or draft.wall is None or draft.zone == zone.key:
        return ""
    return f"{labels.time_in_other_zone(safe_line(draft.wall[11:16]), safe_line(draft.zone))} · "


def format_slot(slot: Slot) -> str:
    """Format a slot as `Mon 09:00`."""
    return f"{DAYS[(slot.day_of_week - 1) % 7]} {slot.hour:02}:{slot.minute:02}"


def format_clock_change(change: ClockChange) -> str:
    """Describe a clock change in a sentence."""
    times = f"{change.first:%H:%M}–{change.last:%H:%M}"
    return labels.clock_change(format_day(change.day), times, forward=change.forward)


def clock_warning_line(warning: ClockWarning) -> Content:
    """Return the warning about the clock, with the key that accepts its time."""
    key = key_label("schedule.accept_clock"), "key"
    return Content.assemble(key, (labels.ACCEPT_CLOCK, "dim"), (labels.clock_jumped(warning.seconds), "bad"))


def empty_week_hint(week: Week, approved: int) -> Sequence[tuple[str, str]]:
    """Return a hint in styled pieces for a week without slots and drafts; empty if there are slots."""
    if week.every_slot:
        return ()
    before, after = labels.no_slots(approved)
    return (before, "dim"), (key_label("schedule.new_slot"), "key"), (after, "dim")
