"""A week of the schedule as cells, a day wide and an hour high. Pure: the widget only draws them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from copydesk.model.draft import Status
from copydesk.model.schedule import CLOSE, Week, WeekDraft, WeekSlot
from copydesk.tui.week_clock import Change, Hour, Place, Span, changes, place, span

FIRST_HOUR = 6
"""The hours before it are shown only where something stands in them, or where there is room for all."""
LABEL = 7
"""Cells of the hours at the left."""
NARROWEST = 8
"""Cells of a day, at least, for seven of them to be shown at once."""
_STANDING = frozenset({Status.SCHEDULED, Status.POSTING})


class Thing(NamedTuple):
    """A draft, a free slot, or a draft in its slot."""

    at: datetime
    minute: int
    slot: WeekSlot | None = None
    draft: WeekDraft | None = None
    close: int | None = None
    """Minutes to the nearest other draft, where it is a conflict; before it is negative."""

    @property
    def key(self) -> str:
        """By which it is found again when the week was read anew."""
        return self.draft.id if self.draft else f"slot {self.at.isoformat()}"


class Cell(NamedTuple):
    """One hour of one day."""

    where: Place
    span: Span | None
    """None where the clocks do not show the hour."""
    things: tuple[Thing, ...]
    """In order."""
    twice: str
    """The offset from UTC, as `+02:00`, where the hour comes twice on that day; else empty."""
    past: bool
    now: bool

    @property
    def skipped(self) -> bool:
        """Whether a clock change leaves the hour out."""
        return self.span is None and not self.where.hour.again


class Grid(NamedTuple):
    """Days from left to right, hours from top to bottom."""

    days: tuple[date, ...]
    hours: tuple[Hour, ...]
    cells: Mapping[Place, Cell]
    """All seven days, all hours, whether they are shown or not."""
    changes: tuple[Change, ...]

    def nearest(self, where: Place) -> Place:
        """The same hour of the day or, where that is not shown, the one before it; the first where there is none."""
        before = [hour for hour in self.hours if hour <= where.hour]
        return where if where.hour in self.hours else Place(where.day, before[-1] if before else self.hours[0])


def lay_out(week: Week, now: datetime, *, only: date | None = None, rows: int = 0) -> Grid:
    """The week's cells.

    With `only` one day is shown, else all seven. Hours that nobody uses are left out where there are fewer than
    24 `rows`.
    """
    zone = ZoneInfo(week.zone)
    days = tuple(week.monday + timedelta(days=number) for number in range(7))
    moves = _changes(week.monday, zone)
    things = _things(week, zone)
    every = [Hour(hour, again) for hour in range(24) for again in (False, True)]
    every = [hour for hour in every if not hour.again or any(_twice(hour, each) for each in moves)]
    cells = {
        where: _cell(where, things.get(where, ()), moves, zone, now)
        for where in (Place(day, hour) for day in days for hour in every)
    }
    shown = every if rows >= len(every) else list(_used(every, days, cells))
    return Grid(days=(only,) if only else days, hours=tuple(shown), cells=cells, changes=moves)


def days_at_once(width: int) -> int:
    """How many days there is room for: all seven, or one."""
    return 7 if (width - LABEL) // 7 >= NARROWEST else 1


def with_time(week: Week, draft_id: str, at: datetime) -> Week:
    """The week once a draft is scheduled for another time."""
    drafts = [
        replace(each, at=at, wall=None, zone=None, status=Status.SCHEDULED) if each.id == draft_id else each
        for each in week.drafts
    ]
    return replace(week, drafts=tuple(sorted(drafts, key=lambda each: (each.at, each.id))))


def near(drafts: Iterable[WeekDraft]) -> dict[str, int]:
    """The drafts that go out within 30 minutes of another one; minutes to the nearest."""
    found: dict[str, int] = {}
    standing = sorted((each for each in drafts if each.status in _STANDING), key=lambda each: (each.at, each.id))
    for one, other in pairwise(standing):
        if other.at - one.at <= CLOSE:
            apart = round((other.at - one.at).total_seconds() / 60)
            if abs(found.get(one.id, apart + 1)) > apart:
                found[one.id] = apart
            found[other.id] = -apart
    return found


def _things(week: Week, zone: ZoneInfo) -> dict[Place, tuple[Thing, ...]]:
    """What stands where; a slot with a draft in its minute is that draft's."""
    close = near(week.drafts)
    taken = {_minute(draft.at) for draft in week.drafts}
    slots = {_minute(slot.at): slot for slot in week.slots}
    found: defaultdict[Place, list[Thing]] = defaultdict(list)
    for slot in week.slots:
        if _minute(slot.at) not in taken:
            found[place(slot.at, zone)].append(Thing(slot.at, slot.at.astimezone(zone).minute, slot=slot))
    for draft in week.drafts:
        minute = draft.at.astimezone(zone).minute
        slot_of = slots.get(_minute(draft.at))
        found[place(draft.at, zone)].append(Thing(draft.at, minute, slot_of, draft, close.get(draft.id)))
    return {where: tuple(sorted(some, key=lambda each: (each.at, each.key))) for where, some in found.items()}


@lru_cache(maxsize=16)
def _changes(monday: date, zone: ZoneInfo) -> tuple[Change, ...]:
    return tuple(changes(monday, zone))


@lru_cache(maxsize=4096)
def _span(where: Place, zone: ZoneInfo) -> Span | None:
    return span(where, zone)


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _cell(where: Place, things: Sequence[Thing], moves: Sequence[Change], zone: ZoneInfo, now: datetime) -> Cell:
    shown = _span(where, zone)
    twice = any(each.day == where.day and _twice(where.hour, each) for each in moves)
    return Cell(
        where=where,
        span=shown,
        things=tuple(things),
        twice=shown.start.astimezone(zone).isoformat(timespec="minutes")[16:] if shown and twice else "",
        past=shown is not None and shown.start + timedelta(minutes=shown.end - shown.first) <= now,
        now=place(now, zone) == where,
    )


def _twice(hour: Hour, change: Change) -> bool:
    """Whether the hour, or a part of it, comes twice."""
    last = change.last if change.last > change.first else time.max  # to midnight
    return not change.forward and time(hour.hour) < last and change.first <= time(hour.hour, 59)


def _used(every: Sequence[Hour], days: Sequence[date], cells: Mapping[Place, Cell]) -> Iterator[Hour]:
    for hour in every:
        row = [cells[Place(day, hour)] for day in days]
        if hour.hour >= FIRST_HOUR or any(cell.things or cell.now or cell.twice or _odd(cell) for cell in row):
            yield hour


def _odd(cell: Cell) -> bool:
    return cell.skipped or (cell.span is not None and not cell.span.whole)
