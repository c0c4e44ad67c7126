"""A week of the schedule as cells, a day wide and an hour high, on the wall clock of one zone. Pure.

The clock tells which hours exist, which are skipped and which occur twice. Clock changes happen at quarters of an hour
in every zone, so nothing finer is examined.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from copydesk.model.draft import Status
from copydesk.model.schedule import CONFLICT_WINDOW, Slot, Week, WeekDraft, WeekSlot
from copydesk.tui import labels

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
_QUARTERS = (0, 15, 30, 45)
FIRST_HOUR = 6
"""Earlier hours are shown only if they have entries, or if there is room for all."""
LABEL_WIDTH = 7
"""Cells of the hour labels at the left."""
MIN_DAY_WIDTH = 8
"""Minimum cells of a day for showing all seven."""
_PUBLISHING = frozenset({Status.SCHEDULED, Status.POSTING})


class Hour(NamedTuple):
    """A row of the week."""

    hour: int
    is_repeat: bool = False
    """True for the second of two equal hours at a clock change."""


class GridPosition(NamedTuple):
    """The position of a cell in the week."""

    day: date
    hour: Hour


class ClockSpan(NamedTuple):
    """The part of an hour that the clocks show on one day."""

    start: datetime
    """The first instant, in UTC."""
    first: int
    """Its minute."""
    end: int
    """The minute after the last one: 60 unless the hour is cut short."""

    @property
    def is_complete(self) -> bool:
        """True for an hour of 60 minutes."""
        return self.end - self.first == 60


class ClockChange(NamedTuple):
    """A clock change of a day: forward, skipping the times from `first` to `last`, or back, repeating them."""

    day: date
    forward: bool
    first: time
    last: time


def grid_position(at: datetime, zone: tzinfo) -> GridPosition:
    """Return the position of an instant."""
    local = at.astimezone(zone)
    return GridPosition(local.date(), Hour(local.hour, is_repeat=bool(local.fold)))


def clock_span(position: GridPosition, zone: tzinfo) -> ClockSpan | None:
    """Return the part of the hour that exists; None if clocks skip all of it, or do not repeat it."""
    # Clocks may change at a quarter to or past the hour (Lord Howe, Chatham), so an hour can exist in part.
    minutes = [minute for minute in _QUARTERS if _exists(position, minute, zone)]
    if not minutes:
        return None
    local = datetime.combine(position.day, time(position.hour.hour, minutes[0]), zone).replace(
        fold=position.hour.is_repeat
    )
    return ClockSpan(local.astimezone(UTC), minutes[0], minutes[-1] + 15)


def _exists(position: GridPosition, minute: int, zone: tzinfo) -> bool:
    # Clocks go back (before > after): the time occurs twice. Clocks go forward (before < after): it is skipped.
    before, after = _offsets(datetime.combine(position.day, time(position.hour.hour, minute)), zone)
    return before > after if position.hour.is_repeat else before >= after


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """Return the UTC offsets before and after a clock change at a wall time (PEP 495, by fold); else twice the same."""
    local = wall.replace(tzinfo=zone)
    return _offset(local.replace(fold=0)), _offset(local.replace(fold=1))


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta(0)


def instant(wall: datetime, zone: tzinfo) -> datetime:
    """Return the first instant at which clocks show `wall`.

    If a clock change skips it, return the first full minute after the change.
    """
    before, after = _offsets(wall, zone)
    while before < after:
        wall = wall.replace(second=0, microsecond=0) + MINUTE
        before, after = _offsets(wall, zone)
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def shift_time(at: datetime, zone: tzinfo, *, days: int = 0, hours: int = 0) -> datetime:
    """Return the instant `hours` later in elapsed time, then `days` later by the wall clock."""
    # Hours are elapsed time, days are wall clock: "an hour later" must move a draft even where clocks go back.
    later = at + hours * HOUR
    if not days:
        return later
    return instant(later.astimezone(zone).replace(tzinfo=None, fold=0) + days * DAY, zone)


def clock_changes(monday: date, zone: tzinfo) -> Iterator[ClockChange]:
    """Yield the clock changes of the week, in order."""
    start, end = (instant(datetime.combine(day, time()), zone) for day in (monday, monday + 7 * DAY))
    current = start - 15 * MINUTE  # there may be a change at the first midnight itself
    while current < end:
        following = current + 15 * MINUTE
        before, after = _offset(current.astimezone(zone)), _offset(following.astimezone(zone))
        first, last = (
            (following + before, following + after) if after > before else (following + after, following + before)
        )
        if before != after and monday <= first.date() < monday + 7 * DAY:
            yield ClockChange(first.date(), forward=after > before, first=first.time(), last=last.time())
        current = following


def utc_offsets(monday: date, zone: tzinfo) -> list[tuple[date, str]]:
    """Return the UTC offset at the end of the first day, and of each day on which it differs from the day before."""
    result: list[tuple[date, str]] = []
    for index in range(7):
        day = monday + index * DAY
        # At the end of the day, by which its clock change has happened.
        formatted = format_utc_offset(datetime.combine(day, time(23, 59), zone).replace(fold=1))
        if not result or result[-1][1] != formatted:
            result.append((day, formatted))
    return result


def format_utc_offset(local: datetime) -> str:
    """Format the UTC offset as `UTC+05:45`."""
    return f"UTC{local.isoformat(timespec='minutes')[16:]}"


class CalendarEntry(NamedTuple):
    """A draft, a free slot, or a draft in its slot."""

    at: datetime
    minute: int
    slot: WeekSlot | None = None
    draft: WeekDraft | None = None
    conflict_minutes: int | None = None
    """Minutes to the nearest other draft if they conflict; negative if that is earlier."""

    @property
    def key(self) -> str:
        """Identifies the entry after the week was reloaded."""
        return self.draft.id if self.draft else f"slot {self.at.isoformat()}"


class HourCell(NamedTuple):
    """One hour of one day."""

    position: GridPosition
    span: ClockSpan | None
    """None if the clocks do not show the hour."""
    entries: tuple[CalendarEntry, ...]
    """In chronological order."""
    repeated_offset: str
    """The UTC offset, as `+02:00`, if the hour occurs twice on that day; else empty."""
    is_past: bool
    is_now: bool

    @property
    def is_skipped(self) -> bool:
        """True if a clock change skips the hour."""
        return self.span is None and not self.position.hour.is_repeat


class WeekLayout(NamedTuple):
    """Days from left to right, hours from top to bottom."""

    days: tuple[date, ...]
    hours: tuple[Hour, ...]
    cells: Mapping[GridPosition, HourCell]
    """All seven days and all hours, including those that are not shown."""
    changes: tuple[ClockChange, ...]

    def nearest_visible(self, position: GridPosition) -> GridPosition:
        """Return the position of the nearest shown hour of the day.

        That is the same hour or, if it is not shown, the last one before it, else the first of all.
        """
        earlier = [hour for hour in self.hours if hour <= position.hour]
        return (
            position
            if position.hour in self.hours
            else GridPosition(position.day, earlier[-1] if earlier else self.hours[0])
        )


def lay_out_week(week: Week, now: datetime, *, only: date | None = None, rows: int = 0) -> WeekLayout:
    """Return the week's cells.

    With `only` one day is shown, else all seven. Early hours without entries are left out, the earliest first, if there
    are fewer `rows` than hours.
    """
    zone = ZoneInfo(week.zone)
    days = tuple(week.monday + timedelta(days=offset) for offset in range(7))
    zone_changes = _cached_changes(week.monday, zone)
    entries = _entries_by_position(week, zone)
    hours = [Hour(hour, is_repeat) for hour in range(24) for is_repeat in (False, True)]
    # Repeated hours get a row only in a week in which clocks go back.
    hours = [
        hour for hour in hours if not hour.is_repeat or any(_occurs_twice(hour, change) for change in zone_changes)
    ]
    cells = {
        position: _cell(position, entries.get(position, ()), zone_changes, zone, now)
        for position in (GridPosition(day, hour) for day in days for hour in hours)
    }
    return WeekLayout(
        days=(only,) if only else days,
        hours=tuple(_visible_hours(hours, days, cells, rows)),
        cells=cells,
        changes=zone_changes,
    )


def visible_days(width: int) -> int:
    """Return the number of days that fit into `width` cells: seven or one."""
    return 7 if (width - LABEL_WIDTH) // 7 >= MIN_DAY_WIDTH else 1


def reschedule_draft(week: Week, draft_id: str, at: datetime) -> Week:
    """Return the week with a draft scheduled at another time."""
    drafts = [
        # The desk sets wall time and zone when it stores the change; this is only what the grid shows until then.
        replace(draft, at=at, wall=None, zone=None, status=Status.SCHEDULED) if draft.id == draft_id else draft
        for draft in week.drafts
    ]
    return replace(week, drafts=tuple(sorted(drafts, key=lambda draft: (draft.at, draft.id))))


def find_conflicts(drafts: Iterable[WeekDraft]) -> dict[str, int]:
    """Return the drafts that conflict with another one: id -> minutes to the nearest."""
    distances: dict[str, int] = {}
    drafts_in_order = sorted(
        (draft for draft in drafts if draft.status in _PUBLISHING), key=lambda draft: (draft.at, draft.id)
    )
    for earlier, later in pairwise(drafts_in_order):
        if later.at - earlier.at <= CONFLICT_WINDOW:
            minutes = round((later.at - earlier.at).total_seconds() / 60)
            # Drafts are sorted: only the neighbours can be nearest, and the earlier one was stored in the previous
            # round.
            if abs(distances.get(earlier.id, minutes + 1)) > minutes:
                distances[earlier.id] = minutes
            distances[later.id] = -minutes
    return distances


def _entries_by_position(week: Week, zone: ZoneInfo) -> dict[GridPosition, tuple[CalendarEntry, ...]]:
    """Return the entries by position; a slot with a draft in the same minute is part of the draft's entry."""
    close = find_conflicts(week.drafts)
    draft_minutes = {_truncate_to_minute(draft.at) for draft in week.drafts}
    slots_by_minute = {_truncate_to_minute(slot.at): slot for slot in week.slots}
    entries: defaultdict[GridPosition, list[CalendarEntry]] = defaultdict(list)
    for slot in week.slots:
        if _truncate_to_minute(slot.at) not in draft_minutes:
            entries[grid_position(slot.at, zone)].append(
                CalendarEntry(slot.at, slot.at.astimezone(zone).minute, slot=slot)
            )
    for draft in week.drafts:
        minute = draft.at.astimezone(zone).minute
        its_slot = slots_by_minute.get(_truncate_to_minute(draft.at))
        entries[grid_position(draft.at, zone)].append(
            CalendarEntry(draft.at, minute, its_slot, draft, close.get(draft.id))
        )
    return {
        position: tuple(sorted(cell_entries, key=lambda entry: (entry.at, entry.key)))
        for position, cell_entries in entries.items()
    }


