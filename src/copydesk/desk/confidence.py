"""The confidence of drafts: a model learnt from the user's decisions, and the estimates stored with the drafts.

Training takes up to a second, so it happens in a thread and seldom: the model is kept until every tenth decision, and
stored estimates are computed again when a run starts and when a job finds that the model is out of date.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.model.confidence import MIN_DECISIONS, DecisionProgress
from copydesk.model.draft import Draft
from copydesk.store import confidence, learning
from copydesk.store.confidence import DecidedDraft, StoredConfidence
from copydesk.store.database import Transaction

if TYPE_CHECKING:
    from copydesk.drafting.confidence import ConfidenceModel, Estimate

MAX_DECISIONS = 600
"""Newest decisions that the confidence is learnt from; more would hardly change it."""
REFRESH_EVERY = 10
"""Decisions after which stored confidences are computed again."""
MAX_REFRESHED = 1000
"""Newest drafts of each state whose stored confidence is kept up to date."""
BATCH_SIZE = 100
"""Drafts per transaction."""


class ModelVersion(NamedTuple):
    """Identifies the decisions that a model is learnt from."""

    decisions: int
    """All decisions, rounded down: a model is used until so many more are made."""
    since: datetime | None


async def load_model(ctx: DeskContext, *, exact: bool = False) -> "ConfidenceModel":
    """Return the user's model, trained again if enough decisions were made since the last time.

    With `exact` it is trained on every decision.
    """
    version = await ctx.read(_load_version, 1 if exact else REFRESH_EVERY)
    if ctx.confidence_model is None or ctx.confidence_model[0] != version:
        decided = await ctx.read(confidence.list_decided, MAX_DECISIONS, version.since)
        ctx.confidence_model = version, await asyncio.to_thread(_train, decided)
    return ctx.confidence_model[1]


async def estimate(ctx: DeskContext, draft: Draft) -> "Estimate":
    """Return the confidence of one draft."""
    return await asyncio.to_thread(_estimate, await load_model(ctx), draft)


async def load_progress(ctx: DeskContext) -> DecisionProgress:
    """Return how many of the decisions that the confidence needs were made."""
    made = await ctx.read(confidence.count_learnt, MAX_DECISIONS, MIN_DECISIONS)
    return DecisionProgress(decisions=made, needed=MIN_DECISIONS)


async def refresh_if_due(ctx: DeskContext) -> None:
    """Compute the stored confidences again if enough decisions were made since the last time."""
    if await ctx.read(confidence.is_refresh_due, REFRESH_EVERY):
        await refresh(ctx)


async def refresh(ctx: DeskContext) -> int:
    """Compute the stored confidences again; return how many changed. If it is interrupted, the next one starts over."""
    total = await ctx.read(confidence.count_decided)
    model = await load_model(ctx)
    ids = await ctx.read(confidence.list_ids_to_estimate, MAX_REFRESHED)
    changed = 0
    for start in range(0, len(ids), BATCH_SIZE):
        batch = await ctx.read(confidence.load_drafts, ids[start : start + BATCH_SIZE])
        if estimates := await asyncio.to_thread(_changed_estimates, model, batch):
            await ctx.write_unguarded(confidence.save, estimates)
            changed += len(estimates)
    await ctx.write_unguarded(learning.save_confidence_decisions, total)
    return changed


def _load_version(conn: Transaction, user_id: str, every: int) -> ModelVersion:
    decisions = confidence.count_decided(conn, user_id) // every * every
    return ModelVersion(decisions, learning.load(conn, user_id).since)


def _train(decided: Sequence[DecidedDraft]) -> "ConfidenceModel":
    from copydesk.drafting import confidence as estimator  # noqa: PLC0415 - not for the console's first rows

    return estimator.train(
        estimator.Decision(features=estimator.draft_features(decision.draft), approved=decision.approved)
        for decision in decided
    )


def _estimate(model: "ConfidenceModel", draft: Draft) -> "Estimate":
    from copydesk.drafting.confidence import draft_features  # noqa: PLC0415 - as above

    return model.estimate(draft_features(draft))


def with_confidence(model: "ConfidenceModel", draft: Draft) -> Draft:
    """Return the draft with its estimated confidence."""
    estimated = _estimate(model, draft)
    return msgspec.structs.replace(draft, confidence=estimated.confidence, confidence_known=estimated.known)


def _changed_estimates(model: "ConfidenceModel", batch: Sequence[Draft]) -> list[StoredConfidence]:
    estimates = ((draft, _estimate(model, draft)) for draft in batch)
    return [
        StoredConfidence(draft.id, draft.version, estimate.confidence, estimate.known)
        for draft, estimate in estimates
        if (draft.confidence, draft.confidence_known) != estimate
    ]
