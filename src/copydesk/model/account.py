"""Connected accounts, and selecting them by name."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from copydesk.model.delivery import Account
from copydesk.model.serialization import Struct


class CredentialField(Struct, frozen=True):
    """One credential or detail the user is asked for when connecting an account."""

    name: str
    question: str
    secret: bool = False
    optional: bool = False


class ConnectedAccount(Struct, frozen=True):
    """A connected account. It contains no secret."""

    id: str
    details: Account
    connected_at: datetime
    checked_at: datetime | None
    trouble: str | None
    """Why nothing can be posted until the user acts, such as an expired login; None if the account is usable."""

    @property
    def label(self) -> str:
        """The unique name: `bluesky:me.example`."""
        return f"{self.details.platform}:{self.details.name}"


def select_accounts(accounts: Iterable[ConnectedAccount], names: Sequence[str]) -> tuple[ConnectedAccount, ...]:
    """Return the accounts that match `names`, in their order.

    A name is a platform (`bluesky`) or a label (`bluesky:me.example`), in any case. No names select all accounts.
    """
    if not names:
        return tuple(accounts)
    requested = {name.strip().lower() for name in names}
    return tuple(
        account for account in accounts if requested & {account.details.platform.lower(), account.label.lower()}
    )


def find_unknown_names(accounts: Iterable[ConnectedAccount], names: Sequence[str]) -> tuple[str, ...]:
    """Return those of `names` that match no account."""
    existing = {key for account in accounts for key in (account.details.platform.lower(), account.label.lower())}
    return tuple(name for name in names if name.strip().lower() not in existing)
