"""A reference model of a desk's drafts, with tables of its own and none of the product's code.

Every operation either returns a `Refusal` and changes nothing, or applies its change.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from reference_tables import (
    ALLOWED_FROM,
    APPROVED,
    AWAITING,
    CHANGES,
    GRACE_PERIODS,
    POST_INTERVAL,
    POSTING,
    REGENERATING,
    SCHEDULED,
    SLOT_HOURS,
    SLOT_STATES,
    STATES,
    STATUS_AFTER_ACTION,
    STATUS_AFTER_EDIT,
    STATUS_AFTER_EVENT,
    TIMED_STATES,
    UNKNOWN,
    Values,
    clear_stale_fields,
)


class Refusal(NamedTuple):
    """A refusal: the draft's status, UNKNOWN for no draft, and the actions allowed instead."""

    status: str
    allowed: frozenset[str] = frozenset()


@dataclass(eq=False)
class Event:
    """An event of a draft."""

    draft_id: str
    kind: str
    """change, undo, redo or fixed."""
    before: Values
    """The draft's values before the event."""
    version: int
    """The draft's version after the event."""
    sequence: int
    """Position among the events of all drafts."""
    bulk: int | None = None
    reverted: "Event | None" = None
    """The event that an undo or redo reverted."""


@dataclass
class ModelDraft:
    values: Values
    format: str
    confidence: float | None
    """None if not known."""
    position: int
    version: int = 1
    events: list[Event] = field(default_factory=list)
    undo: list[Event] = field(default_factory=list)
    redo: list[Event] = field(default_factory=list)
    picked_up_at: datetime | None = None

    @property
    def allowed(self) -> frozenset[str]:
        """The actions the draft accepts."""
        actions = {action for action, states in ALLOWED_FROM.items() if self.values.status in states}
        return frozenset() if self.values.archived else frozenset(actions)

    def stack(self, kind: str) -> list[Event]:
        """Return the events that an undo or redo reverts, the next one last."""
        return self.undo if kind == "undo" else self.redo

    def reverted_ids(self, event: Event) -> frozenset[str]:
        """Return the draft's id if the event is currently reverted, else nothing."""
        reverted: set[int] = set()
        for later in reversed(self.events):
            if later.reverted is not None and later.sequence not in reverted:
                reverted.add(later.reverted.sequence)
        return frozenset({event.draft_id} if event.sequence in reverted else ())

    def refusal(self) -> Refusal:
        """Return a refusal with the draft's status."""
        return Refusal(self.values.status, self.allowed)


class UndoResult(NamedTuple):
    """The draft ids of an undo or redo."""

    succeeded: frozenset[str]
    failed: frozenset[str] = frozenset()


