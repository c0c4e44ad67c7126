"""The approvals that accounts ask for: which drafts lack one, and what waits for it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from copydesk.desk.context import DeskContext
from copydesk.desk.ids import shorten_ids
from copydesk.desk.platforms import Platforms
from copydesk.model.delivery import ApprovalQuestion, ConnectedAccount
from copydesk.model.draft import APPROVED_STATUSES
from copydesk.model.ids import IdKind
from copydesk.store import accounts, activity, draft_updates, drafts, queue_window, schedule
from copydesk.store.database import Transaction
from copydesk.store.schedule import ScheduledDraft

MAX_QUESTIONS = 100
"""Scheduled drafts that are listed, the first ones."""
_ALL_TIMES = timedelta(days=36525)


def most_approvals(connected: Sequence[ConnectedAccount]) -> int:
    """Return the largest number of approvals that one of the accounts asks for; 0 without accounts."""
    return max((account.approvals for account in connected), default=0)


def required_approvals(
    conn: Transaction,
    user_id: str,
    draft_ids: Sequence[str],
    connected: Sequence[ConnectedAccount],
    platforms: Platforms,
) -> dict[str, int]:
    """Return the approvals that the accounts of each draft ask for; drafts without an account are left out."""
    # Most desks have no account that asks for several.
    if not draft_ids or most_approvals(connected) <= 1:
        return dict.fromkeys(draft_ids, 1)
    required = {
        draft.id: platforms.select_targets(connected, draft.platforms, draft.format).approvals
        for draft in drafts.list_targets(conn, user_id, draft_ids)
    }
    return {draft_id: count for draft_id, count in required.items() if count}


def keep_lacking(conn: Transaction, user_id: str, required: Mapping[str, int]) -> dict[str, int]:
    """Return those of the drafts that have fewer approvals than `required`."""
    several = {draft_id: count for draft_id, count in required.items() if count > 1}
    found = activity.count_approvals(conn, user_id, list(several)) if several else {}
    return {draft_id: count for draft_id, count in several.items() if found.get(draft_id, 0) < count}


def list_lacking(conn: Transaction, user_id: str, draft_ids: Sequence[str], platforms: Platforms) -> tuple[str, ...]:
    """Return the approved ones of the drafts that have fewer approvals than their accounts ask for, in this order."""
    connected = accounts.list_all(conn, user_id)
    lacking = keep_lacking(conn, user_id, required_approvals(conn, user_id, draft_ids, connected, platforms))
    snapshots = draft_updates.load_snapshots(conn, user_id, list(lacking)) if lacking else {}
    return tuple(
        draft_id
        for draft_id in dict.fromkeys(draft_ids)
        if (snapshot := snapshots.get(draft_id)) is not None
        and (snapshot.status in APPROVED_STATUSES and not snapshot.archived)
    )


def count_missing_approvals(
    conn: Transaction, user_id: str, ctx: DeskContext, connected: Sequence[ConnectedAccount]
) -> int:
    """Return the number of questions that `list_missing_approvals` returns, without loading a draft."""
    return len(_find_scheduled(conn, user_id, ctx, connected))


async def list_missing_approvals(ctx: DeskContext) -> tuple[ApprovalQuestion, ...]:
    """Return the scheduled and due drafts that lack an approval, the first one first."""
    found = await ctx.read(_load_scheduled, ctx)
    if not found:
        return ()
    ids = [draft.id for draft, _ in found]
    texts = {draft.id: draft.text for draft in await ctx.read(queue_window.by_ids, ids)}
    short_ids = await ctx.read(shorten_ids, IdKind.DRAFT, ids)
    now = ctx.clock()
    questions = []
    for draft, required in found:
        reviewers = tuple(approval.reviewer for approval in await ctx.read(activity.list_approvals, draft.id))
        # Deleted in the meantime.
        if draft.id in texts:
            questions.append(
                ApprovalQuestion(
                    draft_id=draft.id,
                    text=texts[draft.id],
                    scheduled_at=draft.at,
                    is_due=draft.at <= now,
                    approved_by=reviewers,
                    required=required,
                    known=_describe(reviewers, required, is_due=draft.at <= now),
                    advice=f"Another reviewer approves it, too: copydesk draft countersign {short_ids[draft.id]}",
                )
            )
    return tuple(questions)


def _load_scheduled(conn: Transaction, user_id: str, ctx: DeskContext) -> tuple[tuple[ScheduledDraft, int], ...]:
    return _find_scheduled(conn, user_id, ctx, accounts.list_all(conn, user_id))


def _find_scheduled(
    conn: Transaction, user_id: str, ctx: DeskContext, connected: Sequence[ConnectedAccount]
) -> tuple[tuple[ScheduledDraft, int], ...]:
    """Return the scheduled drafts that lack an approval, each with the number that it needs."""
    if most_approvals(connected) <= 1:
        return ()
    scheduled = schedule.list_due(conn, user_id, ctx.clock() + _ALL_TIMES)
    required = required_approvals(conn, user_id, [draft.id for draft in scheduled], connected, ctx.platforms)
    lacking = keep_lacking(conn, user_id, required)
    return tuple((draft, lacking[draft.id]) for draft in scheduled if draft.id in lacking)[:MAX_QUESTIONS]


def describe_approvals(reviewers: Sequence[str]) -> str:
    """Return who approved a draft that lacks an approval, as part of a sentence."""
    return f"only {' and '.join(reviewers)} approved this draft" if reviewers else "nobody approved its present text"


def _describe(reviewers: Sequence[str], required: int, *, is_due: bool) -> str:
    when = "It is due, and waits" if is_due else "It is scheduled, and will wait"
    return f"{when} for another approval: {describe_approvals(reviewers)}, and {required} have to."
