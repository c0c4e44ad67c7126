"""When drafts go out: weekly slots on the wall clock of the user's time zone."""

from datetime import datetime
from typing import Annotated

import msgspec

from copydesk.model.draft import Format
from copydesk.model.wire import Struct


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A weekly time; `day_of_week` is 0 for Sunday to 6 for Saturday."""

    day_of_week: Annotated[int, msgspec.Meta(ge=0, le=6)]
    hour: Annotated[int, msgspec.Meta(ge=0, le=23)]
    minute: Annotated[int, msgspec.Meta(ge=0, le=59)]


class ReadTime(Struct, frozen=True):
    """A time as it was read, to be shown back before it counts."""

    at: datetime
    shown: str
    """`Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`."""
    note: str
    """What is to be said besides: that a clock change skips it. Mostly empty."""


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
