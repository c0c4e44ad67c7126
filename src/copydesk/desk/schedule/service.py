"""Scheduling: the user's slots and time zone, conflicts, the week view and the automatic schedule."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import msgspec

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.review import Review
from copydesk.desk.operation import operation
from copydesk.desk.publishing.due_drafts import DueDrafts
from copydesk.desk.schedule.auto_scheduler import AutoScheduler
from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Action, Draft
from copydesk.model.job import ClockWarning
from copydesk.model.requests import ChangeDraft
from copydesk.model.schedule import (
    CONFLICT_WINDOW,
    MAX_WEEK_DRAFTS,
    AutoSchedule,
    Conflict,
    Conflicts,
    ParsedTime,
    Slot,
    Week,
    WeekDraft,
    WeekSlot,
    parse_slots,
)
from copydesk.scheduling.slots import occurrences, validate_slots
from copydesk.scheduling.time_text import format_slot, format_time, parse_slot, parse_time
from copydesk.scheduling.wall_time import describe_clock_change, get_zone, instant_of_wall
from copydesk.store import schedule, users
from copydesk.store.database import Transaction
from copydesk.store.schedule import ScheduledDraft, WeekEntry, first_line

_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


class Schedule:
    """The user's weekly slots and the drafts scheduled in them.

    `due_drafts` processes drafts whose time has come.
    """

    def __init__(self, ctx: DeskContext, review: Review, clock_guard: ClockGuard) -> None:
        self._ctx = ctx
        self._review = review
        self._clock_guard = clock_guard
        self.due_drafts = DueDrafts(ctx, self._clock_guard)

    @operation
    async def slots(self) -> tuple[Slot, ...]:
        """Return the user's weekly slots, Sunday first."""
        return await self._ctx.read(schedule.list_slots)

    @operation
    async def set_slots(self, slots: Sequence[Slot | Mapping[str, object]]) -> tuple[Slot, ...]:
        """Replace all slots and return them. Times are wall times in the user's zone.

        `slots` may be `Slot` values or mappings of their three fields. Raise InvalidError listing every invalid one.
        """
        validated = validate_slots(parse_slots(slots))
        await self._ctx.write(schedule.replace_slots, validated)
        return validated

    @operation
    def parse_slot(self, text: str, *, field: str = "slots") -> Slot:
        """Parse a slot such as `mon 09:00`. Raise InvalidError with an example."""
        return parse_slot(text, field=field)

    @operation
    def format_slot(self, slot: Slot) -> str:
        """Format a slot such as `mon 09:00`."""
        return format_slot(slot)

    @operation
    async def zone(self) -> str:
        """Return the IANA name of the user's time zone."""
        return (await self._ctx.read(schedule.get_time_zone)).key

    @operation
    async def set_zone(self, name: str) -> str:
        """Set the time zone for slots and for times entered from now on; return its IANA name.

        Scheduled drafts keep their wall time and the zone in which it was entered. Raise InvalidError for an unknown
        zone.
        """
        zone = get_zone(name)
        await self._ctx.write(users.set_time_zone, zone.key)
        # Keep the context's copy of the user in step with the database.
        self._ctx.user = msgspec.structs.replace(self._ctx.user, time_zone=zone.key)
        return zone.key

    @operation
    async def parse_time(self, text: str, *, field: str = "scheduledAt") -> ParsedTime:
        """Parse a time typed by the user, in the user's zone; return it with its display form.

        Raise InvalidError if it is ambiguous, not in the future, or more than ten years ahead.
        """
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        parsed = parse_time(text, zone, now, field=field)
        return ParsedTime(at=parsed.at, shown=format_time(parsed.at, zone, now), note=describe_clock_change(parsed))

    @operation
    async def format_times(self, *instants: datetime) -> tuple[str, ...]:
        """Return instants formatted for display in the user's zone."""
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        return tuple(format_time(at, zone, now) for at in instants)

    @operation
    async def schedule_next(self, draft_id: str) -> Draft:
        """Schedule an approved draft in the next free slot. Raise as `Review.change` does."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.SCHEDULE, smart_schedule=True))

    @operation
    async def conflicts(self, scheduled_at: datetime, exclude: str | None = None) -> Conflicts:
        """Return the drafts scheduled within 30 minutes of a time, except `exclude`.

        Raise InvalidError for a naive datetime or one at the end of the calendar.
        """
        if scheduled_at.utcoffset() is None:
            raise InvalidError(FieldError("scheduledAt", "needs a UTC offset, such as Z or +01:00"))
        try:
            first, last = scheduled_at - CONFLICT_WINDOW, scheduled_at + CONFLICT_WINDOW
        except OverflowError:
            raise InvalidError(FieldError("scheduledAt", "is outside the supported date range")) from None
        nearby = await self._ctx.read(schedule.list_reserved_between, first, last)
        close = tuple(_to_conflict(draft, scheduled_at) for draft in nearby if draft.id != exclude)
        return Conflicts(has_conflict=bool(close), count=len(close), conflicts=close)

    @operation
    async def week(self, day: date | None = None) -> Week:
        """Return the week that contains `day` (default: today) in the user's zone.

        Raise InvalidError at the ends of the calendar.
        """
        return await self._ctx.read(_load_week, day, self._ctx.clock())

    @operation
    async def auto_schedule(self, draft_ids: Sequence[str] | None = None, *, dry_run: bool = False) -> AutoSchedule:
        """Schedule approved drafts, or those with these ids, in free slots, best score first, then oldest first.

        Each draft is a transaction of its own, and all are undone as one. With `dry_run` nothing is written. Drafts
        that got no slot are counted, with the reason. Raise InvalidError for an empty list of ids.
        """
        return await AutoScheduler(self._ctx).schedule(draft_ids, dry_run=dry_run)

    @operation
    async def clock_warning(self) -> ClockWarning | None:
        """Return why the wall clock is in doubt, or None. While it is, nothing is posted automatically."""
        return await self._clock_guard.check()

    @operation
    async def accept_clock(self) -> ClockWarning | None:
        """Trust the wall clock as it is now; return the warning this dismisses, if any."""
        return await self._clock_guard.accept()


def _load_week(conn: Transaction, user_id: str, day: date | None, now: datetime) -> Week:
    zone = schedule.get_time_zone(conn, user_id)
    day = day or now.astimezone(zone).date()
    try:
        return _week_from(conn, user_id, day - day.weekday() * _DAY, zone)
    except OverflowError:
        raise InvalidError(FieldError("day", "is outside the supported date range")) from None


def _week_from(conn: Transaction, user_id: str, monday: date, zone: ZoneInfo) -> Week:
    start, end = (instant_of_wall(datetime.combine(midnight, time()), zone) for midnight in (monday, monday + _WEEK))
    slots = schedule.list_slots(conn, user_id)
    # `occurrences` starts after the given instant; a slot at midnight on Monday belongs to the week.
    upcoming = occurrences(slots, zone, start - timedelta(microseconds=1))
    # One row more than is shown tells whether there are more.
    nearby = schedule.list_week(conn, user_id, start - CONFLICT_WINDOW, end + CONFLICT_WINDOW, MAX_WEEK_DRAFTS + 1)
    return Week(
        zone=zone.key,
        monday=monday,
        every_slot=slots,
        slots=tuple(WeekSlot(slot=slot.slot, at=slot.at) for slot in takewhile(lambda slot: slot.at < end, upcoming)),
        drafts=tuple(_to_week_draft(draft) for draft in nearby[:MAX_WEEK_DRAFTS]),
        more=len(nearby) > MAX_WEEK_DRAFTS,
    )


def _to_week_draft(row: WeekEntry) -> WeekDraft:
    fields = {name: getattr(row, name) for name in WeekEntry.__struct_fields__}
    return WeekDraft(**fields | {"text": first_line(row.text)})


def _to_conflict(draft: ScheduledDraft, at: datetime) -> Conflict:
    minutes = round((draft.at - at).total_seconds() / 60, 1)
    return Conflict(
        id=draft.id, text=first_line(draft.text), format=draft.format, scheduled_at=draft.at, minutes=minutes
    )
