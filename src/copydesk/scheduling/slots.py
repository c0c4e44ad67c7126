"""Weekly slots: their occurrences in a time zone, which of them are free, and which approved draft goes into which."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.schedule import MAX_SLOTS, NO_SLOTS_REASON, Slot
from copydesk.model.serialization import Struct
from copydesk.scheduling.time_text import format_slot
from copydesk.scheduling.wall_time import ScheduledTime, WallTime, scheduled_at_wall_time
from copydesk.text.formatting import plural

HORIZON = timedelta(days=366)
"""The period ahead that is searched for free slots."""
# Attribute -> name in JSON and the largest value.
_BOUNDS = {"day_of_week": ("dayOfWeek", 6), "hour": ("hour", 23), "minute": ("minute", 59)}


class SlotOccurrence(ScheduledTime, frozen=True):
    """One occurrence of a slot."""

    slot: Slot


def validate_slots(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """Return the slots in weekly order, Sunday first.

    Raise InvalidError that names each slot that is out of range or a duplicate, as `slots[2]`.
    """
    if len(slots) > MAX_SLOTS:
        raise InvalidError(FieldError("slots", f"takes at most {MAX_SLOTS} slots, not {len(slots)}"))
    errors = [error for index, slot in enumerate(slots) for error in _range_errors(slot, f"slots[{index}]")]
    if errors := errors or _duplicate_errors(slots):
        raise InvalidError(*errors)
    return tuple(sorted(slots, key=lambda slot: (slot.day_of_week, slot.hour, slot.minute)))


def occurrences(slots: Collection[Slot], zone: ZoneInfo, after: datetime) -> Iterator[SlotOccurrence]:
    """Yield every occurrence later than `after`, in order and without end.

    A slot skipped by a clock change occurs at the first minute after the gap; several at that minute count as one. A
    slot in a repeated hour occurs at its first occurrence.
    """
    for _, simultaneous in groupby(_all_occurrences(slots, zone, after), key=lambda occurrence: occurrence.at):
        *_, last = simultaneous  # the last is there by its own wall time, if any is, and not because of the gap
        yield last


def free_slots(
    slots: Collection[Slot],
    zone: ZoneInfo,
    taken: Collection[datetime],
    now: datetime,
    *,
    not_before: datetime | None = None,
) -> Iterator[SlotOccurrence]:
    """Yield the slot occurrences of the next 366 days without a draft, in order.

    `taken` are the instants at which drafts of this user are scheduled. Slots are minutes: a draft anywhere in the
    minute takes it. All occurrences are later than `now`; with `not_before` they are also at or after it, and the 366
    days count from there if it is later than `now`.
    """
    # Occurrences are strictly later than `start`: one microsecond less includes `not_before` itself.
    start = max(now, not_before - timedelta(microseconds=1)) if not_before else now
    taken_minutes = {_start_of_minute(at) for at in taken}
    for occurrence in occurrences(slots, zone, start):
        if occurrence.at > start + HORIZON:
            return
        if _start_of_minute(occurrence.at) not in taken_minutes:
            yield occurrence


def next_free_slot(
    slots: Collection[Slot],
    zone: ZoneInfo,
    taken: Collection[datetime],
    now: datetime,
    *,
    not_before: datetime | None = None,
) -> SlotOccurrence | None:
    """Return the first of `free_slots`; None if all are taken or there are no slots."""
    return next(free_slots(slots, zone, taken, now, not_before=not_before), None)


def _all_occurrences(slots: Collection[Slot], zone: ZoneInfo, after: datetime) -> Iterator[SlotOccurrence]:
    """Yield the occurrences of all slots by wall time, which is also the order of their instants."""
    by_day = _times_by_day(slots)
    day = after.astimezone(zone).date()
    # Without slots there is nothing to yield, and the loop would never end.
    while by_day:
        # isoweekday() has Sunday as 7.
        for slot, slot_time in by_day.get(day.isoweekday() % 7, ()):
            scheduled = scheduled_at_wall_time(datetime.combine(day, slot_time), zone)
            if scheduled.at > after:
                yield SlotOccurrence(at=scheduled.at, wall_time=scheduled.wall_time, slot=slot)
        day += timedelta(days=1)


def _times_by_day(slots: Collection[Slot]) -> dict[int, list[tuple[Slot, time]]]:
    by_day: defaultdict[int, list[tuple[Slot, time]]] = defaultdict(list)
    for slot in sorted(slots, key=lambda slot: (slot.hour, slot.minute)):
        by_day[slot.day_of_week].append((slot, time(slot.hour, slot.minute)))
    return by_day


def _start_of_minute(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def _range_errors(slot: Slot, path: str) -> list[FieldError]:
    return [
        FieldError(f"{path}.{json_name}", f"takes 0 to {maximum}, not {getattr(slot, attribute)}")
        for attribute, (json_name, maximum) in _BOUNDS.items()
        if not 0 <= getattr(slot, attribute) <= maximum
    ]


def _duplicate_errors(slots: Sequence[Slot]) -> list[FieldError]:
    return [
        FieldError(f"slots[{index}]", f"“{format_slot(slot)}” is given twice")
        for index, slot in enumerate(slots)
        if slot in slots[:index]
    ]


class ApprovedDraft(Struct, frozen=True):
    """An approved draft, as far as planning needs it."""

    id: str
    confidence: float | None
    """None if it is not known yet."""
    score: float | None
    """The story's score; None of a draft that no run selected."""
    created_at: datetime


class PlannedDraft(Struct, frozen=True):
    """A draft with its assigned time."""

    draft_id: str
    at: datetime
    wall_time: WallTime


class SchedulePlan(Struct, frozen=True):
    """The assignments in chronological order."""

    scheduled: tuple[PlannedDraft, ...]
    skipped: int
    """Number of drafts without a slot."""
    reason: str
    """Why drafts were skipped; empty if none was."""


def plan_drafts(
    drafts: Iterable[ApprovedDraft], slots: Collection[Slot], zone: ZoneInfo, taken: Collection[datetime], now: datetime
) -> SchedulePlan:
    """Assign free slots to drafts, best first; see `order_drafts`. The order of `drafts` does not matter.

    Duplicate drafts count once. `taken` are the instants at which drafts of this user are scheduled.
    """
    ordered = order_drafts({draft.id: draft for draft in drafts}.values())
    # Drafts first: zip then requests no slot, which may search a year ahead, when no draft is left.
    scheduled = tuple(
        PlannedDraft(draft_id=draft.id, at=slot.at, wall_time=slot.wall_time)
        for draft, slot in zip(ordered, free_slots(slots, zone, taken, now), strict=False)
    )
    skipped = len(ordered) - len(scheduled)
    return SchedulePlan(scheduled=scheduled, skipped=skipped, reason=_reason(skipped, any_slots=bool(slots)))


def order_drafts(drafts: Iterable[ApprovedDraft]) -> list[ApprovedDraft]:
    """Return the drafts by descending confidence; by score as long as that of any is not known; then oldest first."""
    waiting = list(drafts)
    by_confidence = all(draft.confidence is not None for draft in waiting)

    def priority(draft: ApprovedDraft) -> tuple[float, datetime, str]:
        value = draft.confidence if by_confidence else draft.score
        # The id breaks ties, so that a plan can be reproduced.
        return (-(value or 0.0), draft.created_at, draft.id)

    return sorted(waiting, key=priority)


def _reason(skipped: int, *, any_slots: bool) -> str:
    if not skipped:
        return ""
    if not any_slots:
        return NO_SLOTS_REASON
    return f"no free slot for {plural(skipped, 'draft')}: all slots in the next 366 days are taken"
