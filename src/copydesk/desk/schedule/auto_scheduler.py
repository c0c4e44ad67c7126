"""The automatic schedule: make a plan, then apply it draft by draft. A dry run returns the plan alone."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.review import write_change
from copydesk.errors import ConflictError, CopydeskError, StoreError
from copydesk.model.draft import Action, Status
from copydesk.model.requests import ChangeDraft
from copydesk.model.schedule import AutoSchedule, Slot, SlotAssignment, validate_draft_ids
from copydesk.model.serialization import Struct
from copydesk.scheduling.slots import ApprovedDraft, PlannedDraft, plan_drafts
from copydesk.scheduling.wall_time import ScheduledTime
from copydesk.store import draft_updates, schedule
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id
from copydesk.store.schedule import SlotCandidate, first_line

BATCH_SIZE = 100
"""Drafts per batch; other writers get their turn between batches."""
MAX_ROUNDS = 5
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
        while result.conflicts and rounds < MAX_ROUNDS:
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
        return AutoSchedule(
            scheduled=tuple(sorted(placed, key=lambda placement: (placement.scheduled_at, placement.draft_id))),
            skipped=len(result.unplaced) + ineligible,
            reason="; ".join(reason for reason in reasons if reason),
            bulk_id=self._bulk_id if placed and not dry_run else None,
        )

    async def _load(self, ids: Collection[str] | None) -> tuple[_PlanInputs, int]:
        """Load the inputs of a plan; return them and the number of ids that are no approved drafts."""
        inputs = await self._ctx.read(_load_inputs, ids, self._ctx.clock())
        return inputs, len(ids) - len(inputs.candidates) if ids is not None else 0

    async def _run_round(self, inputs: _PlanInputs, *, dry_run: bool) -> _RoundResult:
        by_id = {candidate.id: candidate for candidate in inputs.candidates}
        now = self._ctx.clock()
        approved = [
            ApprovedDraft(id=candidate.id, confidence=candidate.confidence, created_at=candidate.created_at)
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
        errors: list[CopydeskError | None] = []
        for start in range(0, len(scheduled), BATCH_SIZE):
            batch_results = await self._ctx.write_batch(self._schedule_draft, scheduled[start : start + BATCH_SIZE])
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
        write_change(
            conn,
            user_id,
            snapshot,
            request,
            now,
            at=ScheduledTime(at=entry.at, wall_time=entry.wall_time),
            bulk_id=self._bulk_id,
        )


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
        text=first_line(candidate.text),
    )


def _count_text(number: int, one: str, many: str) -> str:
    return "" if not number else f"1 {one}" if number == 1 else f"{number} {many}"
