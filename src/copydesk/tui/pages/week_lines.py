"""The week in words and lines: its title, its days, its cells, and what stands in the cell under the cursor."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.job import ClockDoubt
from copydesk.model.schedule import MOST_IN_WEEK, Slot, Week
from copydesk.tui.cells import cell as safe
from copydesk.tui.cells import fit
from copydesk.tui.layout import Paragraph
from copydesk.tui.naming import key
from copydesk.tui.week import LABEL, Cell, Grid, Thing
from copydesk.tui.week_clock import DAYS, MONTHS, Change, Hour, Place, day_shown, offset, offsets
from copydesk.tui.words import STATUS, plural

WHOLE_DAY_FROM = 14
"""From so many cells on a day has room for its month."""
CHOSEN: Final = "▌"
"""Marks what keys act on where colours do not."""


def title(week: Week, now: datetime) -> str:
    """Which days these are, and on which clock: each offset of the week, and today's where that is another one."""
    zone, sunday = ZoneInfo(week.zone), week.monday + timedelta(days=6)
    (_, first), *later = offsets(week.monday, zone)
    clock = ", ".join([first, *(f"from {DAYS[day.weekday()]} {shown}" for day, shown in later)])
    today = offset(now.astimezone(zone))
    other = "" if today in {first, *(shown for _, shown in later)} else f" (now {today})"
    more = f" · the first {MOST_IN_WEEK} drafts" if week.more else ""
    return f"{day_shown(week.monday)} – {day_shown(sunday)} {sunday.year} · {week.zone}, {clock}{other}{more}"


def head(grid: Grid, width: int, today: date) -> Content:
    """The days above their columns."""
    changed = {change.day for change in grid.changes}
    line = Content(" " * LABEL)
    for day in grid.days:
        name = day_shown(day) if width >= WHOLE_DAY_FROM else f"{DAYS[day.weekday()]} {day.day}"
        role = "accent" if day == today else "warn" if day in changed else "dim"
        line += Content.styled(fit(f" {name}{' ±' * (day in changed)}", width), role)
    return line


def label(hour: Hour, now: datetime | None) -> Content:
    """The hour at the left; the time itself where it is this hour."""
    if now is not None:
        return Content.styled(f"▸{now:%H:%M} ", "accent")
    return Content.styled(" again ", "warn") if hour.again else Content.styled(f" {hour.hour:02}:00 ", "dim")


def cell_line(cell: Cell, width: int, *, now: datetime, chosen: Thing | None = None) -> Content:
    """A cell in `width` cells, the first of which is free for the cursor: what is chosen in it, or stands first."""
    room = width - 1
    if not cell.things:
        words, role = _empty(cell, room, now)
        return Content.styled(f" {fit(words, room)}", role)
    thing = chosen or cell.things[0]
    more = f"+{len(cell.things) - 1}" if len(cell.things) > 1 else ""
    shown = _thing(thing, room - len(more), past=cell.past)
    return Content(" ") + shown + Content.styled(more, "strong")


def _empty(cell: Cell, room: int, now: datetime) -> tuple[str, str]:
    if cell.now:
        return f"─{now:%H:%M}".ljust(room, "─"), "accent"
    if cell.skipped:
        return "skipped", "warn"
    if cell.span is None:
        return "", ""
    if not cell.span.whole:
        return f"from :{cell.span.first:02}" if cell.span.first else f"to :{cell.span.end - 1:02}", "warn"
    return (f"UTC{cell.twice}" if room >= 9 else cell.twice, "warn") if cell.twice else ("·", "faint")


def _thing(thing: Thing, room: int, *, past: bool) -> Content:
    """A slot is an outline, a draft is its minute, whether it is a conflict, its letter and its beginning."""
    if thing.draft is None:
        return Content.styled(f"[:{thing.minute:02}".ljust(room - 1) + "]", "faint" if past else "dim")
    sign = STATUS[thing.draft.status]
    words = fit(safe(thing.draft.text), max(room - 6, 0))
    close = ("!", "bad") if thing.close is not None else (" ", "")
    return Content.assemble((f":{thing.minute:02}", sign.role), close, (sign.letter, sign.role), f" {words}").truncate(
        room
    )


