"""The user's decisions about posting: to post a draft now, and to settle a delivery of unknown outcome."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from copydesk.desk.drafts.activity import settle_edit
from copydesk.desk.drafts.approvals import describe_approvals
from copydesk.desk.drafts.change import PreparedChange, write_change
from copydesk.desk.ids import shorten_id
from copydesk.desk.platforms import Platforms
from copydesk.desk.publishing.delivery_report import resolution_hint
from copydesk.desk.publishing.draft_deliveries import (
    create_deliveries,
    latest_delivery,
    record_delivery,
    settle_draft,
    skip_live,
    text_digest,
)
from copydesk.errors import ConflictError, FieldError, InvalidError, NotFoundError
from copydesk.model.delivery import ConnectedAccount, Delivery, DeliveryState
from copydesk.model.draft import Action, Status
from copydesk.model.ids import IdKind
from copydesk.model.targets import PostingTargets
from copydesk.model.transitions import EventKind, next_status
from copydesk.model.validation import MAX_ID_LENGTH
from copydesk.posting import delivery_states
from copydesk.posting.platform import DeliveryGuarantees, repeat_seed
from copydesk.store import accounts, activity, deliveries, draft_queries, draft_updates
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRestart, DeliveryRow, DeliveryUpdate
from copydesk.store.draft_updates import DraftSnapshot, DraftUpdate
from copydesk.text.formatting import format_minutes_until

DOUBTFUL = frozenset({DeliveryState.UNKNOWN, DeliveryState.NEEDS_USER})
"""States in which the post may or may not have arrived."""
UNSUCCESSFUL = frozenset({DeliveryState.FAILED, DeliveryState.ABANDONED})
"""States in which nothing more is done about a delivery."""


def start_posting(
    conn: Transaction,
    user_id: str,
    draft_id: str,
    names: tuple[str, ...],
    now: datetime,
    platforms: Platforms,
    *,
    edit: PreparedChange | None = None,
    expected_version: int | None = None,
) -> tuple[str, ...]:
    """Start posting a draft, after its edit if there is one; return the ids of the new deliveries.

    It goes to the accounts that `names` select, or to those of the draft where it is not live yet.

    Raise StaleVersionError if it has another version than `expected_version`, ConflictError if it has another one than
    was edited, its status does not allow it, no account fits, or it is live, or may be, on all of them already.
    """
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id, expected_version=expected_version)
    next_status(Action.POST, snapshot.status, archived=snapshot.archived)
    if edit is not None:
        settle_edit(conn, user_id, draft_id, edit.reviewer, now)
        write_change(conn, user_id, edit)
        snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    rows = deliveries.list_by_draft(conn, user_id, draft_id)
    targets = _select_targets(conn, user_id, snapshot, names, platforms, rows)
    # What is final comes first: an approval would change nothing about a draft that is posted already.
    _require_approvals(conn, user_id, snapshot, targets.accounts)
    mark_posting(conn, user_id, snapshot, now)
    return create_deliveries(conn, user_id, draft_id, targets.accounts, now, now)


def _select_targets(
    conn: Transaction,
    user_id: str,
    snapshot: DraftSnapshot,
    names: tuple[str, ...],
    platforms: Platforms,
    rows: Sequence[DeliveryRow],
) -> PostingTargets:
    """Return the accounts to post to. Raise InvalidError for an unknown name, ConflictError if none is left."""
    connected = accounts.list_all(conn, user_id)
    if not connected:
        hint = "Connect one: copydesk account connect bluesky"
        # Posting is no way out of the refusal, so it is not among the actions that it offers.
        raise _refusal(snapshot, "No accounts connected; nothing was posted.", hint, without=Action.POST)
    draft = draft_queries.get(conn, user_id, snapshot.id)
    targets = platforms.select_targets(connected, names or (draft.target_platforms if draft else ()), snapshot.format)
    if names and targets.disconnected:
        connected_labels = ", ".join(targets.names.values())
        raise InvalidError(
            FieldError(
                "platforms", f"{', '.join(targets.disconnected)} is not connected; connected: {connected_labels}"
            )
        )
    if not targets.accounts and targets.disconnected:
        raise _refusal(snapshot, "None of its target platforms is connected; nothing was posted.")
    if not targets.accounts:
        raise _refusal(snapshot, f"No connected account accepts the format {snapshot.format}; nothing was posted.")
    left = skip_live(targets, rows)
    # Refuse only if no account is left to post to; the other accounts keep their delivery.
    if not left.accounts:
        raise _refusal(snapshot, *_already_posted(conn, user_id, targets, rows))
    return left


def _require_approvals(
    conn: Transaction, user_id: str, snapshot: DraftSnapshot, targets: Sequence[ConnectedAccount]
) -> None:
    """Raise ConflictError if an account asks for more approvals than the draft has."""
    needed = max(account.approvals for account in targets)
    if needed <= 1:
        return
    reviewers = [approval.reviewer for approval in activity.list_approvals(conn, user_id, snapshot.id)]
    if len(reviewers) < needed:
        label = next(account.label for account in targets if account.approvals == needed)
        short_id = shorten_id(conn, user_id, IdKind.DRAFT, snapshot.id)
        hint = f"Another reviewer approves it too: copydesk draft countersign {short_id}"
        message = f"{label} asks for {needed} approvals, and {describe_approvals(reviewers)}; nothing was posted."
        raise _refusal(snapshot, message, hint, without=Action.POST)


def _already_posted(
    conn: Transaction, user_id: str, targets: PostingTargets, rows: Sequence[DeliveryRow]
) -> tuple[str, str]:
    """Return the message and hint for a draft that is, or may be, live on every account already."""
    latest = {account.id: latest_delivery(rows, account) for account in targets.accounts}
    existing = {account_id: row for account_id, row in latest.items() if row}
    doubtful = {key: row for key, row in existing.items() if row.progress.state is not DeliveryState.SENT}
    labels = ", ".join(targets.names[account_id] for account_id in doubtful or existing)
    if not doubtful:
        return f"Already posted to {labels}; nothing was sent.", ""
    message = f"It may already be posted to {labels}; nothing was sent."
    first = next(iter(doubtful.values()))
    short_id = shorten_id(conn, user_id, IdKind.DELIVERY, first.id)
    return message, f"Check your profile, then run: {resolution_hint(first, short_id)}"


def mark_posting(conn: Transaction, user_id: str, snapshot: DraftSnapshot, now: datetime) -> None:
    """Set the draft to POSTING. The step is fixed: it and everything before it can no longer be undone."""
    values = draft_updates.to_column_values({"status": Status.POSTING, "last_error": None})
    draft_updates.apply_update(
        conn, user_id, snapshot, DraftUpdate(kind=EventKind.PERMANENT, action=Action.POST, after=values, at=now)
    )


def _refusal(snapshot: DraftSnapshot, message: str, hint: str = "", *, without: Action | None = None) -> ConflictError:
    remaining = tuple(action for action in snapshot.allowed_actions if action is not without)
    return ConflictError(message, hint=hint, current_status=snapshot.status, allowed=remaining)


class Decision(NamedTuple):
    """A decision of the user about a delivery."""

    event: str
    allowed_states: frozenset[DeliveryState]
    apply: Callable[[Delivery], Delivery]
    restart: bool = False
    """Send it again, with new idempotency keys."""
    guarantees: DeliveryGuarantees = DeliveryGuarantees()
    describe: Callable[[DeliveryRow], str] = lambda row: row.progress.error
    """Describes the delivery if its state does not allow the decision."""


def reset_lookup(progress: Delivery) -> Delivery:
    """Return the delivery in UNKNOWN with its lookups reset, so that it is looked up now."""
    return replace(progress, state=DeliveryState.UNKNOWN, not_before=None, failed_lookups=0)


def apply_decision(conn: Transaction, user_id: str, delivery_id: str, decision: Decision, now: datetime) -> DeliveryRow:
    """Store the decision and what follows for the draft; return the delivery.

    Raise NotFoundError, and ConflictError if the state does not allow it, the account was removed or asks for more
    approvals, or the last request may still arrive.
    """
    row = get_delivery(conn, user_id, delivery_id)
    if row.progress.state not in decision.allowed_states:
        raise ConflictError(f"Nothing changed. {decision.describe(row)}")
    if decision.restart and row.account_id is None:
        raise ConflictError("The account was removed; nothing was sent.", hint="Connect it again, then post the draft.")
    # Sending again while the first request may still arrive could post twice.
    settles_at = delivery_states.settles_at(row.progress, decision.guarantees, now)
    if decision.restart and settles_at is not None:
        wait = format_minutes_until(settles_at, now)
        raise ConflictError("The last request may still arrive; nothing was sent.", hint=f"Try again in {wait}.")
    progress = decision.apply(row.progress)
    if row.progress.state in UNSUCCESSFUL and progress.state in UNSUCCESSFUL:
        # It ended before and stays ended: nothing follows for the draft, whatever its status is by now.
        deliveries.save_update(conn, user_id, row, DeliveryUpdate(progress=progress, event=decision.event), now)
        return get_delivery(conn, user_id, delivery_id)
    snapshot = draft_updates.load_snapshot(conn, user_id, row.draft_id, include_text=True)
    if snapshot.status is not Status.POSTING:
        next_status(Action.POST, snapshot.status, archived=snapshot.archived)
        # The draft left POSTING when this delivery ended; a decision brings it back.
        mark_posting(conn, user_id, snapshot, now)
    update = DeliveryUpdate(progress=progress, event=decision.event)
    if decision.restart:
        # The text may have been edited since, even of a draft in POSTING: for accounts that ask for fewer approvals.
        targets = [account for account in accounts.list_all(conn, user_id) if account.id == row.account_id]
        _require_approvals(conn, user_id, snapshot, targets)
        digest = text_digest(snapshot.value("text"))
        seed = repeat_seed(row.seed)
        restart = DeliveryRestart(account_id=row.account_id, seed=seed, digest=digest, due_at=now, anyway=True)
        progress = replace(delivery_states.restart_delivery(row.progress, row.intent), checked_at=now)
        update = replace(update, progress=progress, restart=restart)
    record_delivery(conn, user_id, row, update, now)
    settle_draft(conn, user_id, row.draft_id, now)
    return get_delivery(conn, user_id, delivery_id)


def get_delivery(conn: Transaction, user_id: str, delivery_id: str) -> DeliveryRow:
    """Return one of the user's deliveries. Raise NotFoundError if there is none with this id."""
    row = deliveries.get(conn, user_id, delivery_id)
    if row is None:
        raise NotFoundError(f"No delivery {delivery_id[:MAX_ID_LENGTH]!r}.", hint="List them: copydesk delivery list")
    return row
