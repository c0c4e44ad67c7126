"""The accounts that posts go to, as they are connected."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from copydesk.model.delivery import Account
from copydesk.model.wire import Struct


class Wanted(Struct, frozen=True):
    """One thing that connecting an account asks the user for."""

    name: str
    question: str
    secret: bool = False
    optional: bool = False


class ConnectedAccount(Struct, frozen=True):
    """An account that was connected. No secret is in it."""

    id: str
    details: Account
    connected_at: datetime
    checked_at: datetime | None
    trouble: str | None
    """Why nothing can go there until the user does something about it; None where nothing stands in the way."""

    @property
    def label(self) -> str:
        """What names it alone: `bluesky:me.example`."""
        return f"{self.details.platform}:{self.details.name}"


def named(accounts: Iterable[ConnectedAccount], names: Sequence[str]) -> tuple[ConnectedAccount, ...]:
    """The accounts that `names` mean: a platform (`bluesky`) or an account (`bluesky:me.example`); for none, all."""
    if not names:
        return tuple(accounts)
    wanted = {name.strip().lower() for name in names}
    return tuple(each for each in accounts if wanted & {each.details.platform.lower(), each.label.lower()})


def unknown(accounts: Iterable[ConnectedAccount], names: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` that mean no account."""
    known = {key for each in accounts for key in (each.details.platform.lower(), each.label.lower())}
    return tuple(name for name in names if name.strip().lower() not in known)
