"""Learning from the user's decisions: report it, reset it, keep the confidence of drafts up to date."""

from datetime import datetime

import msgspec

from copydesk.desk import confidence
from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import ConflictError
from copydesk.model.confidence import DecisionProgress
from copydesk.model.learning import LearningReport, LearningReset
from copydesk.model.token import Scope
from copydesk.store import drafts, learning
from copydesk.store.database import Transaction
from copydesk.store.drafts import DraftDecision
from copydesk.store.learning import LearningState

MAX_DECISIONS = 2000
"""Newest decisions that the preference is learnt from; more would not change it."""


class Learning:
    """Operations on what is learnt from decisions."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def report(self) -> LearningReport:
        """Return what is learnt, and how reliable the confidence of drafts is."""
        from copydesk.drafting.confidence import report  # noqa: PLC0415 - not for the console's first rows
        from copydesk.ranking.preference import confidence_for  # noqa: PLC0415 - as above

        state, decisions = await self._ctx.read(load_decisions)
        approved = sum(decision.approved for decision in decisions)
        return LearningReport(
            since=state.since,
            reset_at=state.reset_at,
            approved=approved,
            rejected=len(decisions) - approved,
            preference_share=confidence_for(len(decisions)),
            confidence=report(await confidence.load_model(self._ctx, exact=True)),
        )

    @operation
    async def progress(self) -> DecisionProgress:
        """Return how many of the decisions that the confidence needs were made. Much cheaper than the report."""
        return await confidence.load_progress(self._ctx)

    @needs(Scope.REVIEW)
    @operation
    async def reset(self) -> LearningReset:
        """Forget what is learnt: from now on only later decisions count. Drafts, posts and the voice stay."""
        state = await self._ctx.write_durable(_reset, self._ctx.clock())
        await confidence.refresh(self._ctx)
        return _to_reset(state)

    @needs(Scope.REVIEW)
    @operation
    async def undo_reset(self) -> LearningReset:
        """Take the last reset back: earlier decisions count again. Raise ConflictError if there is none."""
        state = await self._ctx.write_durable(_undo_reset)
        await confidence.refresh(self._ctx)
        return _to_reset(state)

    @operation
    async def refresh_confidence(self) -> int:
        """Compute the stored confidences of drafts again; return how many changed."""
        return await confidence.refresh(self._ctx)


def load_decisions(conn: Transaction, user_id: str) -> tuple[LearningState, tuple[DraftDecision, ...]]:
    """Return the state, and the newest decisions that count."""
    state = learning.load(conn, user_id)
    return state, drafts.list_decisions(conn, user_id, MAX_DECISIONS, state.since)


def _reset(conn: Transaction, user_id: str, now: datetime) -> LearningState:
    state = learning.load(conn, user_id)
    changed = msgspec.structs.replace(state, since=now, since_before=state.since, reset_at=now)
    learning.save(conn, user_id, changed)
    return changed


def _undo_reset(conn: Transaction, user_id: str) -> LearningState:
    state = learning.load(conn, user_id)
    if state.reset_at is None:
        raise ConflictError("There is no reset to take back.")
    changed = msgspec.structs.replace(state, since=state.since_before, since_before=None, reset_at=None)
    learning.save(conn, user_id, changed)
    return changed


def _to_reset(state: LearningState) -> LearningReset:
    return LearningReset(since=state.since, reset_at=state.reset_at)
