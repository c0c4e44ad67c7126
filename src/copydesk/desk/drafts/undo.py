"""Undo and redo, of one draft's last change or of the user's last change, where a bulk counts as one.

The changes of a draft form an undo stack. Undo moves the top entry to a redo stack, which the next change clears.
Creation, system events and posting cannot be undone and close the stack, but for a failed regeneration: undo takes back
the request for it, and redo leads to the failure again.

All values are restored exactly, except version and modification time, which increase. A restored time may conflict with
a draft scheduled there since: the conflict is shown, because refusing would block all earlier undo steps. Restoring a
time in the past is refused, since the draft would be posted at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.change import format_wall_time
from copydesk.desk.drafts.history_text import describe_action
from copydesk.desk.drafts.review import apply_separately, record_bulk
from copydesk.desk.permissions import requiring
from copydesk.errors import ConflictError, CopydeskError, StoreCorruptError, StoreError, UndoNotAllowedError
from copydesk.model.draft import Action, Status
from copydesk.model.requests import MAX_IDS
from copydesk.model.role import scope_of_undo
from copydesk.model.serialization import Struct, format_iso
from copydesk.model.token import Scope
from copydesk.model.transitions import BulkFailure, EventKind, HistoryPosition, NextUndo, UndoResult
from copydesk.store import bulk_actions, draft_events, draft_updates
from copydesk.store.database import Transaction
from copydesk.store.draft_events import EventRow
from copydesk.store.draft_updates import DraftSnapshot, DraftUpdate, Sent
from copydesk.store.ids import new_id
from copydesk.store.queue_window import query_newest
from copydesk.store.raw_sql import one_round_trip

IsCancelled = Callable[[], bool]
OnProgress = Callable[[int, int], None]
"""Called with the number of drafts of a bulk that were processed, and of all of them."""
_TIMING_COLUMNS = {"status", "scheduled_at"}


class UndoRedo:
    """Undo and redo of changes to drafts."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    async def undo(
        self,
        draft_id: str | None,
        *,
        expected_version: int | None,
        skip: Collection[int],
        on_progress: OnProgress,
        is_cancelled: IsCancelled,
    ) -> UndoResult:
        """Implement `Drafts.undo`, which documents it."""
        if draft_id is None:
            # Planned on a read connection, applied by compare-and-set: a long plan holds up no writer.
            plan = await self._ctx.read(_plan_last, EventKind.UNDO, frozenset(skip))
        else:
            plan = await self._ctx.read(_plan_draft, EventKind.UNDO, draft_id, expected_version)
        return await self._apply(plan, EventKind.UNDO, on_progress, is_cancelled)

    async def redo(self, draft_id: str | None, *, on_progress: OnProgress, is_cancelled: IsCancelled) -> UndoResult:
        """Implement `Drafts.redo`, which documents it."""
        if draft_id is None:
            plan = await self._ctx.read(_plan_last, EventKind.REDO, frozenset[int]())
        else:
            plan = await self._ctx.read(_plan_draft, EventKind.REDO, draft_id)
        return await self._apply(plan, EventKind.REDO, on_progress, is_cancelled)

    async def run_bulk(self, kind: EventKind, bulk_id: str) -> UndoResult:
        """Undo or redo a bulk action, as far as its drafts were not changed since. Raise as `undo` and `redo` do."""
        return await self._apply(await self._ctx.read(_plan_bulk, kind, bulk_id), kind)

    async def restore(
        self, draft_ids: Sequence[str], *, on_progress: OnProgress, is_cancelled: IsCancelled
    ) -> UndoResult:
        """Implement `Drafts.restore`, which documents it."""
        plan = await self._ctx.read(_plan_restoring, tuple(dict.fromkeys(draft_ids)))
        if not plan.steps:
            return UndoResult(action=plan.action, bulk_id=None, succeeded=(), failed=plan.failed)
        return await self._apply(plan, EventKind.UNDO, on_progress, is_cancelled)

    async def _apply(
        self,
        plan: "_UndoPlan",
        kind: EventKind,
        on_progress: OnProgress = lambda *_: None,
        stopped: IsCancelled = lambda: False,
    ) -> UndoResult:
        now = self._ctx.clock()
        bulk_id = new_id(now) if plan.bulk else None
        restorer = _Restorer(kind, now, bulk_id, plan.sent)
        ids = [snapshot.id for snapshot, _ in plan.steps]
        with requiring(plan.scope):
            async with record_bulk(
                self._ctx, bulk_id or "", now, None, ids, kind=kind, action=plan.action, of_bulk_id=plan.of_bulk_id
            ):
                errors = await self._apply_in_batches(plan, restorer, on_progress, stopped)
        # Of one draft the reason is raised; of a bulk, each draft's reason is part of the result.
        if not plan.bulk and errors[0]:
            raise errors[0]
        if kind is EventKind.UNDO:
            _check_any_succeeded(plan, errors)
        result = _to_result(plan, errors, bulk_id)
        if plan.was_interrupted and plan.of_bulk_id is not None and not result.left and result.stopped_by is None:
            # If that fails, it is listed after the next start: the outcome must be reported all the same.
            with suppress(StoreError):
                await self._ctx.write_durable(bulk_actions.remove, plan.of_bulk_id)
        return result

    async def _apply_in_batches(
        self, plan: "_UndoPlan", restorer: "_Restorer", on_progress: OnProgress, stopped: IsCancelled
    ) -> list[CopydeskError | None]:
        """Return the error or None of each step that was tried."""
        errors: list[CopydeskError | None] = []
        # In batches, so that the user can stop a long undo.
        for start in range(0, len(plan.steps), MAX_IDS):
            if start and stopped():
                break
            errors += await self._ctx.write_groups(restorer.restore, plan.steps[start : start + MAX_IDS])
            if isinstance(errors[-1], StoreError):
                # A full disk or a locked database would fail every further batch too.
                errors += [errors[-1]] * (len(plan.steps) - len(errors))
                break
            if plan.bulk:
                on_progress(len(errors), len(plan.steps))
        return errors