@lru_cache(maxsize=16)
def _cached_changes(monday: date, zone: ZoneInfo) -> tuple[ClockChange, ...]:
    return tuple(clock_changes(monday, zone))


@lru_cache(maxsize=4096)
def _cached_span(position: GridPosition, zone: ZoneInfo) -> ClockSpan | None:
    return clock_span(position, zone)


def _truncate_to_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _cell(
    position: GridPosition,
    entries: Sequence[CalendarEntry],
    zone_changes: Sequence[ClockChange],
    zone: ZoneInfo,
    now: datetime,
) -> HourCell:
    hour_span = _cached_span(position, zone)
    is_repeated = any(change.day == position.day and _occurs_twice(position.hour, change) for change in zone_changes)
    return HourCell(
        position=position,
        span=hour_span,
        entries=tuple(entries),
        repeated_offset=hour_span.start.astimezone(zone).isoformat(timespec="minutes")[16:]
        if hour_span and is_repeated
        else "",
        is_past=hour_span is not None and hour_span.start + timedelta(minutes=hour_span.end - hour_span.first) <= now,
        is_now=grid_position(now, zone) == position,
    )


def _occurs_twice(hour: Hour, change: ClockChange) -> bool:
    """Return True if the hour, or a part of it, occurs twice."""
    last = change.last if change.last > change.first else time.max  # to midnight
    return not change.forward and time(hour.hour) < last and change.first <= time(hour.hour, 59)


def _visible_hours(
    hours: Sequence[Hour], days: Sequence[date], cells: Mapping[GridPosition, HourCell], rows: int
) -> list[Hour]:
    optional = [
        hour
        for hour in hours
        if hour.hour < FIRST_HOUR
        and not any(
            cell.entries or cell.is_now or cell.repeated_offset or _is_irregular(cell)
            for cell in (cells[GridPosition(day, hour)] for day in days)
        )
    ]
    left_out = set(optional[: max(len(hours) - rows, 0)])
    return [hour for hour in hours if hour not in left_out]


def _is_irregular(cell: HourCell) -> bool:
    return cell.is_skipped or (cell.span is not None and not cell.span.is_complete)


def format_slot(slot: Slot) -> str:
    """Format a slot as `Mon 09:00`."""
    return f"{labels.DAYS[(slot.day_of_week - 1) % 7]} {slot.hour:02}:{slot.minute:02}"