class ModelDesk:
    """All drafts of a user by id."""

    def __init__(self, drafts: dict[str, ModelDraft]) -> None:
        self.drafts = drafts
        self.sequence = 0

    def counts(self) -> dict[str, int]:
        """Return the number of drafts in each state, archived ones separately."""
        totals = dict.fromkeys((*STATES, "archived"), 0)
        for draft in self.drafts.values():
            totals["archived" if draft.values.archived else draft.values.status] += 1
        return totals

    def change(
        self,
        draft_id: str,
        now: datetime,
        *,
        action: str | None = None,
        text: str | None = None,
        feedback: str | None = None,
        at: datetime | None = None,
        smart: bool = False,
        bulk: int | None = None,
    ) -> Refusal | None:
        """Apply an edit, an action, or both."""
        draft = self.drafts.get(draft_id)
        if draft is None:
            return Refusal(UNKNOWN)
        after = draft.values
        if text is not None:
            if after.archived or after.status not in STATUS_AFTER_EDIT:
                return draft.refusal()
            after = replace(after, text=text, status=STATUS_AFTER_EDIT[after.status])
        if action is not None:
            if after.archived or after.status not in ALLOWED_FROM[action]:
                return draft.refusal()
            if action == "post":  # no account is connected here, and the refusal does not offer it again
                return Refusal(draft.values.status, draft.allowed - {"post"})
            after = self._apply_action(after, action, now, feedback, at, smart=smart)
        event = self._record(draft_id, "change", clear_stale_fields(after), bulk)
        draft.undo.append(event)
        draft.redo.clear()
        return None

    def _apply_action(
        self, after: Values, action: str, now: datetime, feedback: str | None, at: datetime | None, *, smart: bool
    ) -> Values:
        if action == "archive":
            return replace(after, archived=True)
        if action == "approve":
            after = replace(after, feedback=None)
        if action == "reject":
            after = replace(after, feedback=None, rejection_feedback=feedback)
        if action == "regenerate":
            after = replace(after, feedback=feedback or after.rejection_feedback or after.feedback)
        if action == "unapprove":
            after = replace(after, feedback=feedback)
            return replace(after, status=CHANGES if feedback else AWAITING)
        if action in {"schedule", "reschedule"}:
            at = self.next_slot(now, at) if smart or at is None else at
            after = replace(after, scheduled_at=at)
        return replace(after, status=STATUS_AFTER_ACTION[action])

    def bulk(self, ids: Iterable[str], now: datetime, **arguments: object) -> dict[str, Refusal]:
        """Apply one action to many drafts in order; return the refusals by draft id."""
        self.sequence += 1
        bulk = self.sequence
        results = {draft_id: self.change(draft_id, now, bulk=bulk, **arguments) for draft_id in dict.fromkeys(ids)}  # type: ignore[arg-type]
        return {draft_id: refusal for draft_id, refusal in results.items() if refusal}

    def auto_schedule(self, now: datetime) -> dict[str, datetime]:
        """Schedule each approved draft in the next slot, the most confident first if all are known, then the oldest."""
        self.sequence += 1
        bulk = self.sequence
        approved = {
            draft_id: draft
            for draft_id, draft in self.drafts.items()
            if draft.values.status == APPROVED and not draft.values.archived
        }
        # The order by score, which applies otherwise, is that by age: these drafts have no scores.
        all_known = all(draft.confidence is not None for draft in approved.values())
        ranked = sorted(
            (-(draft.confidence or 0.0) if all_known else 0.0, draft.position, draft_id)
            for draft_id, draft in approved.items()
        )
        for _, _, draft_id in ranked:
            assert self.change(draft_id, now, action="schedule", bulk=bulk) is None
        return {draft_id: draft.values.scheduled_at for draft_id, draft in approved.items()}  # type: ignore[misc]

    def next_slot(self, now: datetime, not_before: datetime | None) -> datetime:
        """Return the first slot without a draft."""
        taken = {
            draft.values.scheduled_at.replace(second=0, microsecond=0)
            for draft in self.drafts.values()
            if draft.values.status in SLOT_STATES and draft.values.scheduled_at
        }
        hour = now.replace(minute=0, second=0, microsecond=0)
        while hour <= now or (not_before and hour < not_before) or hour.hour not in SLOT_HOURS or hour in taken:
            hour += timedelta(hours=1)
        return hour

    def apply_system_event(self, draft_id: str, event: str) -> None:
        """Apply a system event. Earlier changes can no longer be undone, unless a regeneration failed."""
        draft = self.drafts[draft_id]
        keeps_undo = event == "writing_failed" and draft.values.status == REGENERATING
        after = replace(draft.values, status=STATUS_AFTER_EVENT[event][draft.values.status])
        after = after if after.status in TIMED_STATES else replace(after, scheduled_at=None)
        self._record(draft_id, "fixed", after)
        if not keeps_undo:
            draft.undo.clear()
        draft.redo.clear()

    def revert(self, kind: str, now: datetime, draft_id: str | None = None) -> Refusal | UndoResult:
        """Undo or redo the last change of a draft, or of the user; a bulk change counts as one."""
        if draft_id is not None:
            return self._revert_one(kind, now, draft_id)
        candidates = [draft.stack(kind)[-1] for draft in self.drafts.values() if draft.stack(kind)]
        top = max(candidates, key=lambda event: event.sequence, default=None)
        changes = [event for draft in self.drafts.values() for event in draft.events if event.kind == "change"]
        newest = max(changes, key=lambda event: event.sequence, default=None)
        if (
            newest
            and kind == "undo"
            and (top is None or newest.sequence > top.sequence)
            and self._is_unreachable(newest, top)
        ):
            return Refusal(UNKNOWN)
        if top is None or (kind == "redo" and newest and newest.sequence > top.sequence):
            return Refusal(UNKNOWN)
        if top.bulk is None:
            return self._revert_one(kind, now, top.draft_id)
        return self._revert_bulk(kind, now, top.bulk)

    def _is_unreachable(self, newest: Event, top: Event | None) -> bool:
        """Return whether the last change can no longer be undone; then no earlier change may be undone in its place."""
        if top is not None and newest.bulk is not None and newest.bulk == top.bulk:
            return False
        draft = self.drafts[newest.draft_id]
        is_fixed = any(event.kind == "fixed" and event.sequence > newest.sequence for event in draft.events)
        return is_fixed and not draft.reverted_ids(newest)

    def _revert_one(self, kind: str, now: datetime, draft_id: str) -> Refusal | UndoResult:
        draft = self.drafts.get(draft_id)
        if draft is None:
            return Refusal(UNKNOWN)
        if not draft.stack(kind) or _restores_past_time(draft.values, draft.stack(kind)[-1].before, now):
            return draft.refusal()
        self._restore(kind, draft.stack(kind)[-1], None)
        return UndoResult(frozenset({draft_id}))

    def _revert_bulk(self, kind: str, now: datetime, bulk: int) -> Refusal | UndoResult:
        self.sequence += 1
        new_bulk, succeeded, failed, past = self.sequence, set(), set(), set()
        for draft_id, draft in self.drafts.items():
            for event in [event for event in draft.events if event.bulk == bulk]:
                top = draft.stack(kind)[-1] if draft.stack(kind) else None
                if top is not event:
                    failed |= {draft_id} - draft.reverted_ids(event)
                elif _restores_past_time(draft.values, event.before, now):
                    past.add(draft_id)
                else:
                    self._restore(kind, event, new_bulk)
                    succeeded.add(draft_id)
        if kind == "undo" and past and not succeeded:
            return Refusal(UNKNOWN)
        return UndoResult(frozenset(succeeded), frozenset(failed | past))

    def _restore(self, kind: str, event: Event, bulk: int | None) -> None:
        draft = self.drafts[event.draft_id]
        draft.stack(kind).pop()
        target = draft.redo if kind == "undo" else draft.undo
        target.append(self._record(event.draft_id, kind, event.before, bulk, event))

    def start_posting(self, draft_id: str, now: datetime) -> None:
        """Set a due draft to posting."""
        self.apply_system_event(draft_id, "picked_up")
        self.drafts[draft_id].picked_up_at = now

    def is_paced(self, now: datetime) -> bool:
        """Return whether the account's last post is too recent for another one."""
        posting = [draft for draft in self.drafts.values() if draft.values.status == POSTING]
        return any(draft.picked_up_at and now - draft.picked_up_at < POST_INTERVAL for draft in posting)

    def late_drafts(self, now: datetime) -> set[str]:
        """Return the scheduled drafts past their grace period."""
        return {
            draft_id
            for draft_id in self.due_drafts(now)
            if now - self._scheduled_at(draft_id) > GRACE_PERIODS[self.drafts[draft_id].format]
        }

    def due_drafts(self, now: datetime) -> set[str]:
        """Return the scheduled drafts whose time has come."""
        scheduled = [draft_id for draft_id, draft in self.drafts.items() if draft.values.status == SCHEDULED]
        return {draft_id for draft_id in scheduled if self._scheduled_at(draft_id) <= now}

    def _scheduled_at(self, draft_id: str) -> datetime:
        at = self.drafts[draft_id].values.scheduled_at
        assert at
        return at

    def _record(
        self, draft_id: str, kind: str, after: Values, bulk: int | None = None, of: Event | None = None
    ) -> Event:
        draft = self.drafts[draft_id]
        self.sequence += 1
        draft.version += 1
        event = Event(draft_id, kind, draft.values, draft.version, self.sequence, bulk, of)
        draft.events.append(event)
        draft.values = after
        return event


def _restores_past_time(current: Values, restored: Values, now: datetime) -> bool:
    """Return whether restoring would schedule the draft in the past, so that it would go out at once."""
    time_changes = (current.status, current.scheduled_at) != (restored.status, restored.scheduled_at)
    return (
        time_changes
        and restored.status == SCHEDULED
        and restored.scheduled_at is not None
        and restored.scheduled_at <= now
    )
