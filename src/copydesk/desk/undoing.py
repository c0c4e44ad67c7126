"""Undo and redo: of one draft's last change, and of the user's last one, a bulk as one.

A draft's changes are a stack. An undo takes the top one back and lays it on a second stack, from which a redo brings
it back, until another change. What cannot be undone closes the stack: the creation, what the system did, a post.

Everything that a change did is restored to the byte; only the version and the time of the last change go on. A draft
gets back a time that another draft was given meanwhile: that is a conflict to be seen, and refusing would break the
chain. It does not get back a time that has passed: it would go out at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.story import happened
from copydesk.errors import ConflictError, CopydeskError, OutOfReachError, StoreDamagedError
from copydesk.model.change import MOST_IDS, BulkFailure
from copydesk.model.draft import Status
from copydesk.model.history import EventKind, Undone
from copydesk.model.transitions import allowed_actions
from copydesk.model.wire import Struct, iso
from copydesk.store import changes, events
from copydesk.store.changes import Seen, Step
from copydesk.store.events import KeptEvent
from copydesk.store.ids import new_id

Stopped = Callable[[], bool]
_SAID = {EventKind.UNDO: "undone", EventKind.REDO: "redone"}


class Undoing:
    """Steps back, and forth again."""

    _ground: Ground

    async def undo(
        self, draft_id: str | None = None, *, passing: Collection[int] = (), stopped: Stopped = lambda: False
    ) -> Undone:
        """Take back a draft's last change; without an id the user's last one, a bulk as one.

        Of a bulk, the drafts that something happened to since are left as they are and told; those that were taken
        back one by one are passed over. It goes in parts of 100, of which none is begun once `stopped` says so. Raises
        NotFoundError, and ConflictError that says what stands in the way; OutOfReachError, where it is the user's last
        one, or all of a bulk: with its `change` in `passing` the one before it is taken.
        """
        return await self._step(EventKind.UNDO, draft_id, passing, stopped)

    async def redo(self, draft_id: str | None = None, *, stopped: Stopped = lambda: False) -> Undone:
        """Do again what was undone last, of one draft or of the user; raises as `undo`, and after another change."""
        return await self._step(EventKind.REDO, draft_id, (), stopped)

    async def _step(self, kind: EventKind, draft_id: str | None, passing: Collection[int], stopped: Stopped) -> Undone:
        now = self._ground.clock()
        if draft_id is None:
            asked = await self._ground.read(_last, kind, frozenset(passing))
        else:
            asked = await self._ground.read(_of_draft, kind, draft_id)
        bulk_id = new_id(now) if asked.bulk else None
        back = _Back(kind, now, bulk_id, asked.sent)
        done: list[CopydeskError | None] = []
        for start in range(0, len(asked.steps), MOST_IDS):
            if start and stopped():
                break
            done += await self._ground.write_each(back.carry_out, asked.steps[start : start + MOST_IDS])
        if not asked.bulk and done[0]:
            raise done[0]
        if kind is EventKind.UNDO:
            _refuse_all(asked, done)
        return _undone(asked, done, bulk_id)


class _Asked(Struct, frozen=True):
    """What is to be taken back."""

    action: str
    bulk: bool
    steps: tuple[tuple[Seen, KeptEvent], ...]
    """The drafts and the events on top of their stacks, the last first."""
    sent: dict[str, list[tuple[datetime, str]]]
    """When, and to which platform, they went."""
    failed: tuple[BulkFailure, ...] = ()
    """What cannot be, and why."""


class _Back:
    """An undo or a redo, draft by draft."""

    def __init__(
        self, kind: EventKind, now: datetime, bulk_id: str | None, sent: Mapping[str, Sequence[tuple[datetime, str]]]
    ) -> None:
        self._kind = kind
        self._sent = sent
        self._now = now
        self._bulk_id = bulk_id

    def carry_out(self, conn: Connection, user_id: str, each: tuple[Seen, KeptEvent]) -> None:
        """Restore one draft to what it was before the event."""
        seen, event = each
        self._refuse_sent(seen, event, self._sent.get(seen.id, ()))
        self._refuse_past(seen, event)
        step = Step(
            kind=self._kind, action=event.action, after=event.before, at=self._now, bulk_id=self._bulk_id, of=event
        )
        changes.put(conn, user_id, seen, step)

    def _refuse_sent(self, seen: Seen, event: KeptEvent, sent: Sequence[tuple[datetime, str]]) -> None:
        for at, platform in sent:
            if at >= event.at:
                raise _out_of_reach(seen, event, f"It went to {platform} since; that cannot be {_SAID[self._kind]}.")

    def _refuse_past(self, seen: Seen, event: KeptEvent) -> None:
        if _TIMING.isdisjoint(event.before) or event.before.get("status", seen.status) != Status.SCHEDULED:
            return
        at = changes.value_of("scheduled_at", event.before.get("scheduled_at", seen.stored["scheduled_at"]))
        if at is not None and at <= self._now:
            raise _out_of_reach(
                seen,
                event,
                f"Its time, {iso(at)}, has passed; that cannot be {_SAID[self._kind]}.",
                "Give it another time.",
            )


_TIMING = {"status", "scheduled_at"}


def _of_draft(conn: Connection, user_id: str, kind: EventKind, draft_id: str) -> _Asked:
    seen = changes.one_seen(conn, user_id, draft_id)
    rid = _top(seen, kind)
    if rid is None:
        raise _nothing(conn, user_id, kind, seen)
    try:
        event = events.one(conn, user_id, rid)
    except StoreDamagedError:
        changes.one_seen(conn, user_id, draft_id)  # or its draft was deleted in between, which is no damage
        raise
    sent = changes.sent(conn, user_id, [draft_id])
    return _Asked(action=event.action, bulk=False, steps=((seen, event),), sent=sent)


def _last(conn: Connection, user_id: str, kind: EventKind, passing: frozenset[int]) -> _Asked:
    event = events.next_back(conn, user_id, kind)
    newest = events.last_change(conn, user_id)
    if newest and kind is EventKind.UNDO and (event is None or newest.rid > event.rid) and newest.rid not in passing:
        _refuse_fixed(conn, user_id, newest, event)
    while event is not None and event.rid in passing:
        event = events.next_back(conn, user_id, kind, below=_first_of(conn, user_id, event))
    if event is None:
        raise ConflictError(f"There is nothing to be {_SAID[kind]}.")
    if kind is EventKind.REDO and newest and newest.rid > event.rid:
        raise ConflictError("There is nothing to be redone: something was changed after the last undo.")
    if event.bulk_id is None:
        return _of_draft(conn, user_id, kind, event.draft_id)
    return _of_bulk(conn, user_id, kind, event.bulk_id)


def _first_of(conn: Connection, user_id: str, event: KeptEvent) -> int:
    """The number of the first event of all that were done at once."""
    every = events.of_bulk(conn, user_id, event.bulk_id) if event.bulk_id is not None else ()
    return min((each.rid for each in every), default=event.rid)


def _of_bulk(conn: Connection, user_id: str, kind: EventKind, bulk_id: str) -> _Asked:
    every = events.of_bulk(conn, user_id, bulk_id)
    found = changes.seen(conn, user_id, [event.draft_id for event in every])
    if not found:
        raise ConflictError(f"These drafts were deleted meanwhile; nothing was {_SAID[kind]}.", hint="Try again.")
    steps, failed = [], []
    for event in every:
        seen = found.get(event.draft_id)
        if seen is None:
            continue  # deleted in between
        if _top(seen, kind) == event.rid:
            steps.append((seen, event))
        elif reason := _in_the_way(conn, user_id, event):
            failed.append(BulkFailure(id=event.draft_id, error=reason))
    sent = changes.sent(conn, user_id, list(found))
    return _Asked(action=every[0].action, bulk=True, steps=tuple(steps), sent=sent, failed=tuple(failed))


def _top(seen: Seen, kind: EventKind) -> int | None:
    return seen.undo_rid if kind is EventKind.UNDO else seen.redo_rid


def _in_the_way(conn: Connection, user_id: str, event: KeptEvent) -> str | None:
    """What happened to the draft after the event; None where the event is already taken back."""
    every = events.of_draft(conn, user_id, event.draft_id)
    if event.rid in events.taken_back(every):
        return None
    return f"Something happened to this draft since ({happened(every[-1].action)}); it was left as it is."


def _nothing(conn: Connection, user_id: str, kind: EventKind, seen: Seen) -> ConflictError:
    """Why there is nothing to take back."""
    newest = events.newest(conn, user_id, seen.id)
    if kind is EventKind.UNDO and newest and newest.kind is EventKind.FIXED and newest.version > 1:
        return _refused(
            seen, f"The last thing that happened to this draft ({happened(newest.action)}) cannot be undone."
        )
    return _refused(seen, f"There is nothing to be {_SAID[kind]} on this draft.")


def _refuse_fixed(conn: Connection, user_id: str, newest: KeptEvent, event: KeptEvent | None) -> None:
    """The user's last change is to be undone or nothing: not an older one, because it is out of reach."""
    if newest.bulk_id is not None and event is not None and newest.bulk_id == event.bulk_id:
        return
    every = events.of_draft(conn, user_id, newest.draft_id)
    fixed = next((each for each in every if each.version > newest.version and each.kind is EventKind.FIXED), None)
    if fixed and newest.rid not in events.taken_back(every):
        raise OutOfReachError(
            f"Your last change ({happened(newest.action)}) cannot be undone: since then {happened(fixed.action)}.",
            newest.rid,
            hint="Name a draft to undo its last change.",
        )