def when(cell: Cell, zone: ZoneInfo, now: datetime) -> str:
    """The cell's hour in words, with its offset from UTC and how far away it is."""
    day, hour = cell.where
    shown = f"{day_shown(day)} {day.year}"
    if cell.span is None:
        words = "is not shown again" if hour.again else "does not exist: the clocks skip it"
        return f"{shown} {hour.hour:02}:00 {words}"
    first, last = time(hour.hour, cell.span.first), time(hour.hour, cell.span.end - 1)
    here = cell.span.start.astimezone(zone)
    turn = " (the second time)" * hour.again or " (the first time)" * bool(cell.twice)
    return f"{shown} {first:%H:%M}–{last:%H:%M}{turn}, {offset(here)} · {_far(day, cell, now.astimezone(zone).date())}"


def _far(day: date, cell: Cell, today: date) -> str:
    if cell.now:
        return "now"
    days = (day - today).days
    if days == 0:
        return "today, past" if cell.past else "today"
    return f"in {plural(days, 'day')}" if days > 0 else f"{plural(-days, 'day')} ago"


def details(cell: Cell, zone: ZoneInfo, chosen: Thing | None, width: int, room: int) -> list[Content]:
    """What stands in the cell, a line each, as many as there is room for; the chosen one is among them.

    Below them the beginning of the chosen draft's text, where there is room for that too.
    """
    at = cell.things.index(chosen) if chosen in cell.things else 0
    start = min(at, max(len(cell.things) - room, 0))
    lines = []
    for thing in cell.things[start : start + room]:
        mark = Content.styled(CHOSEN, "accent") if thing is chosen else Content(" ")
        lines.append(mark + _detail(thing, cell.where, zone))
    draft = chosen.draft if chosen else None
    if draft is not None and lines[at - start].cell_length > width:
        lines += [Content(""), *Paragraph(Content(safe(draft.text)), indent=1).lines(max(width, 2))]
    return lines


def _detail(thing: Thing, where: Place, zone: ZoneInfo) -> Content:
    time_of = f"{thing.at.astimezone(zone):%H:%M} "
    if thing.draft is None:
        return Content.assemble(time_of, (f"free slot, every {_meant(thing, where)}", "dim"))
    draft, sign = thing.draft, STATUS[thing.draft.status]
    close = (
        f" !{abs(thing.close)} min {'before' if thing.close >= 0 else 'after'} another"
        if thing.close is not None
        else ""
    )
    return Content.assemble(
        time_of,
        (f"{sign.letter} {sign.words}", sign.role),
        (close, "bad"),
        (f" {_elsewhere(thing, zone)}{draft.format.lower()}", "dim"),
        f"  {safe(draft.text)}",
    )


def _meant(thing: Thing, where: Place) -> str:
    slot = thing.slot.slot if thing.slot else None
    if slot is None:
        return ""
    skipped = "" if slot.hour == where.hour.hour and slot.minute == thing.minute else ", which the clocks skip here"
    return slot_shown(slot) + skipped


def _elsewhere(thing: Thing, zone: ZoneInfo) -> str:
    """The time that was meant, where it was meant on the clock of another zone."""
    draft = thing.draft
    if draft is None or draft.zone is None or draft.wall is None or draft.zone == zone.key:
        return ""
    return f"meant as {safe(draft.wall[11:16])} {safe(draft.zone)}, "


def slot_shown(slot: Slot) -> str:
    """A slot as `Mon 09:00`."""
    return f"{DAYS[(slot.day_of_week - 1) % 7]} {slot.hour:02}:{slot.minute:02}"


def change_shown(change: Change) -> str:
    """A clock change in words."""
    way, what = ("forward", "does not exist") if change.forward else ("back", "comes twice")
    day = f"{change.day.day} {MONTHS[change.day.month - 1]}"
    return (
        f"The clocks go {way} on {DAYS[change.day.weekday()]} {day}: {change.first:%H:%M}–{change.last:%H:%M} {what}."
    )


def doubt_shown(doubt: ClockDoubt) -> Content:
    """What is wrong with the clock, and what to do about it."""
    way = "forward" if doubt.seconds > 0 else "back"
    words = f"The clock jumped {way} by {_amount(abs(doubt.seconds))}: nothing goes out."
    return Content.assemble((key("schedule.accept_clock"), "key"), (" accept · ", "dim"), (words, "bad"))


def _amount(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return plural(round(seconds / length), unit)
    return plural(round(seconds), "second")


def empty_words(week: Week, approved: int) -> Sequence[tuple[str, str]]:
    """What to press where the week has neither slots nor drafts, in pieces with their roles."""
    if week.every_slot:
        return ()
    waiting = f" for {plural(approved, 'approved draft')}" if approved else ""
    return (
        ("No slots yet: ", "dim"),
        (key("schedule.new_slot"), "key"),
        (f" makes one here, every week{waiting}.", "dim"),
    )