class _UndoPlan(Struct, frozen=True):
    """The changes to undo or redo."""

    action: str
    bulk: bool
    steps: tuple[tuple[DraftSnapshot, EventRow], ...]
    """Each draft with the top event of its stack, the latest event first."""
    sent: Sent
    of_bulk_id: str | None = None
    """The bulk action to undo or redo."""
    was_interrupted: bool = False
    """True if that one was not complete."""
    failed: tuple[BulkFailure, ...] = ()
    """Drafts that cannot be undone, with the reason."""

    @property
    def scope(self) -> Scope:
        """The scope that it needs."""
        scopes = [
            scope_of_undo(event.action, snapshot.status, Status(event.before.get("status", snapshot.status)))
            for snapshot, event in self.steps
        ]
        return max(scopes, key=lambda scope: scope.rank, default=Scope.DRAFT)


class _Restorer:
    """An undo or a redo, applied to a group of drafts per transaction."""

    def __init__(
        self, kind: EventKind, now: datetime, bulk_id: str | None, sent: Mapping[str, Sequence[tuple[datetime, str]]]
    ) -> None:
        self._kind = kind
        self._sent = sent
        self._now = now
        self._bulk_id = bulk_id

    def restore(
        self, conn: Transaction, user_id: str, targets: Sequence[tuple[DraftSnapshot, EventRow]]
    ) -> list[CopydeskError | None]:
        """Restore the values that the drafts had before the events; return the error or None of each."""
        conflicts = draft_updates.find_conflicts(conn, user_id, [snapshot for snapshot, _ in targets])

        def plan(target: tuple[DraftSnapshot, EventRow]) -> tuple[DraftSnapshot, DraftUpdate]:
            return self._plan(*target, conflicts.get(target[0].id))

        return apply_separately(conn, user_id, plan, targets)

    def _plan(
        self, snapshot: DraftSnapshot, event: EventRow, conflict: CopydeskError | None
    ) -> tuple[DraftSnapshot, DraftUpdate]:
        if not event.before.keys() <= draft_updates.EVENT_COLUMNS:
            message = f"Cannot {self._kind} this: a newer version of Copydesk made the change."
            raise _out_of_reach(snapshot, event, message, "Use that version.")
        self._check_not_posted(snapshot, event, self._sent.get(snapshot.id, ()))
        self._check_not_past(snapshot, event)
        if conflict is not None:
            raise conflict
        change = DraftUpdate(
            kind=self._kind,
            action=event.action,
            after=_restored_columns(self._kind, snapshot, event),
            at=self._now,
            bulk_id=self._bulk_id,
            target_event=event,
        )
        return snapshot, change

    def _check_not_posted(
        self, snapshot: DraftSnapshot, event: EventRow, posts: Sequence[tuple[datetime, str]]
    ) -> None:
        for at, platform in posts:
            # A post from before the change is no obstacle: undoing does not touch it.
            if at >= event.at:
                raise _out_of_reach(snapshot, event, f"Cannot {self._kind} this: it was posted to {platform} since.")

    def _check_not_past(self, snapshot: DraftSnapshot, event: EventRow) -> None:
        if _TIMING_COLUMNS.isdisjoint(event.before) or event.before.get("status", snapshot.status) != Status.SCHEDULED:
            return
        at = draft_updates.from_column_value(
            "scheduled_at", event.before.get("scheduled_at", snapshot.stored["scheduled_at"])
        )
        if at is not None and at <= self._now:
            time = _wall_time_before(snapshot, event) or format_iso(at)
            message = f"Cannot {self._kind} this: its time, {time}, has passed."
            raise _out_of_reach(snapshot, event, message, "Reschedule it.")


