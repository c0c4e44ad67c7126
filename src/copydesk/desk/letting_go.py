"""Start posting a draft: choose the accounts, or explain why it cannot be posted."""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from copydesk.desk.planning import create_deliveries, latest_delivery, may_be_live
from copydesk.desk.telling import resolution_hint
from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.account import ConnectedAccount, find_unknown_names
from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Action, Format, Status
from copydesk.model.history import EventKind
from copydesk.model.transitions import allowed_actions, next_status
from copydesk.store import accounts, changes, deliveries, lists
from copydesk.store.changes import DraftChange, DraftSnapshot
from copydesk.store.deliveries import DeliveryRow

AccountResolver = Callable[[Sequence[ConnectedAccount], Sequence[str], Format], tuple[ConnectedAccount, ...]]
"""Resolves account names for a format: `DeskContext.resolve_accounts`."""


def start_posting(
    conn: Connection, user_id: str, draft_id: str, platforms: tuple[str, ...], now: datetime, resolve: AccountResolver
) -> tuple[str, ...]:
    """Start posting a draft; return the ids of the new deliveries.

    Raise ConflictError if its status does not allow it, no account fits, or it is live, or may be, on all of them
    already.
    """
    snapshot = changes.load_snapshot(conn, user_id, draft_id)
    next_status(Action.POST, snapshot.get_status, archived=snapshot.archived)
    targets = _select_accounts(conn, user_id, snapshot, platforms, resolve)
    rows = deliveries.list_by_draft(conn, user_id, draft_id)
    existing = [row for account in targets if (row := latest_delivery(rows, account)) and may_be_live(row)]
    # Refuse only if no account is left to post to.
    if len(existing) == len(targets):
        raise _refusal(snapshot, *_already_posted(existing))
    # Post only where nothing is live yet; the other accounts keep their delivery.
    missing = [account for account in targets if latest_delivery(existing, account) is None]
    mark_posting(conn, user_id, snapshot, now)
    return create_deliveries(conn, user_id, draft_id, missing, now, now)


def _select_accounts(
    conn: Connection, user_id: str, snapshot: DraftSnapshot, platforms: tuple[str, ...], resolve: AccountResolver
) -> tuple[ConnectedAccount, ...]:
    """Return the accounts to post to: those named, else the draft's targets, else all that accept its format."""
    connected = accounts.list_all(conn, user_id)
    if not connected:
        hint = "Connect one: copydesk account connect bluesky"
        raise _refusal(snapshot, "No account is connected; nothing was posted.", hint)
    if unknown_names := find_unknown_names(connected, platforms):
        connected_labels = ", ".join(account.label for account in connected)
        raise InvalidError(
            FieldError("platforms", f"{', '.join(unknown_names)} is not connected; there is {connected_labels}")
        )
    draft = lists.get(conn, user_id, snapshot.id)
    names = platforms or (draft.target_platforms if draft else ())
    targets = resolve(connected, names, snapshot.format)
    if not targets and names:
        raise _refusal(snapshot, "None of its platforms is connected; nothing was posted.")
    if not targets:
        raise _refusal(
            snapshot, f"No connected account takes drafts of the format {snapshot.format}; nothing was posted."
        )
    return targets


def _already_posted(existing: Sequence[DeliveryRow]) -> tuple[str, str]:
    """Return the message and hint for a draft that is, or may be, live on every account already."""
    doubtful = [row for row in existing if row.progress.state is not DeliveryState.SENT]
    if not doubtful:
        return "It is live there already; nothing was posted.", ""
    message = "Nobody knows whether it is there already; nothing was posted."
    return message, f"Look at your profile, then: {resolution_hint(doubtful[0])}"


def mark_posting(conn: Connection, user_id: str, snapshot: DraftSnapshot, now: datetime) -> None:
    """Set the draft to POSTING. The step is fixed: it and everything before it can no longer be undone."""
    values = changes.to_column_values({"status": Status.POSTING, "last_error": None})
    changes.apply_change(
        conn, user_id, snapshot, DraftChange(kind=EventKind.PERMANENT, action=Action.POST, after=values, at=now)
    )


def _refusal(snapshot: DraftSnapshot, message: str, hint: str = "") -> ConflictError:
    allowed = allowed_actions(snapshot.get_status, archived=snapshot.archived)
    return ConflictError(message, hint=hint, current_status=snapshot.get_status, allowed=allowed)
