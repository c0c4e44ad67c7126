"""Weekly slots: when they come round on the clocks of a zone, and which of those times are free."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.schedule import Slot
from copydesk.scheduling.daytime import slot_written
from copydesk.scheduling.meant import Moment, moment_on

MOST_SLOTS = 500
HORIZON = timedelta(days=366)
"""How far ahead a free slot is looked for."""
_BOUNDS = {"day_of_week": ("dayOfWeek", 6), "hour": ("hour", 23), "minute": ("minute", 59)}


class Occurrence(Moment, frozen=True):
    """One time at which a slot comes round."""

    slot: Slot


def checked_slots(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """The slots in the order of the week, Sunday first.

    Raises InvalidError that names each slot with a value out of bounds, or that stands twice, as `slots[2]`.
    """
    if len(slots) > MOST_SLOTS:
        raise InvalidError(FieldError("slots", f"takes at most {MOST_SLOTS}, not {len(slots)}"))
    wrong = [error for place, slot in enumerate(slots) for error in _out_of_bounds(slot, f"slots[{place}]")]
    if wrong := wrong or _repeated(slots):
        raise InvalidError(*wrong)
    return tuple(sorted(slots, key=lambda slot: (slot.day_of_week, slot.hour, slot.minute)))


def occurrences(slots: Collection[Slot], zone: ZoneInfo, after: datetime) -> Iterator[Occurrence]:
    """Every time later than `after` at which a slot comes round, in order and without an end.

    A slot that a clock change skips is at the first minute after the gap; where several slots are there, they are one.
    A slot in a repeated hour is at the first of the two.
    """
    for _, at_one_instant in groupby(_of_each_slot(slots, zone, after), key=lambda each: each.at):
        *_, last = at_one_instant  # the one slot that is there by its own wall time, if any, and not through the gap
        yield last


def free(
    slots: Collection[Slot],
    zone: ZoneInfo,
    taken: Collection[datetime],
    now: datetime,
    *,
    not_before: datetime | None = None,
) -> Iterator[Occurrence]:
    """The times of the next 366 days at which a slot comes round and no draft stands, in order.

    `taken` are the instants at which drafts of this user stand; a slot is a minute, so one anywhere in that minute
    takes it. All times are later than `now`. With `not_before` they are also at or after it, and the 366 days count
    from there where it is later than `now`.
    """
    start = max(now, not_before - timedelta(microseconds=1)) if not_before else now
    full = {_minute(at) for at in taken}
    for occurrence in occurrences(slots, zone, start):
        if occurrence.at > start + HORIZON:
            return
        if _minute(occurrence.at) not in full:
            yield occurrence


def next_free(
    slots: Collection[Slot],
    zone: ZoneInfo,
    taken: Collection[datetime],
    now: datetime,
    *,
    not_before: datetime | None = None,
) -> Occurrence | None:
    """The first of the `free` times; None where all are taken or there are no slots."""
    return next(free(slots, zone, taken, now, not_before=not_before), None)


def _of_each_slot(slots: Collection[Slot], zone: ZoneInfo, after: datetime) -> Iterator[Occurrence]:
    """The times of all slots in order of their wall times, which is that of the instants too."""
    by_day = _times_by_day(slots)
    day = after.astimezone(zone).date()
    while by_day:
        for slot, clock in by_day.get(day.isoweekday() % 7, ()):
            moment = moment_on(datetime.combine(day, clock), zone)
            if moment.at > after:
                yield Occurrence(at=moment.at, meant=moment.meant, slot=slot)
        day += timedelta(days=1)


def _times_by_day(slots: Collection[Slot]) -> dict[int, list[tuple[Slot, time]]]:
    by_day: defaultdict[int, list[tuple[Slot, time]]] = defaultdict(list)
    for slot in sorted(slots, key=lambda slot: (slot.hour, slot.minute)):
        by_day[slot.day_of_week].append((slot, time(slot.hour, slot.minute)))
    return by_day


def _minute(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def _out_of_bounds(slot: Slot, place: str) -> list[FieldError]:
    return [
        FieldError(f"{place}.{shown}", f"takes 0 to {most}, not {getattr(slot, name)}")
        for name, (shown, most) in _BOUNDS.items()
        if not 0 <= getattr(slot, name) <= most
    ]


def _repeated(slots: Sequence[Slot]) -> list[FieldError]:
    first: dict[Slot, int] = {}
    for place, slot in enumerate(slots):
        first.setdefault(slot, place)
    return [
        FieldError(f"slots[{place}]", f"{slot_written(slot)} is already slots[{first[slot]}]")
        for place, slot in enumerate(slots)
        if first[slot] != place
    ]
