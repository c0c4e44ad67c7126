"""What a desk does with drafts, in the small: by tables of its own, nothing of the code.

Every operation answers a `Refused` and changes nothing, or changes what it says.
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
    """Why not: the state that the draft is in, UNKNOWN for none, and what may be done to it instead."""

    status: str
    allowed: frozenset[str] = frozenset()


@dataclass(eq=False)
class Event:
    """Something that happened to a draft."""

    draft_id: str
    kind: str
    """change, undo, redo or fixed."""
    before: Values
    """What the draft was before it."""
    version: int
    """The draft's version after it."""
    number: int
    """Its place among what happened to all drafts."""
    bulk: int | None = None
    of: "Event | None" = None
    """What an undo or a redo took back."""


@dataclass
class Small:
    """A draft."""

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
        """The actions that it takes."""
        found = {action for action, states in FROM.items() if self.values.status in states}
        return frozenset() if self.values.archived else frozenset(found)

    def stack(self, kind: str) -> list[Event]:
        """What an undo, or a redo, takes back, the next one last."""
        return self.undo if kind == "undo" else self.redo

    def taken_back(self, event: Event) -> frozenset[str]:
        """Its id where the event is taken back by now, else nothing."""
        gone: set[int] = set()
        for each in reversed(self.events):
            if each.of is not None and each.number not in gone:
                gone.add(each.of.number)
        return frozenset({event.draft_id} if event.number in gone else ())

    def refused(self) -> Refused:
        """An answer that names its state."""
        return Refused(self.values.status, self.allowed)


class Back(NamedTuple):
    """What an undo or a redo did."""

    succeeded: frozenset[str]
    failed: frozenset[str] = frozenset()