def _restored_columns(kind: EventKind, snapshot: DraftSnapshot, event: EventRow) -> Mapping[str, Any]:
    """Return the columns that the undo or redo of an event sets, with their stored values."""
    has_failed = snapshot.status is Status.GENERATION_FAILED and event.action == Action.REGENERATE
    if has_failed and kind is EventKind.UNDO:
        # A regeneration clears the error, and its event has the error only if there was one; the failure set another.
        return {"last_error": None, **event.before}
    return event.before


def _plan_draft(
    conn: Transaction,
    user_id: str,
    kind: EventKind,
    draft_id: str,
    expected_version: int | None = None,
    *,
    likely_event: EventRow | None = None,
) -> _UndoPlan:
    """Return the plan for the top event of the draft's stack; it is loaded, unless it is `likely_event`."""
    with one_round_trip(conn):
        snapshots = draft_updates.query_snapshots(conn, user_id, [draft_id])
        sent = draft_updates.query_sent(conn, user_id, [draft_id])
    snapshot = draft_updates.select_snapshot(snapshots(), draft_id, expected_version)
    event_number = _top_event(snapshot, kind)
    if event_number is None:
        raise _nothing_error(conn, user_id, kind, snapshot)
    try:
        if likely_event is not None and likely_event.rid == event_number:
            event = likely_event
        else:
            event = draft_events.get(conn, user_id, event_number)
    except StoreCorruptError:
        # Not damage if the draft was deleted meanwhile, for which this raises NotFoundError, or old events were.
        current = draft_updates.load_snapshot(conn, user_id, draft_id)
        if _top_event(current, kind) != event_number:
            raise draft_updates.version_conflict(current) from None
        raise
    return _UndoPlan(action=event.action, bulk=False, steps=((snapshot, event),), sent=sent())


def load_history_position(conn: Transaction, user_id: str, skip: frozenset[int]) -> HistoryPosition:
    """Return the events at which undo and redo of the user's last change would begin; changes in `skip` are passed."""
    with one_round_trip(conn):
        first_undo = draft_events.query_next_reversible(conn, user_id, EventKind.UNDO)
        first_redo = draft_events.query_next_reversible(conn, user_id, EventKind.REDO)
        latest_change, newest = draft_events.query_latest_change(conn, user_id), query_newest(conn, user_id)
    undo = _skip_events(conn, user_id, EventKind.UNDO, first_undo(), skip)
    redo = _skip_events(conn, user_id, EventKind.REDO, first_redo(), skip)
    change = latest_change()
    return HistoryPosition(
        newest=newest().event_rid,
        undo=undo.rid if undo else 0,
        redo=redo.rid if redo else 0,
        change=change.rid if change else 0,
    )


def load_next_undo(conn: Transaction, user_id: str, skip: frozenset[int]) -> NextUndo:
    """Return what the undo of the user's last change would undo now; changes in `skip` are passed."""
    try:
        plan = _plan_last(conn, user_id, EventKind.UNDO, skip)
    except ConflictError:
        return NextUndo()
    return NextUndo(plan.action, frozenset(snapshot.id for snapshot, _ in plan.steps))


def _skip_events(
    conn: Transaction, user_id: str, kind: EventKind, event: EventRow | None, passing: frozenset[int]
) -> EventRow | None:
    """Return the event that an undo or a redo reverts next, from `event` on."""
    # Continue below a skipped bulk's first event: its other events lead to the same bulk.
    while event is not None and event.rid in passing:
        below = _first_event_number(conn, user_id, event)
        event = draft_events.query_next_reversible(conn, user_id, kind, below_rid=below)()
    return event


