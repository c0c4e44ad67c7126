"""The accounts that posts go to, and who sends there. Their keys are not here, but with `secrets`."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import Account
from copydesk.model.wire import Struct
from copydesk.store.tables import account

_SHOWN = (account.c.id, account.c.details, account.c.connected_at, account.c.checked_at, account.c.trouble)
_MINE = account.c.user_id == bindparam("b_user")
_ALL = select(*_SHOWN).where(_MINE).order_by(account.c.platform, account.c.name, account.c.id)
_ONE = select(*_SHOWN).where(_MINE, account.c.id == bindparam("b_id"))
_CLAIMED = select(account.c.owner, account.c.claim_id, account.c.lease_until).where(
    _MINE, account.c.id == bindparam("b_id")
)

_RENEW = (
    update(account)
    .where(_MINE, account.c.id == bindparam("b_id"), account.c.claim_id == bindparam("b_claim"))
    .values(lease_until=bindparam("lease_until"))
)


class Sending(Struct, frozen=True):
    """Who sends to an account, and until when that may be thought alive; None where nobody does."""

    owner: str | None
    claim_id: str | None
    lease_until: datetime | None


def every(conn: Connection, user_id: str) -> tuple[ConnectedAccount, ...]:
    """The user's accounts, by platform and name."""
    return tuple(ConnectedAccount(**row._mapping) for row in conn.execute(_ALL, {"b_user": user_id}))


def one(conn: Connection, user_id: str, account_id: str) -> ConnectedAccount | None:
    """One of the user's accounts."""
    row = conn.execute(_ONE, {"b_user": user_id, "b_id": account_id}).first()
    return ConnectedAccount(**row._mapping) if row else None


def connect(conn: Connection, user_id: str, new_id: str, details: Account, now: datetime) -> str:
    """Keep an account that was just connected, or connected once more; its id."""
    known = {"name": details.name, "details": details, "connected_at": now, "checked_at": now, "trouble": None}
    put = upsert(account).values(
        id=new_id, user_id=user_id, platform=details.platform, server=details.server, remote_id=details.id, **known
    )
    same = ["user_id", "platform", "server", "remote_id"]
    kept: str = conn.execute(put.on_conflict_do_update(same, set_=known).returning(account.c.id)).scalar_one()
    return kept


def checked(conn: Connection, user_id: str, account_id: str, details: Account, now: datetime) -> None:
    """Keep an account as its server knows it now; nothing stands in the way any more."""
    mine = (account.c.user_id == user_id, account.c.id == account_id)
    values = {"name": details.name, "details": details, "checked_at": now, "trouble": None}
    conn.execute(update(account).where(*mine).values(**values))


def set_trouble(conn: Connection, user_id: str, seen: ConnectedAccount, trouble: str) -> None:
    """Keep why nothing can go to an account, unless it was connected once more since it was seen."""
    mine = (account.c.user_id == user_id, account.c.id == seen.id, account.c.connected_at == seen.connected_at)
    conn.execute(update(account).where(*mine).values(trouble=trouble))


def remove(conn: Connection, user_id: str, account_id: str) -> bool:
    """Forget an account; what was posted there stays. False where there is none."""
    return conn.execute(delete(account).where(account.c.user_id == user_id, account.c.id == account_id)).rowcount == 1


def sending(conn: Connection, user_id: str, account_id: str) -> Sending | None:
    """Who sends to an account."""
    row = conn.execute(_CLAIMED, {"b_user": user_id, "b_id": account_id}).first()
    return Sending(**row._mapping) if row else None


def claim(
    conn: Connection, user_id: str, account_id: str, mine: Sending, now: datetime, *, instead_of: str | None
) -> bool:
    """Become the one who sends to an account, unless somebody is: one whose lease is over, or `instead_of`, is not."""
    free = or_(
        account.c.claim_id.is_(None),
        account.c.lease_until < now,
        account.c.claim_id == instead_of,
    )
    values = {"owner": mine.owner, "claim_id": mine.claim_id, "lease_until": mine.lease_until}
    asked = update(account).where(account.c.user_id == user_id, account.c.id == account_id, free)
    return conn.execute(asked.values(**values)).rowcount == 1


def renew(conn: Connection, user_id: str, account_id: str, claim_id: str, lease_until: datetime) -> bool:
    """Go on as the one who sends; False where somebody else is by now."""
    values = {"b_user": user_id, "b_id": account_id, "b_claim": claim_id, "lease_until": lease_until}
    return conn.execute(_RENEW, values).rowcount == 1


def release(conn: Connection, user_id: str, account_id: str, claim_id: str) -> None:
    """Let somebody else send."""
    mine = (account.c.user_id == user_id, account.c.id == account_id, account.c.claim_id == claim_id)
    conn.execute(update(account).where(*mine).values(owner=None, claim_id=None, lease_until=None))