class SmallDesk:
    """All drafts of a user, by their ids."""

    def __init__(self, drafts: dict[str, Small]) -> None:
        self.drafts = drafts
        self.number = 0

    def counts(self) -> dict[str, int]:
        """How many are in each state, archived ones apart."""
        found = dict.fromkeys((*STATES, "archived"), 0)
        for draft in self.drafts.values():
            found["archived" if draft.values.archived else draft.values.status] += 1
        return found

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
        """An edit, an action, or both."""
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
            after = self._acted(after, action, now, feedback, at, smart=smart)
        event = self._happened(draft_id, "change", tidied(after), bulk)
        draft.undo.append(event)
        draft.redo.clear()
        return None

    def _acted(
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
        """One action on many, in turn; those that are refused."""
        self.number += 1
        bulk = self.number
        answers = {draft_id: self.change(draft_id, now, bulk=bulk, **asked) for draft_id in dict.fromkeys(ids)}  # type: ignore[arg-type]
        return {draft_id: refused for draft_id, refused in answers.items() if refused}

    def auto(self, now: datetime) -> dict[str, datetime]:
        """Every approved draft to the next slot, the surest first, then the oldest."""
        self.number += 1
        bulk = self.number
        ready = [
            (-draft.confidence, draft.place, draft_id)
            for draft_id, draft in self.drafts.items()
            if draft.values.status == APPROVED and not draft.values.archived
        ]
        for _, _, draft_id in sorted(ready):
            assert self.change(draft_id, now, action="schedule", bulk=bulk) is None
        return {draft_id: self.drafts[draft_id].values.scheduled_at for _, _, draft_id in ready}  # type: ignore[misc]

    def next_slot(self, now: datetime, not_before: datetime | None) -> datetime:
        """The first hour of the slots at which no draft stands."""
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
        """What the system does: nothing before it can be undone."""
        draft = self.drafts[draft_id]
        after = replace(draft.values, status=SYSTEM[what][draft.values.status])
        after = after if after.status in WITH_TIME else replace(after, scheduled_at=None)
        self._happened(draft_id, "fixed", after)
        draft.undo.clear()
        draft.redo.clear()

    def take_back(self, kind: str, now: datetime, draft_id: str | None = None) -> Refused | Back:
        """Undo or redo: a draft's last change, or the user's, a bulk as one."""
        if draft_id is not None:
            return self._one_back(kind, now, draft_id)
        tops = [draft.stack(kind)[-1] for draft in self.drafts.values() if draft.stack(kind)]
        top = max(tops, key=lambda event: event.number, default=None)
        changes = [event for draft in self.drafts.values() for event in draft.events if event.kind == "change"]
        newest = max(changes, key=lambda event: event.number, default=None)
        if newest and kind == "undo" and (top is None or newest.number > top.number) and self._closed(newest, top):
            return Refused(UNKNOWN)
        if top is None or (kind == "redo" and newest and newest.number > top.number):
            return Refused(UNKNOWN)
        if top.bulk is None:
            return self._one_back(kind, now, top.draft_id)
        return self._bulk_back(kind, now, top.bulk)

    def _closed(self, newest: Event, top: Event | None) -> bool:
        """Whether the last change is out of reach, and so what was done before it is not to be undone in its place."""
        if top is not None and newest.bulk is not None and newest.bulk == top.bulk:
            return False
        later = self.drafts[newest.draft_id].events
        return any(event.kind == "fixed" and event.number > newest.number for event in later)

    def _one_back(self, kind: str, now: datetime, draft_id: str) -> Refused | Back:
        draft = self.drafts.get(draft_id)
        if draft is None:
            return Refused(UNKNOWN)
        if not draft.stack(kind) or _too_late(draft.values, draft.stack(kind)[-1].before, now):
            return draft.refused()
        self._restore(kind, draft.stack(kind)[-1], None)
        return Back(frozenset({draft_id}))

    def _bulk_back(self, kind: str, now: datetime, bulk: int) -> Back:
        self.number += 1
        anew, done, failed = self.number, set(), set()
        for draft_id, draft in self.drafts.items():
            for event in [event for event in draft.events if event.bulk == bulk]:
                top = draft.stack(kind)[-1] if draft.stack(kind) else None
                if top is not event:
                    failed |= {draft_id} - draft.taken_back(event)
                elif _too_late(draft.values, event.before, now):
                    failed.add(draft_id)
                else:
                    self._restore(kind, event, anew)
                    done.add(draft_id)
        return Back(frozenset(done), frozenset(failed))

    def _restore(self, kind: str, event: Event, bulk: int | None) -> None:
        draft = self.drafts[event.draft_id]
        draft.stack(kind).pop()
        other = draft.redo if kind == "undo" else draft.undo
        other.append(self._happened(event.draft_id, kind, event.before, bulk, event))

    def pick_up(self, draft_id: str, now: datetime) -> None:
        """A draft whose time has come is being posted."""
        self.happen(draft_id, "picked_up")
        self.drafts[draft_id].picked_up_at = now

    def rests(self, now: datetime) -> bool:
        """Whether the account takes no post now, for another is on its way since less than five minutes."""
        posting = [draft for draft in self.drafts.values() if draft.values.status == POSTING]
        return any(draft.picked_up_at and now - draft.picked_up_at < PACE for draft in posting)

    def late(self, now: datetime) -> set[str]:
        """The scheduled drafts that are late by more than their grace period."""
        return {each for each in self.due(now) if now - self._time(each) > GRACE[self.drafts[each].format]}

    def due(self, now: datetime) -> set[str]:
        """The scheduled drafts whose time has come."""
        scheduled = [each for each, draft in self.drafts.items() if draft.values.status == SCHEDULED]
        return {each for each in scheduled if self._time(each) <= now}

    def _time(self, draft_id: str) -> datetime:
        at = self.drafts[draft_id].values.scheduled_at
        assert at
        return at

    def _happened(
        self, draft_id: str, kind: str, after: Values, bulk: int | None = None, of: Event | None = None
    ) -> Event:
        draft = self.drafts[draft_id]
        self.number += 1
        draft.version += 1
        event = Event(draft_id, kind, draft.values, draft.version, self.number, bulk, of)
        draft.events.append(event)
        draft.values = after
        return event


def _too_late(now_is: Values, restored: Values, now: datetime) -> bool:
    """Whether a draft would get back a time that has passed, and go out at once."""
    timing = (now_is.status, now_is.scheduled_at) != (restored.status, restored.scheduled_at)
    return (
        timing and restored.status == SCHEDULED and restored.scheduled_at is not None and restored.scheduled_at <= now
    )
