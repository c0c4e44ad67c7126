"""Create the deliveries of a draft, one per account, in the transaction that moves the draft to POSTING."""

import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from copydesk.model.delivery import DeliveryState
from copydesk.model.platform import ConnectedAccount
from copydesk.posting.delivery_states import restart_delivery
from copydesk.posting.platform import first_seed
from copydesk.store import deliveries, delivery_updates, draft_updates
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.delivery_updates import DeliveryRestart, DeliveryUpdate, NewDelivery
from copydesk.store.ids import new_id


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
    post with a new idempotency seed, because the text may have changed since.
    """
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id, include_text=True)
    digest = text_digest(snapshot.value("text"))
    existing = deliveries.list_by_draft(conn, user_id, draft_id)
    pairs = [(account, latest_delivery(existing, account)) for account in accounts]
    names_in_use = {(row.platform, row.account) for row in existing}
    new_deliveries: list[NewDelivery] = []
    for account in (account for account, row in pairs if row is None):
        platform, name = account.details.platform, account.details.name
        if (platform, name) in names_in_use:  # display names are not unique on every platform
            name = f"{name} ({account.id})"
        names_in_use.add((platform, name))
        new_deliveries.append(
            NewDelivery(
                id=new_id(now),
                account_id=account.id,
                platform=platform,
                account=name,
                digest=digest,
                seed=first_seed(draft_id, f"{platform}:{account.details.id}@{account.details.server}", due_at),
                error=account.trouble or "",
            )
        )
    delivery_updates.insert_deliveries(conn, user_id, draft_id, snapshot.format, new_deliveries, due_at, now)
    restarted = [(account, row) for account, row in pairs if row and not may_be_live(row)]
    for account, row in restarted:
        progress = replace(restart_delivery(row.progress, row.intent), error=account.trouble or "")
        restart = DeliveryRestart(account_id=account.id, seed=new_id(now), digest=digest, due_at=due_at, anyway=False)
        update = DeliveryUpdate(progress=progress, event="planned", message=progress.error, restart=restart)
        delivery_updates.save_update(conn, user_id, row, update, now)
    return (*(planned.id for planned in new_deliveries), *(row.id for _, row in restarted))


def latest_delivery(rows: Sequence[DeliveryRow], account: ConnectedAccount) -> DeliveryRow | None:
    """Return the existing delivery to `account`, or None.

    A delivery whose account was removed matches by platform and name.
    """
    label = (account.details.platform, account.details.name)
    # Prefer the account's own delivery over one left by a removed account of the same name.
    by_id = [row for row in rows if row.account_id == account.id]
    by_label = [row for row in rows if row.account_id is None and (row.platform, row.account) == label]
    return next(iter(by_id + by_label), None)


def may_be_live(row: DeliveryRow) -> bool:
    """Return True if the draft is posted there, or its last attempt was abandoned with an unknown outcome.

    Sending it again without asking could post it twice.
    """
    return row.progress.state is DeliveryState.SENT or row.progress.doubt


def text_digest(text: str) -> str:
    """Return a digest that is equal for texts that differ only in whitespace or Unicode normalization."""
    normalized = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(normalized.encode("utf-8", "surrogatepass")).hexdigest()[:32]
