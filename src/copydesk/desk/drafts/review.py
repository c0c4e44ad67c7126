"""Decisions on drafts: edit, approve, reject and schedule them, one at a time or in bulk."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TypeVar

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.activity import settle_edit
from copydesk.desk.drafts.change import (
    PreparedChange,
    check_writer_feedback,
    needs_slot,
    prepare_change,
    resolve_time,
    to_draft_update,
    write_change,
)
from copydesk.desk.leases import current_owner
from copydesk.desk.permissions import requiring
from copydesk.errors import ConflictError, CopydeskError, DeskClosedError, FieldError, InvalidError, StoreError
from copydesk.model.draft import Action, Draft, without_item
from copydesk.model.requests import (
    MAX_IDS,
    BulkChange,
    BulkOutcome,
    ChangeDraft,
    CountedChange,
    bulk_response,
    validate_bulk,
    validate_change,
)
from copydesk.model.role import ACTION_SCOPES
from copydesk.model.transitions import ACTIONS, BulkFailure, EventKind, change_name
from copydesk.store import bulk_actions, decisions, draft_queries, draft_updates
from copydesk.store.bulk_actions import BulkPart, BulkPlan
from copydesk.store.database import COMMIT_BATCH_SIZE, Transaction
from copydesk.store.draft_updates import DraftSnapshot, DraftUpdate
from copydesk.store.ids import new_id
from copydesk.store.queue_window import load_states

A = TypeVar("A")


class Review:
    """Changes to drafts.

    A change is validated against the snapshot that was read when it was requested. If the draft has been changed since,
    in whichever process, ConflictError is raised and nothing is written.
    """

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    async def change(self, draft_id: str, request: ChangeDraft, *, expected_version: int | None = None) -> Draft:
        """Apply any change but posting, as `Drafts.change` documents it."""
        now = self._ctx.clock()
        return await self.apply(draft_id, validate_change(request, now), now, expected_version=expected_version)

    async def apply(
        self,
        draft_id: str,
        request: ChangeDraft,
        now: datetime,
        *,
        expected_version: int | None = None,
        decided_in: float | None = None,
    ) -> Draft:
        """Apply a change as `change` does; `request` was validated at the time `now`.

        With it `decided_in`, how long the decision took, is stored.
        """
        # The checks run here, outside the transaction: they take milliseconds in which nobody else could write.
        change = await prepare_change(self._ctx, draft_id, request, now, expected_version=expected_version)
        # Synced to disk before the response: a power cut must not take back an approval unnoticed.
        with requiring(change.scope):
            return await self._ctx.write_durable(_apply_request, change, expected_version, decided_in)

    async def bulk(self, request: BulkChange | Mapping[str, object]) -> BulkOutcome:
        """Implement `Drafts.bulk`, which documents it."""
        now = self._ctx.clock()
        request = validate_bulk(request, now)
        bulk_id, change = new_id(now), request.change_per_draft
        with requiring(ACTION_SCOPES[request.action]):
            # Recorded before the first draft: a killed process leaves a bulk that can be resumed or undone as one.
            async with record_bulk(self._ctx, bulk_id, now, change, request.ids):
                errors = await self._apply_to_each(change, request.ids, now, bulk_id)
        return to_bulk_outcome(request.action, request.ids, errors)

    async def bulk_all(
        self,
        action: Action,
        ids: Sequence[str],
        request: ChangeDraft | Mapping[str, object] | None = None,
        *,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Implement `Drafts.bulk_all`, which documents it."""
        now = self._ctx.clock()
        # A bulk never edits: one text cannot be right for several drafts.
        if isinstance(request, Mapping):
            request = {**request, "action": action, "text": None}
        else:
            request = msgspec.structs.replace(request or ChangeDraft(), action=action, text=None)
        request = validate_change(request, now)
        if request.action is Action.POST:
            # Posting cannot be undone, and its deliveries are waited for draft by draft.
            raise InvalidError(FieldError("action", "cannot be post in a bulk action; post drafts one at a time"))
        if request.action is Action.REGENERATE:
            await check_writer_feedback(self._ctx, request.feedback)
        parts = (BulkPart(request, tuple(dict.fromkeys(ids))),)
        return await self._apply_parts(action, parts, now, on_progress, is_cancelled)

    async def schedule_all_at(
        self,
        ids: Sequence[str],
        at: datetime,
        *,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Implement `Drafts.schedule_all_at`, which documents it."""
        now = self._ctx.clock()
        schedule_at = validate_change(ChangeDraft(action=Action.SCHEDULE, scheduled_at=at), now)
        move_to = validate_change(ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at), now)
        unique_ids = tuple(dict.fromkeys(ids))
        states = await self._ctx.read(load_states, unique_ids)
        timed = {
            draft_id for draft_id, (status, _) in states.items() if status in ACTIONS[Action.RESCHEDULE].from_statuses
        }
        parts = (
            BulkPart(schedule_at, tuple(draft_id for draft_id in unique_ids if draft_id not in timed)),
            BulkPart(move_to, tuple(draft_id for draft_id in unique_ids if draft_id in timed)),
        )
        return await self._apply_parts(Action.SCHEDULE, parts, now, on_progress, is_cancelled)

    async def resume_bulk(self, bulk_id: str, action: Action, parts: Sequence[BulkPart]) -> BulkOutcome:
        """Apply an interrupted bulk action to the rest of its drafts; it is undone with the first part as one.

        Raise InvalidError if its time has passed.
        """
        now = self._ctx.clock()
        parts = [BulkPart(validate_change(part.request, now), part.draft_ids) for part in parts]
        with requiring(ACTION_SCOPES[action]):
            errors = await self._apply_in_batches(parts, now, bulk_id)
        return to_bulk_outcome(action, [draft_id for part in parts for draft_id in part.draft_ids], errors)

    async def _apply_parts(
        self,
        action: Action,
        parts: Sequence[BulkPart],
        now: datetime,
        on_progress: Callable[[int], None] | None,
        is_cancelled: Callable[[], bool] | None,
    ) -> BulkOutcome:
        """Apply each request to its drafts, all of it as one bulk action, which is recorded until it is complete."""
        bulk_id, ids = new_id(now), tuple(draft_id for part in parts for draft_id in part.draft_ids)
        counted = tuple(CountedChange(part.request, len(part.draft_ids)) for part in parts if part.draft_ids)
        # One request is stored as ever, so that an older version can finish it, too.
        request = counted[0].request if len(counted) == 1 else counted
        with requiring(ACTION_SCOPES[action]):
            async with record_bulk(self._ctx, bulk_id, now, request, ids, action=action):
                errors = await self._apply_in_batches(parts, now, bulk_id, on_progress, is_cancelled)
        return to_bulk_outcome(action, ids[: len(errors)], errors)

    async def _apply_in_batches(
        self,
        parts: Sequence[BulkPart],
        now: datetime,
        bulk_id: str,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> list[CopydeskError | None]:
        """Return the error or None of each draft that was tried, in the order of the parts."""
        batches = [
            (part.request, part.draft_ids[start : start + MAX_IDS])
            for part in parts
            for start in range(0, len(part.draft_ids), MAX_IDS)
        ]
        errors: list[CopydeskError | None] = []
        for request, ids in batches:
            # At least one batch is applied, so that there is an outcome to report.
            if errors and is_cancelled is not None and is_cancelled():
                break
            try:
                errors += await self._apply_to_each(request, ids, now, bulk_id)
            except StoreError as error:
                if not errors or isinstance(error, DeskClosedError):
                    raise
                # Earlier batches are written, and the caller has to learn which drafts they changed.
                errors.append(error)
            if isinstance(errors[-1], StoreError):
                # A full disk or a locked database would fail every further batch too.
                errors += [errors[-1]] * (sum(len(batch) for _, batch in batches) - len(errors))
                break
            if on_progress is not None:
                on_progress(len(errors))
        return errors

    async def _apply_to_each(
        self, request: ChangeDraft, ids: Sequence[str], now: datetime, bulk_id: str
    ) -> list[CopydeskError | None]:
        # One read for the batch. Each write checks that its draft is still at the version read here.
        snapshots = await self._ctx.read(draft_updates.load_snapshots, ids)
        action = _BulkAction(request, snapshots, now, bulk_id, self._ctx.reviewer)
        return await self._ctx.write_groups(action.apply, ids)


@asynccontextmanager
async def record_bulk(
    ctx: DeskContext,
    bulk_id: str,
    now: datetime,
    request: ChangeDraft | tuple[CountedChange, ...] | None,
    draft_ids: Sequence[str],
    *,
    kind: EventKind = EventKind.CHANGE,
    action: str = "",
    of_bulk_id: str | None = None,
) -> AsyncIterator[None]:
    """Keep a record of a bulk action during the block: if it is killed, the next start tells what was left undone.

    An undo or a redo has no request, but `action` and `of_bulk_id` of what it reverts; several requests have an
    `action` that names them all. Raise StoreError before anything was changed.
    """
    # One transaction is never left half done.
    if len(draft_ids) <= COMMIT_BATCH_SIZE:
        yield
        return
    plan = BulkPlan(
        id=bulk_id,
        kind=kind,
        action=action or change_name(request.action if isinstance(request, ChangeDraft) else None),
        of_bulk_id=of_bulk_id,
        started_at=now,
        owner=current_owner(),
        total=len(draft_ids),
        request=request,
        draft_ids=tuple(draft_ids),
    )
    # No effect of its own: a request that is killed before the first draft is carried out when it is sent again.
    await ctx.write_unguarded(bulk_actions.add, plan)
    yield
    # Not after an exception: it was interrupted then. If removing fails, the outcome must be reported all the same.
    with suppress(StoreError):
        await ctx.write_durable(bulk_actions.remove, bulk_id)


class _BulkAction:
    """A bulk action, applied to a group of drafts per transaction."""

    def __init__(
        self, request: ChangeDraft, snapshots: Mapping[str, DraftSnapshot], now: datetime, bulk_id: str, reviewer: str
    ) -> None:
        self._request = request
        self._reviewer = reviewer
        self._snapshots = snapshots
        self._now = now
        self._bulk_id = bulk_id
        self._last_slot: datetime | None = None

    def apply(self, conn: Transaction, user_id: str, draft_ids: Sequence[str]) -> list[CopydeskError | None]:
        """Apply the action to the drafts; return the error or None of each."""
        found = [self._snapshots[draft_id] for draft_id in draft_ids if draft_id in self._snapshots]
        conflicts = draft_updates.find_conflicts(conn, user_id, found)

        def plan(draft_id: str) -> tuple[DraftSnapshot, DraftUpdate]:
            return self._plan(conn, user_id, draft_id, conflicts.get(draft_id))

        return apply_separately(conn, user_id, plan, draft_ids)

    def _plan(
        self, conn: Transaction, user_id: str, draft_id: str, conflict: CopydeskError | None
    ) -> tuple[DraftSnapshot, DraftUpdate]:
        snapshot = self._snapshots.get(draft_id)
        if snapshot is None:
            raise draft_updates.draft_not_found(draft_id)
        at = resolve_time(conn, user_id, snapshot, self._request, self._now, after_slot=self._last_slot)
        prepared = PreparedChange(snapshot, self._request, self._now, None, self._reviewer)
        change = to_draft_update(prepared, at=at, bulk_id=self._bulk_id)
        if conflict is not None:
            raise conflict
        if at and needs_slot(self._request):
            # Start the next search after this slot: all earlier ones are taken, and each draft gets a slot of its own.
            self._last_slot = at.at
        return snapshot, change


def apply_separately(
    conn: Transaction, user_id: str, plan: Callable[[A], tuple[DraftSnapshot, DraftUpdate]], items: Sequence[A]
) -> list[CopydeskError | None]:
    """Apply the changes that `plan` returns for each of `items`; return the error of each for which it raised one."""
    errors: list[CopydeskError | None] = []
    changes = []
    for item in items:
        try:
            changes.append(plan(item))
        except StoreError:
            raise
        except CopydeskError as error:
            errors.append(error)
        else:
            errors.append(None)
    draft_updates.apply_updates(conn, user_id, changes)
    return errors


def to_bulk_outcome(action: Action, ids: Sequence[str], errors: Sequence[CopydeskError | None]) -> BulkOutcome:
    """Return the bulk outcome for `ids`, given the error (or None) of each."""
    results = list(zip(ids, errors, strict=True))
    failed = [BulkFailure.from_error(draft_id, error) for draft_id, error in results if error]
    stopped_by = next((str(error) for error in errors if isinstance(error, StoreError)), None)
    return bulk_response(action, [draft_id for draft_id, error in results if error is None], failed, stopped_by)


def _apply_request(
    conn: Transaction,
    user_id: str,
    change: PreparedChange,
    expected_version: int | None,
    decided_in: float | None,
) -> Draft:
    snapshot, request, now, edited, reviewer = change
    if edited is not None:
        settle_edit(conn, user_id, snapshot.id, reviewer, now)
    try:
        at = resolve_time(conn, user_id, snapshot, request, now)
        write_change(conn, user_id, change, at=at)
    except ConflictError:
        # A change since the draft was read is reported as one before it was: as another version.
        draft_updates.load_snapshot(conn, user_id, snapshot.id, expected_version=expected_version)
        raise
    if decided_in is not None:
        decisions.add_time(conn, user_id, decided_in, now)
    return without_item(draft_queries.load(conn, user_id, snapshot.id))
