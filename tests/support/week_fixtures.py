"""Weeks of a schedule without a desk, among them the weeks of clock changes."""

from datetime import UTC, date, datetime
from itertools import count
from zoneinfo import ZoneInfo

from copydesk.model.draft import Format, Status
from copydesk.model.schedule import Slot, Week, WeekDraft, WeekSlot
from copydesk.tui.schedule.week import instant

SPRING, AUTUMN = date(2026, 3, 23), date(2026, 10, 19)
"""Mondays of the weeks in which Prague changes its clocks."""
NOW = datetime(2026, 3, 25, 9, 30, tzinfo=UTC)
_numbers = count(1)


def make_week(monday: date = SPRING, zone: str = "UTC", *stands: WeekDraft | WeekSlot, more: bool = False) -> Week:
    """Return a week with these drafts and slots."""
    drafts = tuple(sorted((entry for entry in stands if isinstance(entry, WeekDraft)), key=lambda entry: entry.at))
    slots = tuple(sorted((entry for entry in stands if isinstance(entry, WeekSlot)), key=lambda entry: entry.at))
    weekly_slots = tuple(entry.slot for entry in slots)
    return Week(zone=zone, monday=monday, every_slot=weekly_slots, slots=slots, drafts=drafts, more=more)


def at_wall_time(text: str, zone: str = "UTC") -> datetime:
    """Return the first instant at which clocks of the zone show a time like `2026-03-25 14:30`."""
    return instant(datetime.fromisoformat(text), ZoneInfo(zone))


def make_week_draft(at: datetime, text: str = "Words.", status: Status = Status.SCHEDULED) -> WeekDraft:
    """Return a draft with a scheduled time."""
    return WeekDraft(
        id=f"draft-{next(_numbers)}",
        status=status,
        format=Format.SHORT,
        at=at,
        wall=None,
        zone=None,
        text=text,
    )


def make_free_slot(at: datetime, zone: str = "UTC") -> WeekSlot:
    """Return the occurrence of a weekly slot at this instant."""
    local = at.astimezone(ZoneInfo(zone))
    return WeekSlot(slot=Slot(day_of_week=local.isoweekday() % 7, hour=local.hour, minute=local.minute), at=at)
