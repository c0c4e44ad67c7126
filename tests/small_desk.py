"""A reference model of a desk's drafts, with tables of its own and none of the product's code.

Every operation either returns a `Refusal` and changes nothing, or applies its change.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from small_tables import (
    APPROVED,
    AWAITING,
    CHANGES,
    EDIT,
    FROM,
    GRACE,
    HOURS,
    PACE,
    POSTING,
    SCHEDULED,
    STANDING,
    STATES,
    SYSTEM,
    TO,
    UNKNOWN,
    WITH_TIME,
    Values,
    tidied,
)


class Refused(NamedTuple):
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
    number: int
    """Position among the events of all drafts."""
    bulk: int | None = None
    of: "Event | None" = None
    """The event that an undo or redo reverted."""


@dataclass
class Small:
    values: Values
    format: str
    confidence: float
    place: int
    version: int = 1
    events: list[Event] = field(default_factory=list)
    undo: list[Event] = field(default_factory=list)
    redo: list[Event] = field(default_factory=list)
    picked_up_at: datetime | None = None

    @property
    def allowed(self) -> frozenset[str]:
        """The actions the draft accepts."""
        actions = {action for action, states in FROM.items() if self.values.status in states}
        return frozenset() if self.values.archived else frozenset(actions)

    def stack(self, kind: str) -> list[Event]:
        """Return the events that an undo or redo reverts, the next one last."""
        return self.undo if kind == "undo" else self.redo

    def taken_back(self, event: Event) -> frozenset[str]:
        """Return the draft's id if the event is currently reverted, else nothing."""
        reverted: set[int] = set()
        for later in reversed(self.events):
            if later.of is not None and later.number not in reverted:
                reverted.add(later.of.number)
        return frozenset({event.draft_id} if event.number in reverted else ())

    def refused(self) -> Refused:
        """Return a refusal with the draft's status."""
        return Refused(self.values.status, self.allowed)


class Back(NamedTuple):
    """The draft ids of an undo or redo."""

    succeeded: frozenset[str]
    failed: frozenset[str] = frozenset()


