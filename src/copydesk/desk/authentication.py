"""Authenticate requests by their API tokens, without a unit of work for that alone.

The first request with a token looks it up. Later ones start with what was found then, and look the token up again in
their first unit of work, before that reads or writes anything: one thread crossing less for each request. A token that
was revoked, by this process or another, stops working at once all the same.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Concatenate, ParamSpec, TypeVar

from copydesk.model.token import Access
from copydesk.store.database import Transaction

P = ParamSpec("P")
T = TypeVar("T")
MAX_REMEMBERED = 10_000


class InvalidTokenError(Exception):
    """The token is revoked or expired by now. The unit of work was not started."""


class Authentication:
    """What a request's token allows.

    With `look_up` this is as of an earlier request, and is to be confirmed; without, it was found just now.
    """

    def __init__(self, access: Access, look_up: Callable[[Transaction], Access | None] | None = None) -> None:
        self.access = access
        self.is_confirmed = look_up is None
        self._look_up = look_up

    def confirm(self, conn: Transaction) -> None:
        """Look the token up, unless that was done. Raise InvalidTokenError if it is not valid any more."""
        if self._look_up is not None and self._look_up(conn) is None:
            raise InvalidTokenError
        self.is_confirmed = True


class RememberedTokens:
    """What the tokens that were used in this process allow, by the hashes of their secrets.

    Nothing about a token changes but that it is revoked, expires, or is removed with its user.
    """

    def __init__(self) -> None:
        self._found: dict[bytes, Access] = {}

    def get(self, secret_hash: bytes) -> Access | None:
        """Return what the token allowed when it was looked up last; None if it was not."""
        return self._found.get(secret_hash)

    def add(self, secret_hash: bytes, access: Access) -> None:
        """Remember what was found."""
        self._found[secret_hash] = access
        if len(self._found) > MAX_REMEMBERED:
            del self._found[next(iter(self._found))]


_current: ContextVar[Authentication | None] = ContextVar("authentication", default=None)


@contextmanager
def confirm_with_first_unit(authentication: Authentication) -> Iterator[None]:
    """Confirm the authentication with the first unit of work of the block, in this task and those that it starts."""
    token = _current.set(authentication)
    try:
        yield
    finally:
        _current.reset(token)


def current_token_name() -> str | None:
    """Return the name of the token of the current request; None outside of requests."""
    authentication = _current.get()
    return authentication.access.token_name if authentication else None


def confirmed(work: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Transaction, P], T]:
    """Return `work`, which first confirms the authentication of the current request unless that was done."""
    authentication = _current.get()
    if authentication is None or authentication.is_confirmed:
        return work

    def run(conn: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        authentication.confirm(conn)
        return work(conn, *args, **kwargs)

    return run
