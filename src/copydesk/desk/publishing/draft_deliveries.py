"""The deliveries of a draft, one per account: create them, record what became of each, settle the draft at the end.

They are created in the transaction that moves the draft to POSTING.
"""

import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from copydesk.desk.publishing.metrics import METRIC_READ_DELAYS
from copydesk.model.delivery import FINAL_STATES, ConnectedAccount, DeliveryState
from copydesk.model.draft import Status
from copydesk.model.targets import PostingTargets, SkipReason, find_disconnected
from copydesk.model.transitions import SystemEvent
from copydesk.posting.delivery_states import restart_delivery
from copydesk.posting.platform import first_seed, repeat_seed
from copydesk.store import accounts as account_store
from copydesk.store import deliveries, draft_updates, drafts
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRestart, DeliveryRow, DeliveryUpdate, NewDelivery
from copydesk.store.ids import new_id

NOT_CONNECTED_MESSAGE = (
    "Not posted there, because no such account was connected. Connect it and post the draft; if its name has changed,"
    " post to the new one."
)


def create_deliveries(
    conn: Transaction,
    user_id: str,
    draft_id: str,
    accounts: Sequence[ConnectedAccount],
    due_at: datetime,
    now: datetime,
) -> tuple[str, ...]:
    """Create or restart the deliveries of a draft to `accounts`, due at `due_at`; return the ids of those now pending.

    Accounts where the draft is live, or may be, are skipped. A delivery that failed is restarted at its first missing
    post, with a new idempotency seed if its content changed.
    """
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id, include_text=True)
    digest = text_digest(snapshot.value("text"))
    existing = deliveries.list_by_draft(conn, user_id, draft_id)
    pairs = [(account, latest_delivery(existing, account)) for account in accounts]
    unused = [account for account, row in pairs if row is None]
    new_deliveries = _plan_deliveries(draft_id, unused, existing, digest, now)
    deliveries.insert_deliveries(conn, user_id, draft_id, snapshot.format, new_deliveries, due_at, now)
    restarted = [(account, row) for account, row in pairs if row and not may_be_live(row)]
    for account, row in restarted:
        deliveries.save_update(conn, user_id, row, _restart_update(account, row, digest, due_at), now)
    return (*(planned.id for planned in new_deliveries), *(row.id for _, row in restarted))


def _plan_deliveries(
    draft_id: str, accounts: Sequence[ConnectedAccount], existing: Sequence[DeliveryRow], digest: str, now: datetime
) -> list[NewDelivery]:
    """Return the first deliveries of the draft to accounts."""
    names_in_use = {(row.platform, row.account) for row in existing}
    new_deliveries: list[NewDelivery] = []
    for account in accounts:
        platform, name = account.details.platform, account.details.name
        if (platform, name) in names_in_use:  # display names are not unique on every platform
            name = f"{name} ({account.id})"
        names_in_use.add((platform, name))
        new_deliveries.append(
            NewDelivery(
                id=new_id(now),
                account_id=account.id,
                identity=account.details.identity,
                platform=platform,
                account=name,
                digest=digest,
                seed=first_seed(draft_id, account.details.identity),
                error=account.login_error or "",
            )
        )
    return new_deliveries


def _restart_update(account: ConnectedAccount, row: DeliveryRow, digest: str, due_at: datetime) -> DeliveryUpdate:
    """Return the update that starts a delivery over, at its first missing post."""
    progress = replace(restart_delivery(row.progress, row.intent), error=account.login_error or "")
    # Some servers answer a key as before, also with an error: a corrected text needs new keys. So does a hidden
    # draft that is created again. Otherwise nothing exists under the keys, and keeping them is safer.
    is_same = row.digest == digest and progress.results == row.progress.results
    seed = row.seed if is_same else repeat_seed(row.seed)
    restart = DeliveryRestart(account_id=account.id, seed=seed, digest=digest, due_at=due_at, anyway=False)
    return DeliveryUpdate(progress=progress, event="planned", message=progress.error, restart=restart)


def latest_delivery(rows: Sequence[DeliveryRow], account: ConnectedAccount) -> DeliveryRow | None:
    """Return the existing delivery to `account`, of several one that may be live; None if there is none.

    A delivery of unknown identity whose account was removed matches by platform and name, but only if it may be live.
    """
    details = account.details
    own = [row for row in rows if row.account_id == account.id or row.identity == details.identity]
    # It may be one to another account that had the name: it prevents that the draft is posted twice, and is never sent.
    label = (details.platform, details.name)
    by_label = [row for row in rows if _has_unknown_account(row) and (row.platform, row.account) == label]
    found = [*own, *filter(may_be_live, by_label)]
    return max(found, key=may_be_live, default=None)


