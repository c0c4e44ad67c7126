"""Connected accounts, and the leases that serialize posting to each of them. Credentials are not stored here."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select, update

from copydesk.model.delivery import Account, ConnectedAccount
from copydesk.model.serialization import Struct
from copydesk.store.raw_sql import upsert
from copydesk.store.tables import account

_COLUMNS = (
    *(account.c[name] for name in ("id", "details", "connected_at", "checked_at", "approvals")),
    account.c.trouble.label("login_error"),
)
_OWNED = account.c.user_id == bindparam("b_user")
_ALL = select(*_COLUMNS).where(_OWNED).order_by(account.c.platform, account.c.name, account.c.id)
_BY_ID = select(*_COLUMNS).where(_OWNED, account.c.id == bindparam("b_id"))
_LEASE = select(account.c.owner, account.c.claim_id, account.c.lease_until).where(
    _OWNED, account.c.id == bindparam("b_id")
)

_RENEW = (
    update(account)
    .where(_OWNED, account.c.id == bindparam("b_id"), account.c.claim_id == bindparam("b_claim"))
    .values(lease_until=bindparam("lease_until"))
)


class AccountLease(Struct, frozen=True):
    """The process that posts to an account, and until when it is assumed alive; all None if there is none."""

    owner: str | None
    claim_id: str | None
    lease_until: datetime | None


def list_all(conn: Connection, user_id: str) -> tuple[ConnectedAccount, ...]:
    """Return the user's accounts, by platform and name."""
    return tuple(ConnectedAccount(**row._mapping) for row in conn.execute(_ALL, {"b_user": user_id}))


def get(conn: Connection, user_id: str, account_id: str) -> ConnectedAccount | None:
    """Return the account, or None if the user has no such account."""
    row = conn.execute(_BY_ID, {"b_user": user_id, "b_id": account_id}).first()
    return ConnectedAccount(**row._mapping) if row else None


def save(conn: Connection, user_id: str, new_id: str, details: Account, now: datetime) -> str:
    """Store a newly connected or reconnected account; return its id. Reconnecting clears the error."""
    values = {"name": details.name, "details": details, "connected_at": now, "checked_at": now, "trouble": None}
    # A reconnected account keeps its id, which its deliveries refer to.
    statement = upsert(conn, account).values(
        id=new_id, user_id=user_id, platform=details.platform, server=details.server, remote_id=details.id, **values
    )
    unique_key = ["user_id", "platform", "server", "remote_id"]
    account_id: str = conn.execute(
        statement.on_conflict_do_update(index_elements=unique_key, set_=values).returning(account.c.id)
    ).scalar_one()
    return account_id


def update_details(conn: Connection, user_id: str, account_id: str, details: Account, now: datetime) -> None:
    """Store the server's current view of the account and clear its error."""
    conditions = (account.c.user_id == user_id, account.c.id == account_id)
    values = {"name": details.name, "details": details, "checked_at": now, "trouble": None}
    conn.execute(update(account).where(*conditions).values(**values))


def set_error(conn: Connection, user_id: str, connected: ConnectedAccount, error: str) -> None:
    """Store why nothing can be posted to the account, unless it was reconnected since `connected` was read."""
    # A reconnect may have fixed what a running request still complains about: compare `connected_at`.
    conditions = (
        account.c.user_id == user_id,
        account.c.id == connected.id,
        account.c.connected_at == connected.connected_at,
    )
    conn.execute(update(account).where(*conditions).values(trouble=error))


def set_approvals(conn: Connection, user_id: str, account_id: str, approvals: int) -> None:
    """Store how many reviewers must have approved a draft before it is posted to the account."""
    conditions = (account.c.user_id == user_id, account.c.id == account_id)
    conn.execute(update(account).where(*conditions).values(approvals=approvals))


def remove(conn: Connection, user_id: str, account_id: str) -> bool:
    """Delete the account; return False if there is none. Its posts stay."""
    return conn.execute(delete(account).where(account.c.user_id == user_id, account.c.id == account_id)).rowcount == 1


def get_lease(conn: Connection, user_id: str, account_id: str) -> AccountLease | None:
    """Return the lease of the account, or None if there is no such account."""
    row = conn.execute(_LEASE, {"b_user": user_id, "b_id": account_id}).first()
    return AccountLease(**row._mapping) if row else None


def acquire_lease(
    conn: Connection,
    user_id: str,
    account_id: str,
    lease: AccountLease,
    now: datetime,
    *,
    abandoned_claim_id: str | None,
) -> bool:
    """Acquire the lease of the account; return False if another process holds it.

    A lease is free if it was never taken or released, if it has expired, or if its claim is `abandoned_claim_id`.
    """
    is_free = or_(
        account.c.claim_id.is_(None),
        account.c.lease_until < now,
        account.c.claim_id == abandoned_claim_id,
    )
    values = {"owner": lease.owner, "claim_id": lease.claim_id, "lease_until": lease.lease_until}
    statement = update(account).where(account.c.user_id == user_id, account.c.id == account_id, is_free)
    return conn.execute(statement.values(**values)).rowcount == 1


def renew_lease(conn: Connection, user_id: str, account_id: str, claim_id: str, lease_until: datetime) -> bool:
    """Extend the lease; return False if another process has taken it over."""
    values = {"b_user": user_id, "b_id": account_id, "b_claim": claim_id, "lease_until": lease_until}
    return conn.execute(_RENEW, values).rowcount == 1


def release_lease(conn: Connection, user_id: str, account_id: str, claim_id: str) -> None:
    """Release the lease if it is still held by this claim."""
    conditions = (account.c.user_id == user_id, account.c.id == account_id, account.c.claim_id == claim_id)
    conn.execute(update(account).where(*conditions).values(owner=None, claim_id=None, lease_until=None))
