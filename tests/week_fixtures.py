"""Weeks of a schedule without a desk, and the weeks in which clocks change."""

from datetime import UTC, date, datetime
from itertools import count
from zoneinfo import ZoneInfo

from copydesk.model.draft import Format, Status
from copydesk.model.schedule import Slot, Week, WeekDraft, WeekSlot
from copydesk.tui.week_clock import instant

SPRING, AUTUMN = date(2026, 3, 23), date(2026, 10, 19)
"""The Mondays of the weeks in which Prague changes its clocks."""
NOW = datetime(2026, 3, 25, 9, 30, tzinfo=UTC)
_number = count(1)


def week(monday: date = SPRING, zone: str = "UTC", *stands: WeekDraft | WeekSlot, more: bool = False) -> Week:
    """A week with these drafts and slots in it."""
    drafts = tuple(sorted((each for each in stands if isinstance(each, WeekDraft)), key=lambda each: each.at))
    slots = tuple(sorted((each for each in stands if isinstance(each, WeekSlot)), key=lambda each: each.at))
    every = tuple(each.slot for each in slots)
    return Week(zone=zone, monday=monday, every_slot=every, slots=slots, drafts=drafts, more=more)


def wall(text: str, zone: str = "UTC") -> datetime:
    """When the clocks of the zone show `2026-03-25 14:30`, the first time."""
    return instant(datetime.fromisoformat(text), ZoneInfo(zone))


def draft(at: datetime, text: str = "Words.", status: Status = Status.SCHEDULED) -> WeekDraft:
    """A draft that has a time."""
    return WeekDraft(
        id=f"draft-{next(_number)}",
        status=status,
        format=Format.SHORT,
        at=at,
        wall=None,
        zone=None,
        text=text,
    )


def free(at: datetime, zone: str = "UTC") -> WeekSlot:
    """A slot that comes round then."""
    here = at.astimezone(ZoneInfo(zone))
    return WeekSlot(slot=Slot(day_of_week=here.isoweekday() % 7, hour=here.hour, minute=here.minute), at=at)
