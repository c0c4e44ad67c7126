"""Scheduling: weekly slots on the wall clock of the user's time zone, conflicts, the week view."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.serialization import Struct
from copydesk.model.validation import MAX_ID_LENGTH, MAX_PROBLEMS, FieldReader, Id

MAX_DRAFTS = 10_000
"""Drafts per request for automatic scheduling."""
MAX_SLOTS = 500
"""Weekly slots: one every 20 minutes. Every occurrence of a year ahead may have to be searched."""
CONFLICT_WINDOW = timedelta(minutes=30)
"""Drafts at most this far apart are in conflict."""
MAX_WEEK_DRAFTS = 2_000
"""Drafts returned for one week."""

SET_SLOTS_COMMAND = 'copydesk slot set "mon 09:00"'
"""The command named in hints when there are no slots; the console replaces it by its own keys."""
DAY_GROUPS = {"daily": frozenset(range(7)), "weekdays": frozenset(range(1, 6))}
"""Name -> days that people write as one, from Sunday (0); the larger group first."""
NO_SLOTS_REASON = "no weekly slots yet"
"""The `reason` of an AutoSchedule if no slots are defined."""


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A weekly time; `day_of_week` is 0 (Sunday) to 6 (Saturday)."""

    day_of_week: Annotated[int, msgspec.Meta(ge=0, le=6)]
    hour: Annotated[int, msgspec.Meta(ge=0, le=23)]
    minute: Annotated[int, msgspec.Meta(ge=0, le=59)]


def name_days(slots: Sequence[Slot], day_names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (day, time) of the slots in their order, once per group of days that all have the time.

    `day_names` are the names of single days, from Sunday.
    """
    days_by_time: dict[tuple[int, int], set[int]] = {}
    for slot in slots:
        days_by_time.setdefault((slot.hour, slot.minute), set()).add(slot.day_of_week)

    def name(slot: Slot) -> str:
        days = days_by_time[slot.hour, slot.minute]
        groups = (group for group, all_days in DAY_GROUPS.items() if slot.day_of_week in all_days <= days)
        return next(groups, day_names[slot.day_of_week])

    return list(dict.fromkeys((name(slot), f"{slot.hour:02}:{slot.minute:02}") for slot in slots))


class AutoScheduleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Drafts to schedule automatically; None selects every approved one."""

    draft_ids: Annotated[tuple[Id, ...], msgspec.Meta(min_length=1, max_length=MAX_DRAFTS)] | None = None


class ParsedTime(Struct, frozen=True):
    """A parsed time, for confirmation by the user."""

    at: datetime
    shown: str
    """`Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`."""
    note: str
    """A warning that a clock change skips the time or makes it ambiguous; usually empty."""


class Conflict(Struct, frozen=True):
    """A draft scheduled close to a given time."""

    id: str
    text: str
    """First line, at most 200 characters."""
    format: Format
    scheduled_at: datetime
    minutes: float
    """Distance from the given time; negative is before it."""


class Conflicts(Struct, frozen=True):
    """The drafts within 30 minutes of a time, in order."""

    has_conflict: bool
    count: int
    conflicts: tuple[Conflict, ...]


MAX_FIRST_LINE = 200
"""Characters of a draft's first line; a line of as many may have been cut."""


class SlotAssignment(Struct, frozen=True):
    """A draft and the slot assigned to it, or proposed for it."""

    draft_id: str
    scheduled_at: datetime
    format: Format
    confidence: float
    text: str
    """First line, at most 200 characters."""
    confidence_known: bool = False
    """False until enough drafts are decided; see Draft."""


class AutoSchedule(Struct, frozen=True):
    """Result of automatic scheduling, or of a dry run, in order of time."""

    scheduled: tuple[SlotAssignment, ...]
    skipped: int
    """Drafts without a slot."""
    reason: str
    """Why drafts were skipped; empty if none was."""
    bulk_id: str | None = None
    """Undoes all of it at once; None if nothing was changed."""
    without_account: int = 0
    """Scheduled drafts that no connected account would post: they wait for one, and are missed in the end."""
    lacking_approvals: int = 0
    """Scheduled drafts that lack an approval which one of their accounts asks for: they wait for it likewise."""


class WeekSlot(Struct, frozen=True):
    """An occurrence of a slot in one week."""

    slot: Slot
    at: datetime
    """Later than the slot's nominal time if a clock change skips that."""


class WeekDraft(Struct, frozen=True):
    """A draft with a scheduled or past posting time in one week."""

    id: str
    status: Status
    format: Format
    at: datetime
    """The scheduled time; for a posted draft, the time it was posted."""
    wall: str | None
    """The intended wall-clock time in `zone`."""
    zone: str | None
    text: str
    """First line, at most 200 characters."""
    held: str | None = None
    """The reason for which it will not be posted, although it has a time: its source changed."""


class Week(Struct, frozen=True):
    """Seven days in the user's time zone, from Monday."""

    zone: str
    monday: date
    every_slot: tuple[Slot, ...]
    """All weekly slots, from Sunday."""
    slots: tuple[WeekSlot, ...]
    """In order. Occurrences that a clock change makes coincide are merged."""
    drafts: tuple[WeekDraft, ...]
    """In order. Includes those up to 30 minutes before and after the week, which may conflict with drafts inside it."""
    more: bool
    """True if there are more than MAX_WEEK_DRAFTS."""


def parse_slots(values: Sequence[Slot | Mapping[str, object]]) -> tuple[Slot, ...]:
    """Return the validated slots; all three fields are required. Raise InvalidError with every invalid field."""
    problems: list[FieldError] = []
    # A string is a sequence, too.
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise InvalidError(FieldError("slots", "takes a list"))
    slots = [
        _read_slot(FieldReader(Slot, entry, prefix=f"slots[{index}].", problems=problems))
        for index, entry in enumerate(values)
    ]
    if problems:
        raise InvalidError(*problems[:MAX_PROBLEMS])
    return tuple(slots)


def _read_slot(reader: FieldReader) -> Slot:
    reader.require("dayOfWeek", "hour", "minute")
    day, hour, minute = reader.number("dayOfWeek", 0, 6), reader.number("hour", 0, 23), reader.number("minute", 0, 59)
    return Slot(day_of_week=day or 0, hour=hour or 0, minute=minute or 0)


def validate_draft_ids(draft_ids: object) -> tuple[str, ...]:
    """Return the distinct draft ids. Raise InvalidError for none, too many, or an invalid id.

    An empty list is refused: a caller whose filter matched nothing does not mean every draft.
    """
    reader = FieldReader(AutoScheduleRequest, {"draftIds": draft_ids})
    ids = reader.texts("draftIds", MAX_DRAFTS, MAX_ID_LENGTH, min_count=1)
    reader.raise_if_invalid()
    return ids
