"""Scheduling: the user's slots and time zone, conflicts, the week view and the automatic schedule.

The automatic schedule makes a plan, then applies it draft by draft. A dry run returns the plan alone.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import msgspec

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.approvals import list_lacking
from copydesk.desk.drafts.change import PreparedChange, write_change
from copydesk.desk.drafts.review import Review, record_bulk
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.publishing.due_drafts import DueDrafts
from copydesk.desk.publishing.missing_accounts import list_without_account
from copydesk.errors import ConflictError, CopydeskError, FieldError, InvalidError, StoreError
from copydesk.model.draft import Action, Draft, Status
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
    SlotAssignment,
    Week,
    WeekDraft,
    WeekSlot,
    parse_slots,
    validate_draft_ids,
)
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.scheduling.slots import ApprovedDraft, PlannedDraft, occurrences, plan_drafts, validate_slots
from copydesk.scheduling.time_text import format_short_time, format_slot, format_time, parse_slot, parse_time
from copydesk.scheduling.wall_time import ScheduledTime, describe_clock_change, get_zone, instant_of_wall
from copydesk.store import draft_updates, schedule, users
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id
from copydesk.store.schedule import ScheduledDraft, SlotCandidate, WeekEntry, first_line

PLAN_BATCH_SIZE = 100
"""Drafts per batch; other writers get their turn between batches."""
MAX_PLAN_ROUNDS = 5
"""Rounds of planning. Each one plans again for the drafts that another process changed in between."""
_MINUTE = timedelta(minutes=1)


class _PlanInputs(Struct, frozen=True):
    """Everything a plan is computed from."""

    candidates: tuple[SlotCandidate, ...]
    slots: tuple[Slot, ...]
    zone: ZoneInfo
    taken: frozenset[datetime]


class _RoundResult(Struct, frozen=True):
    """The result of one round, applied or only planned."""

    placed: tuple[SlotAssignment, ...]
    unplaced: tuple[str, ...]
    """Ids of the drafts that got no time."""
    conflicts: int
    """Number of drafts that were changed, or lost their slot, after the plan was made."""
    reason: str
    """The reason why there were no slots for the others."""


class AutoScheduler:
    """One run of the automatic schedule; all its changes share a bulk id, so that they can be undone together."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._bulk_id = new_id(ctx.clock())

    async def schedule(self, draft_ids: Sequence[str] | None, *, dry_run: bool) -> AutoSchedule:
        """Plan the approved drafts, or those of `draft_ids`, and apply the plan unless `dry_run`.

        Raise InvalidError for ids that are not valid, StoreError if the database fails; drafts scheduled before stay
        scheduled.
        """
        requested_ids = None if draft_ids is None else validate_draft_ids(draft_ids)
        inputs, ineligible = await self._load(requested_ids)
        result = await self._run_round(inputs, dry_run=dry_run)
        placed, rounds = list(result.placed), 1
        while result.conflicts and rounds < MAX_PLAN_ROUNDS:
            # Include drafts that got no slot: one may have become free when another draft was changed.
            inputs, newly_ineligible = await self._load(result.unplaced)
            ineligible += newly_ineligible
            result = await self._run_round(inputs, dry_run=False)
            placed += result.placed
            rounds += 1
        reasons = [
            result.reason,
            _count_text(ineligible, "is not approved", "are not approved"),
            _count_text(result.conflicts, "changed in the meantime", "changed in the meantime"),
        ]
        placed_ids = [placement.draft_id for placement in placed]
        return AutoSchedule(
            scheduled=tuple(sorted(placed, key=lambda placement: (placement.scheduled_at, placement.draft_id))),
            skipped=len(result.unplaced) + ineligible,
            reason="; ".join(reason for reason in reasons if reason),
            bulk_id=self._bulk_id if placed and not dry_run else None,
            without_account=len(await list_without_account(self._ctx, placed_ids)),
            lacking_approvals=len(await self._ctx.read(list_lacking, placed_ids, self._ctx.platforms)),
        )

    async def _load(self, ids: Collection[str] | None) -> tuple[_PlanInputs, int]:
        """Load the inputs of a plan; return them and the number of ids that are no approved drafts."""
        inputs = await self._ctx.read(_load_inputs, ids, self._ctx.clock())
        return inputs, len(ids) - len(inputs.candidates) if ids is not None else 0

    async def _run_round(self, inputs: _PlanInputs, *, dry_run: bool) -> _RoundResult:
        by_id = {candidate.id: candidate for candidate in inputs.candidates}
        now = self._ctx.clock()
        approved = [
            ApprovedDraft(
                id=candidate.id,
                confidence=candidate.confidence if candidate.confidence_known else None,
                score=candidate.total_score,
                created_at=candidate.created_at,
            )
            for candidate in by_id.values()
        ]
        planning = plan_drafts(approved, inputs.slots, inputs.zone, inputs.taken, now)
        errors = [None] * len(planning.scheduled) if dry_run else await self._apply(planning.scheduled)
        placed = {
            entry.draft_id: entry.at for entry, error in zip(planning.scheduled, errors, strict=True) if error is None
        }
        return _RoundResult(
            placed=tuple(_to_placed(by_id[draft_id], at) for draft_id, at in placed.items()),
            unplaced=tuple(draft_id for draft_id in by_id if draft_id not in placed),
            conflicts=len(planning.scheduled) - len(placed),
            reason=planning.reason,
        )

    async def _apply(self, scheduled: Sequence[PlannedDraft]) -> list[CopydeskError | None]:
        """Apply the plan in batches; return an error or None for each draft."""
        ids = [entry.draft_id for entry in scheduled]
        # Resumed, the others get the next free slots.
        request = ChangeDraft(action=Action.SCHEDULE, smart_schedule=True)
        async with record_bulk(self._ctx, self._bulk_id, self._ctx.clock(), request, ids):
            return await self._apply_in_batches(scheduled)

    async def _apply_in_batches(self, scheduled: Sequence[PlannedDraft]) -> list[CopydeskError | None]:
        errors: list[CopydeskError | None] = []
        for start in range(0, len(scheduled), PLAN_BATCH_SIZE):
            batch_results = await self._ctx.write_batch(
                self._schedule_draft, scheduled[start : start + PLAN_BATCH_SIZE]
            )
            if isinstance(batch_results[-1], StoreError):
                raise batch_results[-1]  # earlier batches are committed and stay
            errors += batch_results
        return errors

    def _schedule_draft(self, conn: Transaction, user_id: str, entry: PlannedDraft) -> None:
        """Schedule one draft. Raise ConflictError if its slot was taken or it is no longer approved."""
        now = self._ctx.clock()
        minute = entry.at.replace(second=0, microsecond=0)
        # The plan is older than this transaction: check the slot again.
        if entry.at <= now or schedule.has_reserved_between(conn, user_id, minute, minute + _MINUTE):
            raise ConflictError("The slot was taken in the meantime.")
        snapshot = draft_updates.load_snapshot(conn, user_id, entry.draft_id)
        request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=entry.at)
        change = PreparedChange(snapshot, request, now, None, self._ctx.reviewer)
        at = ScheduledTime(at=entry.at, wall_time=entry.wall_time)
        write_change(conn, user_id, change, at=at, bulk_id=self._bulk_id)


