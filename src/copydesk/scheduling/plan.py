"""Plan which approved draft goes into which free slot. Changes nothing."""

from collections.abc import Collection, Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from copydesk.model.schedule import NO_SLOTS_REASON, Slot
from copydesk.model.wire import Struct
from copydesk.scheduling.meant import WallTime
from copydesk.scheduling.slots import free_slots


class ApprovedDraft(Struct, frozen=True):
    """An approved draft, as far as planning needs it."""

    id: str
    confidence: float
    created_at: datetime


class PlannedDraft(Struct, frozen=True):
    """A draft with its assigned time."""

    draft_id: str
    at: datetime
    wall_time: WallTime


class SchedulePlan(Struct, frozen=True):
    """The assignments in chronological order."""

    scheduled: tuple[PlannedDraft, ...]
    skipped: int
    """Number of drafts without a slot."""
    reason: str
    """Why drafts were skipped; empty if none was."""


def plan_drafts(
    drafts: Iterable[ApprovedDraft], slots: Collection[Slot], zone: ZoneInfo, taken: Collection[datetime], now: datetime
) -> SchedulePlan:
    """Assign free slots to drafts by descending confidence, then oldest first. The order of `drafts` does not matter.

    Duplicate drafts count once. `taken` are the instants at which drafts of this user are scheduled.
    """
    ordered = sorted({draft.id: draft for draft in drafts}.values(), key=_priority)
    # Drafts first: zip then requests no slot, which may search a year ahead, when no draft is left.
    scheduled = tuple(
        PlannedDraft(draft_id=draft.id, at=slot.at, wall_time=slot.wall_time)
        for draft, slot in zip(ordered, free_slots(slots, zone, taken, now), strict=False)
    )
    skipped = len(ordered) - len(scheduled)
    return SchedulePlan(scheduled=scheduled, skipped=skipped, reason=_reason(skipped, any_slots=bool(slots)))


def _priority(draft: ApprovedDraft) -> tuple[float, datetime, str]:
    # The id breaks ties, so that a plan can be reproduced.
    return (-draft.confidence, draft.created_at, draft.id)


def _reason(skipped: int, *, any_slots: bool) -> str:
    if not skipped:
        return ""
    if not any_slots:
        return NO_SLOTS_REASON
    drafts = "1 draft" if skipped == 1 else f"{skipped} drafts"
    return f"no slot was left for {drafts}: every slot of the next 366 days is taken"
