"""Bulk actions whose process ended before they were complete: list them, finish them, undo them."""

from contextlib import suppress
from datetime import timedelta

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.review import Review
from copydesk.desk.drafts.undo import UndoRedo
from copydesk.desk.leases import current_owner, is_holder_dead
from copydesk.errors import ConflictError, StoreError
from copydesk.model.draft import Action
from copydesk.model.requests import BulkOutcome, bulk_response
from copydesk.model.transitions import BulkFailure, EventKind, InterruptedBulk, UndoResult
from copydesk.store import bulk_actions, draft_events
from copydesk.store.bulk_actions import BulkPart, BulkPlan, StartedBulk
from copydesk.store.database import Transaction

MAX_DURATION = timedelta(hours=1)
"""A bulk action counts as interrupted after this time if it is not known whether its process is alive."""
_REVERSE = {EventKind.CHANGE: EventKind.UNDO, EventKind.UNDO: EventKind.REDO, EventKind.REDO: EventKind.UNDO}


class InterruptedBulks:
    """The interrupted bulk actions of one desk."""

    def __init__(self, ctx: DeskContext, review: Review, undo_redo: UndoRedo) -> None:
        self._ctx = ctx
        self._review = review
        self._undo_redo = undo_redo

    async def list(self) -> tuple[InterruptedBulk, ...]:
        """Return the interrupted bulk actions, oldest first."""
        return tuple(
            InterruptedBulk(
                id=bulk.id,
                kind=bulk.kind,
                action=bulk.action,
                started_at=bulk.started_at,
                changed=changed,
                total=bulk.total,
            )
            for bulk, changed in await self._ctx.read(bulk_actions.list_started)
            if self._is_interrupted(bulk)
        )

    async def resume(self, bulk_id: str) -> BulkOutcome:
        """Implement `Drafts.resume_bulk`, which documents it."""
        plan = await self._take_over(bulk_id)
        if not plan.parts:
            assert plan.of_bulk_id is not None
            outcome = _to_outcome(await self._undo_redo.run_bulk(plan.kind, plan.of_bulk_id))
        else:
            parts, changed_ids = await self._ctx.read(_remaining_parts, plan)
            outcome = await self._review.resume_bulk(plan.id, Action(plan.action), parts)
            conflict = ConflictError("It was changed in the meantime.")
            refused = [BulkFailure.from_error(draft_id, conflict) for draft_id in changed_ids]
            results = outcome.results
            outcome = bulk_response(outcome.action, results.succeeded, (*results.failed, *refused), outcome.stopped_by)
        if outcome.stopped_by is None:
            await self._remove(plan)
        return outcome

    async def undo(self, bulk_id: str) -> BulkOutcome:
        """Implement `Drafts.undo_bulk`, which documents it."""
        plan = await self._take_over(bulk_id)
        if not await self._ctx.read(draft_events.list_by_bulk, plan.id):
            await self._remove(plan)
            return bulk_response(Action(plan.action), (), ())
        # Removes it, too.
        return _to_outcome(await self._undo_redo.run_bulk(_REVERSE[plan.kind], plan.id))

    async def keep(self, bulk_id: str) -> None:
        """Implement `Drafts.keep_bulk`, which documents it."""
        await self._remove(await self._take_over(bulk_id))

    async def _take_over(self, bulk_id: str) -> BulkPlan:
        """Return the bulk action, which this process runs from now on. Raise ConflictError if another one does."""
        plan = await self._ctx.read(bulk_actions.get, bulk_id)
        if plan is None:
            raise ConflictError("This bulk action is complete.")
        if not self._is_interrupted(plan) or not await self._ctx.write(
            bulk_actions.take_over, plan.id, plan.owner, current_owner()
        ):
            raise ConflictError("Another process is running this bulk action.")
        return plan

    def _is_interrupted(self, bulk: StartedBulk) -> bool:
        # One of this process that failed is listed after the next start.
        return is_holder_dead(self._ctx, bulk.owner, bulk.started_at + MAX_DURATION, MAX_DURATION)

    async def _remove(self, plan: BulkPlan) -> None:
        # The caller has to learn the outcome. What cannot be removed now is listed again after the next start.
        with suppress(StoreError):
            await self._ctx.write_durable(bulk_actions.remove, plan.id)


def _remaining_parts(conn: Transaction, user_id: str, plan: BulkPlan) -> tuple[list[BulkPart], list[str]]:
    """Return the drafts that the bulk action did not come to with their requests, and those changed since."""
    done = {event.draft_id for event in draft_events.list_by_bulk(conn, user_id, plan.id)}
    remaining = [draft_id for draft_id in plan.draft_ids if draft_id not in done]
    # The user did not see these drafts as they are now.
    changed = bulk_actions.changed_since(conn, user_id, remaining, plan.started_at)
    left_out = done | changed
    parts = [
        BulkPart(part.request, tuple(draft_id for draft_id in part.draft_ids if draft_id not in left_out))
        for part in plan.parts
    ]
    return parts, [draft_id for draft_id in remaining if draft_id in changed]


def _to_outcome(result: UndoResult) -> BulkOutcome:
    return bulk_response(Action(result.action), result.succeeded, result.failed, result.stopped_by)