def _plan_last(conn: Transaction, user_id: str, kind: EventKind, passing: frozenset[int]) -> _UndoPlan:
    with one_round_trip(conn):
        next_reversible = draft_events.query_next_reversible(conn, user_id, kind)
        latest_change = draft_events.query_latest_change(conn, user_id)
    event, newest = next_reversible(), latest_change()
    # The newest change has no open undo entry: find out if something irreversible happened to its draft.
    if newest and kind is EventKind.UNDO and (event is None or newest.rid > event.rid) and newest.rid not in passing:
        _check_newest_change(conn, user_id, newest, event)
    event = _skip_events(conn, user_id, kind, event, passing)
    if event is None:
        raise ConflictError(f"Nothing to {kind}.")
    # A redo on top of another change would restore values that this change was not made for.
    if kind is EventKind.REDO and newest and newest.rid > event.rid:
        raise ConflictError("Nothing to redo: something changed since the last undo.")
    if event.bulk_id is None:
        return _plan_draft(conn, user_id, kind, event.draft_id, likely_event=event)
    return _plan_bulk(conn, user_id, kind, event.bulk_id)


def _first_event_number(conn: Transaction, user_id: str, event: EventRow) -> int:
    """Return the lowest number among the events of the same bulk."""
    bulk_events = draft_events.list_by_bulk(conn, user_id, event.bulk_id) if event.bulk_id is not None else ()
    return min((bulk_event.rid for bulk_event in bulk_events), default=event.rid)


def _plan_bulk(conn: Transaction, user_id: str, kind: EventKind, bulk_id: str) -> _UndoPlan:
    bulk_events = draft_events.list_by_bulk(conn, user_id, bulk_id)
    snapshots = draft_updates.load_snapshots(conn, user_id, [event.draft_id for event in bulk_events])
    if not snapshots:
        raise ConflictError(f"Cannot {kind} this: the drafts were deleted.", hint="Try again.")
    steps, failed = [], []
    for event in bulk_events:
        snapshot = snapshots.get(event.draft_id)
        if snapshot is None:
            continue  # deleted meanwhile
        if _top_event(snapshot, kind) == event.rid:
            steps.append((snapshot, event))
        elif reason := _blocking_reason(conn, user_id, event):
            failed.append(BulkFailure.from_error(event.draft_id, ConflictError(reason)))
    return _UndoPlan(
        action=bulk_events[0].action,
        bulk=True,
        steps=tuple(steps),
        sent=draft_updates.query_sent(conn, user_id, list(snapshots))(),
        of_bulk_id=bulk_id,
        was_interrupted=bulk_actions.exists(conn, user_id, bulk_id),
        failed=tuple(failed),
    )


def _plan_restoring(conn: Transaction, user_id: str, draft_ids: Sequence[str]) -> _UndoPlan:
    snapshots = draft_updates.load_snapshots(conn, user_id, draft_ids)
    steps, failed = [], list[BulkFailure]()
    for draft_id in draft_ids:
        snapshot = snapshots.get(draft_id)
        try:
            if snapshot is None:
                raise draft_updates.draft_not_found(draft_id)
            steps.append((snapshot, _archiving_event(conn, user_id, snapshot)))
        except CopydeskError as error:
            failed.append(BulkFailure.from_error(draft_id, error))
    sent = draft_updates.query_sent(conn, user_id, list(snapshots))()
    return _UndoPlan(action=Action.ARCHIVE, bulk=True, steps=tuple(steps), sent=sent, failed=tuple(failed))


def _archiving_event(conn: Transaction, user_id: str, snapshot: DraftSnapshot) -> EventRow:
    """Return the event that archived the draft. Raise ConflictError if it is not archived, or not by the user."""
    if not snapshot.archived:
        raise draft_updates.draft_conflict(snapshot, "Not archived.")
    event = draft_events.get(conn, user_id, snapshot.undo_rid) if snapshot.undo_rid is not None else None
    if event is None or event.action != Action.ARCHIVE:
        raise draft_updates.draft_conflict(snapshot, "Cannot restore it: a newer version has replaced it.")
    return event


