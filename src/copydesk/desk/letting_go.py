"""A draft is let go: to which accounts, and why not."""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from copydesk.desk.planning import may_be_live, plan, standing
from copydesk.desk.telling import ways
from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.account import ConnectedAccount, unknown
from copydesk.model.delivery import State
from copydesk.model.draft import Action, Format, Status
from copydesk.model.history import EventKind
from copydesk.model.transitions import after, allowed_actions
from copydesk.store import accounts, changes, deliveries, lists
from copydesk.store.changes import Seen, Step
from copydesk.store.deliveries import KeptDelivery

Meant = Callable[[Sequence[ConnectedAccount], Sequence[str], Format], tuple[ConnectedAccount, ...]]
"""Which accounts names mean for a format: `Ground.meant`."""


def post_now(
    conn: Connection, user_id: str, draft_id: str, platforms: tuple[str, ...], now: datetime, meant: Meant
) -> tuple[str, ...]:
    """Let a draft go; the ids of the deliveries that begin."""
    seen = changes.one_seen(conn, user_id, draft_id)
    after(Action.POST, seen.status, archived=seen.archived)
    to = _accounts(conn, user_id, seen, platforms, meant)
    every = deliveries.of_draft(conn, user_id, draft_id)
    there = [kept for account in to if (kept := standing(every, account)) and may_be_live(kept)]
    if len(there) == len(to):
        raise _refused(seen, *_why_not(there))
    missing = [account for account in to if standing(there, account) is None]
    let_go(conn, user_id, seen, now)
    return plan(conn, user_id, draft_id, missing, now, now)


def _accounts(
    conn: Connection, user_id: str, seen: Seen, platforms: tuple[str, ...], meant: Meant
) -> tuple[ConnectedAccount, ...]:
    """The accounts that are meant: those that are named, else those that the draft is for, else all that take it."""
    connected = accounts.every(conn, user_id)
    if not connected:
        hint = "Connect one: copydesk account connect bluesky"
        raise _refused(seen, "No account is connected; nothing was posted.", hint)
    if wrong := unknown(connected, platforms):
        known = ", ".join(account.label for account in connected)
        raise InvalidError(FieldError("platforms", f"{', '.join(wrong)} is not connected; there is {known}"))
    shown = lists.one(conn, user_id, seen.id)
    names = platforms or (shown.target_platforms if shown else ())
    to = meant(connected, names, seen.format)
    if not to and names:
        raise _refused(seen, "None of its platforms is connected; nothing was posted.")
    if not to:
        raise _refused(seen, f"No connected account takes drafts of the format {seen.format}; nothing was posted.")
    return to


def _why_not(there: Sequence[KeptDelivery]) -> tuple[str, str]:
    """Why nothing is posted where the draft is, or may be; and what can be done."""
    doubtful = [kept for kept in there if kept.progress.state is not State.SENT]
    if not doubtful:
        return "It is live there already; nothing was posted.", ""
    says = "Nobody knows whether it is there already; nothing was posted."
    return says, f"Look at your profile, then: {ways(doubtful[0])}"


def let_go(conn: Connection, user_id: str, seen: Seen, now: datetime) -> None:
    """The draft is posting from now on; that stands, and everything before it."""
    values = changes.stored({"status": Status.POSTING, "last_error": None})
    changes.put(conn, user_id, seen, Step(kind=EventKind.FIXED, action=Action.POST, after=values, at=now))


def _refused(seen: Seen, message: str, hint: str = "") -> ConflictError:
    allowed = allowed_actions(seen.status, archived=seen.archived)
    return ConflictError(message, hint=hint, current_status=seen.status, allowed=allowed)