def may_be_live(row: DeliveryRow) -> bool:
    """Return True if the draft is posted there, or its last attempt was abandoned with an unknown outcome.

    Sending it again without asking could post it twice. So could going on with a part of a thread that nobody knows the
    account of.
    """
    is_unknown_part = bool(row.progress.results) and _has_unknown_account(row)
    return row.progress.state is DeliveryState.SENT or row.progress.doubt or is_unknown_part


def _has_unknown_account(row: DeliveryRow) -> bool:
    return row.account_id is None and row.identity is None


def skip_live(targets: PostingTargets, rows: Sequence[DeliveryRow]) -> PostingTargets:
    """Return the targets without the accounts where the draft is posted, or may be; `rows` are its deliveries."""
    reasons = {
        account.id: SkipReason.POSTED if row.progress.state is DeliveryState.SENT else SkipReason.IN_DOUBT
        for account in targets.accounts
        if (row := latest_delivery(rows, account)) and may_be_live(row)
    }
    return targets.skip(reasons)


def text_digest(text: str) -> str:
    """Return a digest that is equal for texts that differ only in whitespace or Unicode normalization."""
    # Platforms normalize and trim texts themselves, so these differences do not make another post.
    normalized = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(normalized.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def settle_draft(conn: Transaction, user_id: str, draft_id: str, now: datetime) -> None:
    """Set the draft to posted, or back to approved, if every delivery has ended; otherwise leave it."""
    # In the transaction that ended the last delivery: two senders that end at once would otherwise both see the other
    # as unfinished, and the draft would stay in POSTING.
    if deliveries.has_unfinished_for_draft(conn, user_id, draft_id):
        return
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    # Settled already, by another process.
    if snapshot.status is not Status.POSTING:
        return
    rows = deliveries.list_by_draft(conn, user_id, draft_id)
    live_rows = [row for row in rows if is_live(row)]
    event = SystemEvent.DELIVERED if live_rows else SystemEvent.NOT_DELIVERED
    missing = _find_missing_targets(conn, user_id, draft_id) if snapshot.value("scheduled_at") else ()
    values: dict[str, object] = {"last_error": _error_summary(rows, missing)}
    if live_rows:
        first = min(live_rows, key=lambda row: row.sent_at or now)
        # A draft posted before keeps its first time and post id.
        values["posted_at"] = snapshot.value("posted_at") or first.sent_at or now
        values["post_id"] = snapshot.value("post_id") or first.post_id
    draft_updates.apply_system_event(conn, user_id, snapshot, event, values, now)


def record_delivery(
    conn: Transaction, user_id: str, row: DeliveryRow, update: DeliveryUpdate, now: datetime
) -> DeliveryRow | None:
    """Store a delivery update, and settle the draft if the delivery ended by it.

    Return the stored row, or None if the delivery was changed in the meantime (compare-and-set on its version).
    """
    if update.progress.state is DeliveryState.SENT:
        # The first metrics reading is due shortly after the post went out.
        update = replace(update, metrics_at=now + METRIC_READ_DELAYS[0])
    stored = deliveries.save_update(conn, user_id, row, update, now)
    if stored is not None and stored.progress.state in FINAL_STATES:
        settle_draft(conn, user_id, row.draft_id, now)
    return stored


def is_live(row: DeliveryRow) -> bool:
    """Return True if anything of the delivery is publicly visible, even only a part of a thread."""
    return row.progress.state is DeliveryState.SENT or bool(row.progress.public_results(row.intent))


def _find_missing_targets(conn: Transaction, user_id: str, draft_id: str) -> tuple[str, ...]:
    """Return the targets of the draft of which no account is connected."""
    return tuple(
        name
        for draft in drafts.list_targets(conn, user_id, [draft_id])
        for name in find_disconnected(account_store.list_all(conn, user_id), draft.platforms)
    )


def _error_summary(rows: Sequence[DeliveryRow], missing: Sequence[str]) -> str | None:
    messages = [
        f"{row.label}: {row.progress.error}"
        for row in rows
        if row.progress.state is not DeliveryState.SENT and row.progress.error
    ]
    sent = [row for row in rows if row.progress.state is DeliveryState.SENT]
    posted = {name.lower() for row in sent for name in (row.platform, row.label)}
    messages += [f"{name}: {NOT_CONNECTED_MESSAGE}" for name in missing if name.strip().lower() not in posted]
    return " ".join(messages) or None