def _load_inputs(conn: Transaction, user_id: str, ids: Collection[str] | None, now: datetime) -> _PlanInputs:
    found = (
        schedule.list_approved(conn, user_id) if ids is None else schedule.list_candidates(conn, user_id, tuple(ids))
    )
    return _PlanInputs(
        candidates=tuple(
            candidate for candidate in found if candidate.status is Status.APPROVED and not candidate.archived
        ),
        slots=schedule.list_slots(conn, user_id),
        zone=schedule.get_time_zone(conn, user_id),
        taken=schedule.list_taken_times(conn, user_id, now),
    )


def _to_placed(candidate: SlotCandidate, at: datetime) -> SlotAssignment:
    return SlotAssignment(
        draft_id=candidate.id,
        scheduled_at=at,
        format=candidate.format,
        confidence=candidate.confidence,
        confidence_known=candidate.confidence_known,
        text=first_line(candidate.text),
    )


def _count_text(number: int, one: str, many: str) -> str:
    return "" if not number else f"1 {one}" if number == 1 else f"{number} {many}"


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

    @needs(Scope.PUBLISH)
    @operation
    async def set_slots(self, slots: Sequence[Slot | Mapping[str, object]]) -> tuple[Slot, ...]:
        """Replace all slots and return them. Times are wall times in the user's zone.

        `slots` may be `Slot` values or mappings of their three fields. Raise InvalidError listing every invalid one.
        """
        validated = validate_slots(parse_slots(slots))
        await self._ctx.write_durable(schedule.replace_slots, validated)
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

    @needs(Scope.PUBLISH)
    @operation
    async def set_zone(self, name: str) -> str:
        """Set the time zone for slots and for times entered from now on; return its IANA name.

        Scheduled drafts keep their wall time and the zone in which it was entered. Raise InvalidError for an unknown
        zone.
        """
        zone = get_zone(name)
        await self._ctx.write_durable(users.set_time_zone, zone.key)
        # Keep the context's copy of the user in step with the database.
        self._ctx.user = msgspec.structs.replace(self._ctx.user, time_zone=zone.key)
        return zone.key

    @operation
    async def parse_time(self, text: str, *, field: str = "scheduledAt", allow_past: bool = False) -> ParsedTime:
        """Parse a time typed by the user, in the user's zone; return it with its display form.

        Raise InvalidError if it is ambiguous, more than ten years ahead or, unless `allow_past`, not in the future.
        """
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        parsed = parse_time(text, zone, now, field=field, allow_past=allow_past)
        return ParsedTime(at=parsed.at, shown=format_time(parsed.at, zone, now), note=describe_clock_change(parsed))

    @operation
    async def format_times(self, *instants: datetime, short: bool = False) -> tuple[str, ...]:
        """Return instants formatted for display in the user's zone; `short` leaves out what is seldom in doubt."""
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        format_one = format_short_time if short else format_time
        return tuple(format_one(at, zone, now) for at in instants)

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

    @needs(Scope.PUBLISH)
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
    async def peek_clock_warning(self) -> ClockWarning | None:
        """Return the same as `clock_warning` without writing anything, for displays and diagnoses."""
        return await self._clock_guard.peek()

    @needs(Scope.PUBLISH)
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
