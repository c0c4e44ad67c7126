"""The automatic schedule: planned first, then carried out draft by draft, so that a plan can be had for itself."""

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
"""So many drafts are scheduled before others who want to write have their turn."""
TURNS = 5
"""So often what another process came in between is planned anew."""
_MINUTE = timedelta(minutes=1)


class _Situation(Struct, frozen=True):
    """What a plan is made of."""

    candidates: tuple[Candidate, ...]
    slots: tuple[Slot, ...]
    zone: ZoneInfo
    taken: frozenset[datetime]


class _Outcome(Struct, frozen=True):
    """What a turn did, or would do."""

    placed: tuple[Placed, ...]
    left: tuple[str, ...]
    """The drafts that got no time."""
    overtaken: int
    """How many of them somebody changed, or took the slot of, after the plan was made."""
    because: str
    """Why there was no slot for the others."""


class Auto:
    """One automatic schedule."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._bulk_id = new_id(ground.clock())

    async def schedule(self, draft_ids: Sequence[str] | None, *, dry_run: bool) -> AutoSchedule:
        """Plan, and carry the plan out unless it is a dry run."""
        wanted = None if draft_ids is None else checked_ids(draft_ids)
        situation, unfit = await self._look(wanted)
        outcome = await self._turn(situation, dry_run=dry_run)
        placed, turns = list(outcome.placed), 1
        while outcome.overtaken and turns < TURNS:
            # Those without a slot too: one that was meant for another draft may be theirs now.
            situation, changed = await self._look(outcome.left)
            unfit += changed
            outcome = await self._turn(situation, dry_run=False)
            placed += outcome.placed
            turns += 1
        reasons = [
            outcome.because,
            _because(unfit, "is no approved draft", "are no approved drafts"),
            _because(outcome.overtaken, "was changed meanwhile", "were changed meanwhile"),
        ]
        return AutoSchedule(
            scheduled=tuple(sorted(placed, key=lambda each: (each.scheduled_at, each.draft_id))),
            skipped=len(outcome.left) + unfit,
            reason="; ".join(reason for reason in reasons if reason),
            bulk_id=self._bulk_id if placed and not dry_run else None,
        )

    async def _look(self, ids: Collection[str] | None) -> tuple[_Situation, int]:
        """What there is to plan, and how many of the ids are no approved draft."""
        situation = await self._ground.read(_situation, ids, self._ground.clock())
        return situation, len(ids) - len(situation.candidates) if ids is not None else 0

    async def _turn(self, situation: _Situation, *, dry_run: bool) -> _Outcome:
        by_id = {each.id: each for each in situation.candidates}
        now = self._ground.clock()
        approved = [
            Approved(id=each.id, confidence=each.confidence, created_at=each.created_at) for each in by_id.values()
        ]
        made = plan(approved, situation.slots, situation.zone, situation.taken, now)
        done = [None] * len(made.scheduled) if dry_run else await self._carry_out(made.scheduled)
        placed = {each.draft_id: each.at for each, error in zip(made.scheduled, done, strict=True) if error is None}
        return _Outcome(
            placed=tuple(_placed(by_id[draft_id], at) for draft_id, at in placed.items()),
            left=tuple(draft_id for draft_id in by_id if draft_id not in placed),
            overtaken=len(made.scheduled) - len(placed),
            because=made.reason,
        )

    async def _carry_out(self, scheduled: Sequence[Planned]) -> list[CopydeskError | None]:
        done: list[CopydeskError | None] = []
        for start in range(0, len(scheduled), AT_ONCE):
            ends = await self._ground.write_each(self._place, scheduled[start : start + AT_ONCE])
            if isinstance(ends[-1], StoreError):
                raise ends[-1]  # what was done before stands
            done += ends
        return done

    def _place(self, conn: Connection, user_id: str, each: Planned) -> None:
        """Schedule one draft, if it is still approved and its slot still free."""
        now = self._ground.clock()
        minute = each.at.replace(second=0, microsecond=0)
        if each.at <= now or planned.stands(conn, user_id, minute, minute + _MINUTE):
            raise ConflictError("The slot was taken meanwhile.")
        seen = changes.one_seen(conn, user_id, each.draft_id)
        asked = ChangeDraft(action=Action.SCHEDULE, scheduled_at=each.at)
        put(conn, user_id, seen, asked, now, at=Moment(at=each.at, meant=each.meant), bulk_id=self._bulk_id)


def _situation(conn: Connection, user_id: str, ids: Collection[str] | None, now: datetime) -> _Situation:
    found = planned.approved(conn, user_id) if ids is None else planned.candidates(conn, user_id, tuple(ids))
    return _Situation(
        candidates=tuple(each for each in found if each.status is Status.APPROVED and not each.archived),
        slots=schedule.slots(conn, user_id),
        zone=schedule.zone(conn, user_id),
        taken=schedule.taken(conn, user_id, now),
    )


def _placed(candidate: Candidate, at: datetime) -> Placed:
    return Placed(
        draft_id=candidate.id,
        scheduled_at=at,
        format=candidate.format,
        confidence=candidate.confidence,
        text=first_line(candidate.text),
    )


def _because(number: int, one: str, many: str) -> str:
    return "" if not number else f"1 {one}" if number == 1 else f"{number} {many}"
