"""Check the caller's role: of an operation before anything else, of a change of a draft where it is written.

A change is checked in the same transaction, with the state that the draft has there. Desks without roles pay nothing
for it: every write reads the row of the user in any case.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from copydesk.model.role import Caller, Roles, check_role
from copydesk.model.token import Scope

P = ParamSpec("P")
R = TypeVar("R", bound="Resource")
T = TypeVar("T")


class _Context(Protocol):
    async def require(self, scope: Scope) -> None: ...


class Resource(Protocol):
    """A part of the desk, such as its accounts."""

    @property
    def _ctx(self) -> _Context: ...


def needs(
    scope: Scope,
) -> Callable[
    [Callable[Concatenate[R, P], Coroutine[Any, Any, T]]], Callable[Concatenate[R, P], Coroutine[Any, Any, T]]
]:
    """Let an operation raise RoleError, before it does anything, unless the caller's role covers `scope`."""

    def decorate(
        method: Callable[Concatenate[R, P], Coroutine[Any, Any, T]],
    ) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
        @wraps(method)
        async def call(resource: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
            await resource._ctx.require(scope)  # noqa: SLF001 - the gate belongs to the resource
            return await method(resource, *args, **kwargs)

        return call

    return decorate


class Requirement:
    """The scope that a change needs, until its first unit of work that writes has checked it.

    Checked once: what follows, such as the rest of a bulk action, must not fail halfway.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._is_met = False

    def check(self, roles: Roles, caller: Caller) -> None:
        """Raise RoleError unless the caller's role is enough, or was before."""
        if not self._is_met:
            check_role(roles, caller, self._scope)
            self._is_met = True


_current: ContextVar[Requirement | None] = ContextVar("requirement", default=None)


def current_requirement() -> Requirement | None:
    """Return what the current change needs; None for what everybody may do."""
    return _current.get()


@contextmanager
def requiring(scope: Scope) -> Iterator[None]:
    """Let the first unit of work of the block that writes raise RoleError unless the caller's role covers `scope`."""
    token = _current.set(Requirement(scope))
    try:
        yield
    finally:
        _current.reset(token)
