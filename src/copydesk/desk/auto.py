"""The automatic schedule: make a plan, then apply it draft by draft. A dry run returns the plan alone."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.review import put
from copydesk.errors import ConflictError, CopydeskError, StoreError
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action, Status
from copydesk.model.schedule import AutoSchedule, Placed, Slot, checked_ids
from copydesk.model.wire import Struct
from copydesk.scheduling.meant import Moment
from copydesk.scheduling.plan import Approved, Planned, plan
from copydesk.store import changes, planned, schedule
from copydesk.store.ids import new_id
from copydesk.store.planned import Candidate, first_line

AT_ONCE = 100
"""Drafts per batch; other writers get their turn between batches."""
TURNS = 5
"""Rounds of planning. Each one plans again for the drafts that another process changed in between."""
_MINUTE = timedelta(minutes=1)


class _PlanInputs(Struct, frozen=True):
    """Everything a plan is computed from."""

    candidates: tuple[Candidate, ...]
    slots: tuple[Slot, ...]
    zone: ZoneInfo
    taken: frozenset[datetime]


class _RoundResult(Struct, frozen=True):
    """The result of one round, applied or only planned."""

    placed: tuple[Placed, ...]
    left: tuple[str, ...]
    """Ids of the drafts that got no time."""
    overtaken: int
    """Number of drafts that were changed, or lost their slot, after the plan was made."""
    because: str
    """The reason why there were no slots for the others."""


class Auto:
    """One run of the automatic schedule; all its changes share a bulk id, so that they can be undone together."""

    def __init__(self, ground: Ground) -> None:
        self._ctx = ground
        self._bulk_id = new_id(ground.clock())

    async def schedule(self, draft_ids: Sequence[str] | None, *, dry_run: bool) -> AutoSchedule:
        """Plan the approved drafts, or those of `draft_ids`, and apply the plan unless `dry_run`.

        Raise InvalidError for ids that are not valid, StoreError if the database fails; drafts scheduled before stay
        scheduled.
        """
        requested_ids = None if draft_ids is None else checked_ids(draft_ids)
        inputs, ineligible = await self._load(requested_ids)
        result = await self._run_round(inputs, dry_run=dry_run)
        placed, rounds = list(result.placed), 1
        while result.overtaken and rounds < TURNS:
            # Include drafts that got no slot: one may have become free when another draft was changed.
            inputs, newly_ineligible = await self._load(result.left)
            ineligible += newly_ineligible
            result = await self._run_round(inputs, dry_run=False)
            placed += result.placed
            rounds += 1
        reasons = [
            result.because,
            _count_text(ineligible, "is no approved draft", "are no approved drafts"),
            _count_text(result.overtaken, "was changed meanwhile", "were changed meanwhile"),
        ]
        return AutoSchedule(
            scheduled=tuple(sorted(placed, key=lambda placement: (placement.scheduled_at, placement.draft_id))),
            skipped=len(result.left) + ineligible,
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
            Approved(id=candidate.id, confidence=candidate.confidence, created_at=candidate.created_at)
            for candidate in by_id.values()
        ]
        planning = plan(approved, inputs.slots, inputs.zone, inputs.taken, now)
        errors = [None] * len(planning.scheduled) if dry_run else await self._apply(planning.scheduled)
        placed = {
            entry.draft_id: entry.at for entry, error in zip(planning.scheduled, errors, strict=True) if error is None
        }
        return _RoundResult(
            placed=tuple(_to_placed(by_id[draft_id], at) for draft_id, at in placed.items()),
            left=tuple(draft_id for draft_id in by_id if draft_id not in placed),
            overtaken=len(planning.scheduled) - len(placed),
            because=planning.reason,
        )

    async def _apply(self, scheduled: Sequence[Planned]) -> list[CopydeskError | None]:
        """Apply the plan in batches; return an error or None for each draft."""
        errors: list[CopydeskError | None] = []
        for start in range(0, len(scheduled), AT_ONCE):
            batch_results = await self._ctx.write_each(self._schedule_draft, scheduled[start : start + AT_ONCE])
            if isinstance(batch_results[-1], StoreError):
                raise batch_results[-1]  # earlier batches are committed and stay
            errors += batch_results
        return errors

    def _schedule_draft(self, conn: Connection, user_id: str, entry: Planned) -> None:
        """Schedule one draft. Raise ConflictError if its slot was taken or it is no longer approved."""
        now = self._ctx.clock()
        minute = entry.at.replace(second=0, microsecond=0)
        # The plan is older than this transaction: check the slot again.
        if entry.at <= now or planned.stands(conn, user_id, minute, minute + _MINUTE):
            raise ConflictError("The slot was taken meanwhile.")
        snapshot = changes.one_seen(conn, user_id, entry.draft_id)
        request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=entry.at)
        put(conn, user_id, snapshot, request, now, at=Moment(at=entry.at, meant=entry.meant), bulk_id=self._bulk_id)


def _load_inputs(conn: Connection, user_id: str, ids: Collection[str] | None, now: datetime) -> _PlanInputs:
    found = planned.approved(conn, user_id) if ids is None else planned.candidates(conn, user_id, tuple(ids))
    return _PlanInputs(
        candidates=tuple(
            candidate for candidate in found if candidate.status is Status.APPROVED and not candidate.archived
        ),
        slots=schedule.slots(conn, user_id),
        zone=schedule.zone(conn, user_id),
        taken=schedule.taken(conn, user_id, now),
    )


def _to_placed(candidate: Candidate, at: datetime) -> Placed:
    return Placed(
        draft_id=candidate.id,
        scheduled_at=at,
        format=candidate.format,
        confidence=candidate.confidence,
        text=first_line(candidate.text),
    )


def _count_text(number: int, one: str, many: str) -> str:
    return "" if not number else f"1 {one}" if number == 1 else f"{number} {many}"
