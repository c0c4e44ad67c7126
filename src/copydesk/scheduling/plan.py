"""The automatic plan: which approved draft goes into which free slot. Planning changes nothing."""

from collections.abc import Collection, Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from copydesk.model.schedule import NO_SLOTS, Slot
from copydesk.model.wire import Struct
from copydesk.scheduling.meant import Meant
from copydesk.scheduling.slots import free


class Approved(Struct, frozen=True):
    """What the plan must know of an approved draft."""

    id: str
    confidence: float
    created_at: datetime


class Planned(Struct, frozen=True):
    """A draft and the time that it gets."""

    draft_id: str
    at: datetime
    meant: Meant


class Plan(Struct, frozen=True):
    """What goes where, in order of time."""

    scheduled: tuple[Planned, ...]
    skipped: int
    """How many drafts got no time."""
    reason: str
    """Why, in words; empty where none was skipped."""


def plan(
    drafts: Iterable[Approved], slots: Collection[Slot], zone: ZoneInfo, taken: Collection[datetime], now: datetime
) -> Plan:
    """Give each draft the next free slot: the highest confidence first, then the oldest. The order given is no matter.

    A draft that is given twice counts once. `taken` are the instants at which drafts of this user stand.
    """
    waiting = sorted({draft.id: draft for draft in drafts}.values(), key=_turn)
    # The drafts come first: zip then looks for no slot when there is no draft left.
    scheduled = tuple(
        Planned(draft_id=draft.id, at=slot.at, meant=slot.meant)
        for draft, slot in zip(waiting, free(slots, zone, taken, now), strict=False)
    )
    skipped = len(waiting) - len(scheduled)
    return Plan(scheduled=scheduled, skipped=skipped, reason=_reason(skipped, any_slots=bool(slots)))


def _turn(draft: Approved) -> tuple[float, datetime, str]:
    return (-draft.confidence, draft.created_at, draft.id)


def _reason(skipped: int, *, any_slots: bool) -> str:
    if not skipped:
        return ""
    if not any_slots:
        return NO_SLOTS
    drafts = "1 draft" if skipped == 1 else f"{skipped} drafts"
    return f"no slot was left for {drafts}: every slot of the next 366 days is taken"