class SmallDesk:
    """All drafts of a user by id."""

    def __init__(self, drafts: dict[str, Small]) -> None:
        self.drafts = drafts
        self.number = 0

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
    ) -> Refused | None:
        """Apply an edit, an action, or both."""
        draft = self.drafts.get(draft_id)
        if draft is None:
            return Refused(UNKNOWN)
        after = draft.values
        if text is not None:
            if after.archived or after.status not in EDIT:
                return draft.refused()
            after = replace(after, text=text, status=EDIT[after.status])
        if action is not None:
            if after.archived or after.status not in FROM[action]:
                return draft.refused()
            if action == "post":
                return Refused(draft.values.status, draft.allowed - {"post"})
            after = self._apply_action(after, action, now, feedback, at, smart=smart)
        event = self._record(draft_id, "change", tidied(after), bulk)
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
        return replace(after, status=TO[action])

    def bulk(self, ids: Iterable[str], now: datetime, **asked: object) -> dict[str, Refused]:
        """Apply one action to many drafts in order; return the refusals by draft id."""
        self.number += 1
        bulk = self.number
        results = {draft_id: self.change(draft_id, now, bulk=bulk, **asked) for draft_id in dict.fromkeys(ids)}  # type: ignore[arg-type]
        return {draft_id: refusal for draft_id, refusal in results.items() if refusal}

    def auto(self, now: datetime) -> dict[str, datetime]:
        """Schedule every approved draft in the next slot, the most confident first, then the oldest."""
        self.number += 1
        bulk = self.number
        ranked = [
            (-draft.confidence, draft.place, draft_id)
            for draft_id, draft in self.drafts.items()
            if draft.values.status == APPROVED and not draft.values.archived
        ]
        for _, _, draft_id in sorted(ranked):
            assert self.change(draft_id, now, action="schedule", bulk=bulk) is None
        return {draft_id: self.drafts[draft_id].values.scheduled_at for _, _, draft_id in ranked}  # type: ignore[misc]

    def next_slot(self, now: datetime, not_before: datetime | None) -> datetime:
        """Return the first slot without a draft."""
        taken = {
            draft.values.scheduled_at.replace(second=0, microsecond=0)
            for draft in self.drafts.values()
            if draft.values.status in STANDING and draft.values.scheduled_at
        }
        hour = now.replace(minute=0, second=0, microsecond=0)
        while hour <= now or (not_before and hour < not_before) or hour.hour not in HOURS or hour in taken:
            hour += timedelta(hours=1)
        return hour

    def happen(self, draft_id: str, what: str) -> None:
        """Apply a system event. Earlier changes can no longer be undone."""
        draft = self.drafts[draft_id]
        after = replace(draft.values, status=SYSTEM[what][draft.values.status])
        after = after if after.status in WITH_TIME else replace(after, scheduled_at=None)
        self._record(draft_id, "fixed", after)
        draft.undo.clear()
        draft.redo.clear()

    def take_back(self, kind: str, now: datetime, draft_id: str | None = None) -> Refused | Back:
        """Undo or redo the last change of a draft, or of the user; a bulk change counts as one."""
        if draft_id is not None:
            return self._revert_one(kind, now, draft_id)
        candidates = [draft.stack(kind)[-1] for draft in self.drafts.values() if draft.stack(kind)]
        top = max(candidates, key=lambda event: event.number, default=None)
        changes = [event for draft in self.drafts.values() for event in draft.events if event.kind == "change"]
        newest = max(changes, key=lambda event: event.number, default=None)
        if (
            newest
            and kind == "undo"
            and (top is None or newest.number > top.number)
            and self._is_unreachable(newest, top)
        ):
            return Refused(UNKNOWN)
        if top is None or (kind == "redo" and newest and newest.number > top.number):
            return Refused(UNKNOWN)
        if top.bulk is None:
            return self._revert_one(kind, now, top.draft_id)
        return self._revert_bulk(kind, now, top.bulk)

    def _is_unreachable(self, newest: Event, top: Event | None) -> bool:
        """Return whether the last change can no longer be undone; then no earlier change may be undone in its place."""
        if top is not None and newest.bulk is not None and newest.bulk == top.bulk:
            return False
        later = self.drafts[newest.draft_id].events
        return any(event.kind == "fixed" and event.number > newest.number for event in later)

    def _revert_one(self, kind: str, now: datetime, draft_id: str) -> Refused | Back:
        draft = self.drafts.get(draft_id)
        if draft is None:
            return Refused(UNKNOWN)
        if not draft.stack(kind) or _restores_past_time(draft.values, draft.stack(kind)[-1].before, now):
            return draft.refused()
        self._restore(kind, draft.stack(kind)[-1], None)
        return Back(frozenset({draft_id}))

    def _revert_bulk(self, kind: str, now: datetime, bulk: int) -> Back:
        self.number += 1
        new_bulk, succeeded, failed = self.number, set(), set()
        for draft_id, draft in self.drafts.items():
            for event in [event for event in draft.events if event.bulk == bulk]:
                top = draft.stack(kind)[-1] if draft.stack(kind) else None
                if top is not event:
                    failed |= {draft_id} - draft.taken_back(event)
                elif _restores_past_time(draft.values, event.before, now):
                    failed.add(draft_id)
                else:
                    self._restore(kind, event, new_bulk)
                    succeeded.add(draft_id)
        return Back(frozenset(succeeded), frozenset(failed))

    def _restore(self, kind: str, event: Event, bulk: int | None) -> None:
        draft = self.drafts[event.draft_id]
        draft.stack(kind).pop()
        target = draft.redo if kind == "undo" else draft.undo
        target.append(self._record(event.draft_id, kind, event.before, bulk, event))

    def pick_up(self, draft_id: str, now: datetime) -> None:
        """Set a due draft to posting."""
        self.happen(draft_id, "picked_up")
        self.drafts[draft_id].picked_up_at = now

    def rests(self, now: datetime) -> bool:
        """Return whether the account's last post is too recent for another one."""
        posting = [draft for draft in self.drafts.values() if draft.values.status == POSTING]
        return any(draft.picked_up_at and now - draft.picked_up_at < PACE for draft in posting)

    def late(self, now: datetime) -> set[str]:
        """Return the scheduled drafts past their grace period."""
        return {
            draft_id
            for draft_id in self.due(now)
            if now - self._scheduled_at(draft_id) > GRACE[self.drafts[draft_id].format]
        }

    def due(self, now: datetime) -> set[str]:
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
        self.number += 1
        draft.version += 1
        event = Event(draft_id, kind, draft.values, draft.version, self.number, bulk, of)
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