def _refuse_all(asked: _Asked, done: Sequence[CopydeskError | None]) -> None:
    """A bulk of which nothing can be taken back is out of reach, and does not keep the user from what is before it."""
    refused = [error for error in done if isinstance(error, OutOfReachError)]
    if refused and len(refused) == len(asked.steps):
        drafts = "its draft" if len(refused) == 1 else f"any of its {len(refused)} drafts"
        raise OutOfReachError(
            f"Your last change ({happened(asked.action)}) cannot be undone on {drafts}. {refused[0].message}",
            asked.steps[0][1].rid,
            hint="Name a draft to undo its last change.",
        )


def _undone(asked: _Asked, done: Sequence[CopydeskError | None], bulk_id: str | None) -> Undone:
    ended = [(seen.id, error) for (seen, _), error in zip(asked.steps, done, strict=False)]
    failed = [BulkFailure(id=draft_id, error=str(error)) for draft_id, error in ended if error]
    return Undone(
        action=asked.action,
        bulk_id=bulk_id,
        succeeded=tuple(draft_id for draft_id, error in ended if error is None),
        failed=(*failed, *asked.failed),
        left=len(asked.steps) - len(done),
    )


def _refused(seen: Seen, message: str, hint: str = "") -> ConflictError:
    allowed = allowed_actions(seen.status, archived=seen.archived)
    return ConflictError(message, hint=hint, current_status=seen.status, allowed=allowed)


def _out_of_reach(seen: Seen, event: KeptEvent, message: str, hint: str = "") -> OutOfReachError:
    allowed = allowed_actions(seen.status, archived=seen.archived)
    return OutOfReachError(message, event.rid, hint=hint, current_status=seen.status, allowed=allowed)
