"""When drafts go out: weekly slots on the wall clock of the user's time zone."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import MOST_PROBLEMS, Asked
from copydesk.model.change import LONGEST_ID
from copydesk.model.draft import Format, Status
from copydesk.model.wire import Struct

MOST_DRAFTS = 10_000
"""So many drafts may be named for the automatic schedule."""
CLOSE = timedelta(minutes=30)
"""Drafts that are no farther apart are conflicts."""
MOST_IN_WEEK = 2_000
"""So many drafts of one week are shown."""

SET_SLOTS = 'copydesk slot set "mon 09:00"'
"""The command that the advice names where there are no slots; the console names its keys in the place of it."""
NO_SLOTS = "there are no slots to schedule to"
"""Why an automatic schedule leaves everything out, where it is this."""


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A weekly time; `day_of_week` is 0 for Sunday to 6 for Saturday."""

    day_of_week: Annotated[int, msgspec.Meta(ge=0, le=6)]
    hour: Annotated[int, msgspec.Meta(ge=0, le=23)]
    minute: Annotated[int, msgspec.Meta(ge=0, le=59)]


class AutoRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which drafts are to be scheduled; None for every approved one."""

    draft_ids: tuple[str, ...] | None = None


class ReadTime(Struct, frozen=True):
    """A time as it was read, to be shown back before it counts."""

    at: datetime
    shown: str
    """`Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`."""
    note: str
    """What is to be said besides: that a clock change skips it, or makes it come twice. Mostly empty."""


class Conflict(Struct, frozen=True):
    """A draft that goes out close to a time."""

    id: str
    text: str
    """Its first line, at most 200 characters."""
    format: Format
    scheduled_at: datetime
    minutes: float
    """How far it is from that time; before it is negative."""


class Conflicts(Struct, frozen=True):
    """The drafts within 30 minutes of a time, in order."""

    has_conflict: bool
    count: int
    conflicts: tuple[Conflict, ...]


class Placed(Struct, frozen=True):
    """A draft and the slot that it got, or would get."""

    draft_id: str
    scheduled_at: datetime
    format: Format
    confidence: float
    text: str
    """Its first line, at most 200 characters."""


class AutoSchedule(Struct, frozen=True):
    """What the automatic schedule did, or would do, in order of time."""

    scheduled: tuple[Placed, ...]
    skipped: int
    """How many drafts got no time."""
    reason: str
    """Why, in words; empty where none was skipped."""
    bulk_id: str | None = None
    """Under which it is undone as one; None where nothing was done."""


class WeekSlot(Struct, frozen=True):
    """A slot as it comes round in one week."""

    slot: Slot
    at: datetime
    """Later than the slot's own time where a clock change skips that."""


class WeekDraft(Struct, frozen=True):
    """A draft that has, or had, a time in one week."""

    id: str
    status: Status
    format: Format
    at: datetime
    """When it goes out; of one that is posted, when that was."""
    wall: str | None
    """What the time was meant as, on the clock of `zone`."""
    zone: str | None
    text: str
    """Its first line, at most 200 characters."""


class Week(Struct, frozen=True):
    """Seven days on the clock of the user's zone, Monday first."""

    zone: str
    monday: date
    every_slot: tuple[Slot, ...]
    """All of the user's, Sunday first."""
    slots: tuple[WeekSlot, ...]
    """In order; those that a clock change brings together are one."""
    drafts: tuple[WeekDraft, ...]
    """In order; with those of 30 minutes before and after, which may be close to one of the week's."""
    more: bool
    """Whether there are more than MOST_IN_WEEK."""


def read_slots(given: Sequence[Slot | Mapping[str, object]]) -> tuple[Slot, ...]:
    """Slots as they come from outside, all three fields required. Raises InvalidError with every wrong field."""
    problems: list[FieldError] = []
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise InvalidError(FieldError("slots", "takes a list"))
    read = [
        _slot(each, Asked(Slot, each, within=f"slots[{place}].", problems=problems)) for place, each in enumerate(given)
    ]
    if problems:
        raise InvalidError(*problems[:MOST_PROBLEMS])
    return tuple(read)


def _slot(given: object, asked: Asked) -> Slot:
    if isinstance(given, Slot):
        return given  # what is out of bounds is found with the others
    asked.need("dayOfWeek", "hour", "minute")
    day, hour, minute = asked.number("dayOfWeek", 0, 6), asked.number("hour", 0, 23), asked.number("minute", 0, 59)
    return Slot(day_of_week=day or 0, hour=hour or 0, minute=minute or 0)


def checked_ids(draft_ids: object) -> tuple[str, ...]:
    """The ids of drafts to be scheduled, each once. Raises InvalidError for none, for too many, and for what is no id.

    An empty list is refused: whoever filtered everything away does not mean every draft.
    """
    asked = Asked(AutoRequest, {"draftIds": draft_ids})
    ids = asked.texts("draftIds", MOST_DRAFTS, LONGEST_ID, least=1)
    asked.refuse()
    return ids