def _top_event(snapshot: DraftSnapshot, kind: EventKind) -> int | None:
    return snapshot.undo_rid if kind is EventKind.UNDO else snapshot.redo_rid


def _blocking_reason(conn: Transaction, user_id: str, event: EventRow) -> str | None:
    """Return what happened to the draft after the event; None if the event has already been undone."""
    history = draft_events.list_by_draft(conn, user_id, event.draft_id)
    if event.rid in draft_events.reverted_rids(history):
        return None
    phrase = describe_action(history[-1].action)
    return f"{phrase[:1].upper()}{phrase[1:]} in the meantime."


def _nothing_error(conn: Transaction, user_id: str, kind: EventKind, snapshot: DraftSnapshot) -> ConflictError:
    """Return the error for an empty stack, with the reason."""
    newest = draft_events.get_newest(conn, user_id, snapshot.id)
    # Creation is permanent as well, but a new draft simply has nothing to undo.
    if kind is EventKind.UNDO and newest and newest.kind is EventKind.PERMANENT and newest.version > 1:
        return draft_updates.draft_conflict(
            snapshot, f"The last change of this draft ({describe_action(newest.action)}) cannot be undone."
        )
    return draft_updates.draft_conflict(snapshot, f"Nothing to {kind} on this draft.")


def _check_newest_change(conn: Transaction, user_id: str, newest: EventRow, event: EventRow | None) -> None:
    """Raise UndoNotAllowedError if the user's last change cannot be undone: an older one must not be in its place."""
    # Other drafts of the same bulk can still be undone; this one is reported among its failures.
    if newest.bulk_id is not None and event is not None and newest.bulk_id == event.bulk_id:
        return
    history = draft_events.list_by_draft(conn, user_id, newest.draft_id)
    blocking = next(
        (later for later in history if later.version > newest.version and later.kind is EventKind.PERMANENT), None
    )
    if blocking and newest.rid not in draft_events.reverted_rids(history):
        own, later_change = describe_action(newest.action), describe_action(blocking.action)
        message = f"The last change ({own}) cannot be undone: {later_change} in the meantime."
        raise UndoNotAllowedError(message, newest.rid, hint="Pass a draft id to undo the last change of that draft.")


def _check_any_succeeded(plan: _UndoPlan, errors: Sequence[CopydeskError | None]) -> None:
    """Raise UndoNotAllowedError if no draft of a bulk could be undone, so that the caller can skip the bulk."""
    # Only if all were refused: otherwise something was undone, and raising would hide that.
    refused = [error for error in errors if isinstance(error, UndoNotAllowedError)]
    if refused and len(refused) == len(plan.steps):
        drafts = "its draft" if len(refused) == 1 else f"any of its {len(refused):,} drafts"
        raise UndoNotAllowedError(
            f"The last change ({describe_action(plan.action)}) cannot be undone on {drafts}. {refused[0].message}",
            plan.steps[0][1].rid,
            hint="Pass a draft id to undo the last change of that draft.",
        )


def _to_result(plan: _UndoPlan, errors: Sequence[CopydeskError | None], bulk_id: str | None) -> UndoResult:
    # The errors are fewer than the steps if the user stopped; the rest is reported as `left`.
    results = [(snapshot.id, error) for (snapshot, _), error in zip(plan.steps, errors, strict=False)]
    failed = [BulkFailure.from_error(draft_id, error) for draft_id, error in results if error]
    return UndoResult(
        action=plan.action,
        bulk_id=bulk_id,
        succeeded=tuple(draft_id for draft_id, error in results if error is None),
        failed=(*failed, *plan.failed),
        left=len(plan.steps) - len(errors),
        stopped_by=next((str(error) for error in errors if isinstance(error, StoreError)), None),
        scheduled_for="" if plan.bulk else _restored_time(*plan.steps[0]),
    )


def _restored_time(snapshot: DraftSnapshot, event: EventRow) -> str:
    return _wall_time_before(snapshot, event) if "scheduled_at" in event.before else ""


def _wall_time_before(snapshot: DraftSnapshot, event: EventRow) -> str:
    return format_wall_time(event.before.get("scheduled_wall", snapshot.stored["scheduled_wall"]))


def _out_of_reach(snapshot: DraftSnapshot, event: EventRow, message: str, hint: str = "") -> UndoNotAllowedError:
    return UndoNotAllowedError(
        message, event.rid, hint=hint, current_status=snapshot.status, allowed=snapshot.allowed_actions
    )
