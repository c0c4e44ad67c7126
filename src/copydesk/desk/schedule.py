"""When drafts go out: the user's slots and time zone, what is close together, and the automatic schedule."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import msgspec
from sqlalchemy import Connection

from copydesk.desk.auto import Auto
from copydesk.desk.clockwork import Clockwork
from copydesk.desk.ground import Ground
from copydesk.desk.picking_up import PickingUp
from copydesk.desk.review import Review
from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Draft
from copydesk.model.job import ClockDoubt
from copydesk.model.schedule import (
    CLOSE,
    MOST_IN_WEEK,
    AutoSchedule,
    Conflict,
    Conflicts,
    ReadTime,
    Slot,
    Week,
    WeekDraft,
    WeekSlot,
    read_slots,
)
from copydesk.scheduling.daytime import slot_read, slot_written
from copydesk.scheduling.meant import about_the_change
from copydesk.scheduling.shown import shown
from copydesk.scheduling.slots import checked_slots, occurrences
from copydesk.scheduling.times import time_read
from copydesk.scheduling.zones import instant_of_wall, zone_named
from copydesk.store import planned, schedule, users
from copydesk.store.planned import InWeek, Timed, first_line

_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


class Schedule:
    """The user's slots, and what stands in them.

    `picking_up` is what happens when a draft's time has come, `clock` whether the time can be trusted.
    """

    def __init__(self, ground: Ground, review: Review) -> None:
        self._ground = ground
        self._review = review
        self.clock = Clockwork(ground)
        self.picking_up = PickingUp(ground, self.clock)

    async def slots(self) -> tuple[Slot, ...]:
        """The user's weekly slots, Sunday first."""
        return await self._ground.read(schedule.slots)

    async def set_slots(self, slots: Sequence[Slot | Mapping[str, object]]) -> tuple[Slot, ...]:
        """Replace all slots by these, values or objects of the three fields; InvalidError with every wrong one.

        They are on the clock of the user's zone.
        """
        checked = checked_slots(read_slots(slots))
        await self._ground.write(schedule.set_slots, checked)
        return checked

    def read_slot(self, text: str, *, field: str = "slots") -> Slot:
        """A slot as people write it: `mon 09:00`. InvalidError that shows how."""
        return slot_read(text, field=field)

    def written(self, slot: Slot) -> str:
        """A slot as people write it."""
        return slot_written(slot)

    async def zone(self) -> str:
        """The IANA name of the user's time zone."""
        return (await self._ground.read(schedule.zone)).key

    async def set_zone(self, name: str) -> str:
        """Let slots and times be on the clock of another zone from now on; its name.

        What is scheduled keeps the wall time and the zone that it was meant in. InvalidError for a zone that does not
        exist.
        """
        zone = zone_named(name)
        await self._ground.write(users.set_time_zone, zone.key)
        self._ground.user = msgspec.structs.replace(self._ground.user, time_zone=zone.key)
        return zone.key

    async def read_time(self, text: str, *, field: str = "scheduledAt") -> ReadTime:
        """A time as people write it, on the clock of the user's zone, and as it is to be shown back.

        InvalidError where it cannot be read in exactly one way, is not in the future or is over ten years ahead.
        """
        zone, now = await self._ground.read(schedule.zone), self._ground.clock()
        moment = time_read(text, zone, now, field=field)
        return ReadTime(at=moment.at, shown=shown(moment.at, zone, now), note=about_the_change(moment))

    async def shown(self, *instants: datetime) -> tuple[str, ...]:
        """Instants as the user is told them, on the clock of the user's zone."""
        zone, now = await self._ground.read(schedule.zone), self._ground.clock()
        return tuple(shown(at, zone, now) for at in instants)

    async def next_for(self, draft_id: str) -> Draft:
        """Give an approved draft the next slot that is free. Raises as any change of a draft does."""
        return await self._review.schedule(draft_id, smart=True)

    async def conflicts(self, scheduled_at: datetime, exclude: str | None = None) -> Conflicts:
        """The drafts within 30 minutes of a time, but for `exclude`. InvalidError for a time without an offset."""
        if scheduled_at.utcoffset() is None:
            raise InvalidError(FieldError("scheduledAt", "needs an offset from UTC, such as Z or +01:00"))
        try:
            first, last = scheduled_at - CLOSE, scheduled_at + CLOSE
        except OverflowError:
            raise InvalidError(FieldError("scheduledAt", "is at an end of the calendar")) from None
        near = await self._ground.read(planned.standing, first, last)
        close = tuple(_conflict(each, scheduled_at) for each in near if each.id != exclude)
        return Conflicts(has_conflict=bool(close), count=len(close), conflicts=close)

    async def week(self, day: date | None = None) -> Week:
        """The week of a day, on the clock of the user's zone; without a day the one that is now.

        InvalidError at an end of the calendar.
        """
        return await self._ground.read(_week, day, self._ground.clock())

    async def auto(self, draft_ids: Sequence[str] | None = None, *, dry_run: bool = False) -> AutoSchedule:
        """Give each approved draft, or those of the ids, the next free slot; the best draft first, then the oldest.

        Each draft is a transaction of its own, and all are undone as one. With `dry_run` nothing is changed. Drafts
        that got no time are counted, and the reason says why. InvalidError for an empty list of ids.
        """
        return await Auto(self._ground).schedule(draft_ids, dry_run=dry_run)

    async def clock_doubt(self) -> ClockDoubt | None:
        """What is wrong with the wall clock; None where nothing is. As long as there is, nothing goes out by itself."""
        return await self.clock.doubt()

    async def accept_clock(self) -> ClockDoubt | None:
        """Trust the wall clock as it is now; the doubt that there was."""
        return await self.clock.accept()


def _week(conn: Connection, user_id: str, day: date | None, now: datetime) -> Week:
    zone = schedule.zone(conn, user_id)
    day = day or now.astimezone(zone).date()
    try:
        return _week_from(conn, user_id, day - day.weekday() * _DAY, zone)
    except OverflowError:
        raise InvalidError(FieldError("day", "is at an end of the calendar")) from None


def _week_from(conn: Connection, user_id: str, monday: date, zone: ZoneInfo) -> Week:
    start, end = (instant_of_wall(datetime.combine(each, time()), zone) for each in (monday, monday + _WEEK))
    slots = schedule.slots(conn, user_id)
    coming = occurrences(slots, zone, start - timedelta(microseconds=1))
    near = planned.in_week(conn, user_id, start - CLOSE, end + CLOSE, MOST_IN_WEEK + 1)
    return Week(
        zone=zone.key,
        monday=monday,
        every_slot=slots,
        slots=tuple(WeekSlot(slot=each.slot, at=each.at) for each in takewhile(lambda each: each.at < end, coming)),
        drafts=tuple(_in_week(each) for each in near[:MOST_IN_WEEK]),
        more=len(near) > MOST_IN_WEEK,
    )


def _in_week(each: InWeek) -> WeekDraft:
    named = {name: getattr(each, name) for name in InWeek.__struct_fields__}
    return WeekDraft(**named | {"text": first_line(each.text)})


def _conflict(each: Timed, at: datetime) -> Conflict:
    minutes = round((each.at - at).total_seconds() / 60, 1)
    return Conflict(id=each.id, text=first_line(each.text), format=each.format, scheduled_at=each.at, minutes=minutes)
