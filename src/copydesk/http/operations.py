"""Declare the operations of the service: the one table from which routing, authorization and OpenAPI are made."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from copydesk.http.call import Call
from copydesk.model.token import Scope

Handler = Callable[[Call], Awaitable[object]]
Example = dict[str, object] | list[object]
MAX_BODY = 2**20
"""Bytes of a request body."""


@dataclass(frozen=True)
class Operation:
    """One method on one path."""

    method: str
    path: str
    """Without prefix; parameters as in `/drafts/{id}`."""
    handler: Handler
    scope: Scope
    """Scope that a token needs at least."""
    response: Any
    """Type of the response body."""
    status: int = 200
    query: type | None = None
    """Struct whose fields are the query parameters."""
    body: Any = None
    """Type of the request body; None if there is none."""
    body_required: bool = True
    body_scope: Callable[[Any], Scope] | None = None
    """Returns the scope that a token needs for this body, if that is more than `scope`."""
    example: Example | None = None
    """A request body."""
    errors: tuple[int, ...] = ()
    """Statuses of its errors, besides those of every operation and those of reading a body or parameters."""
    headers: tuple[str, ...] = ()
    """Headers of its response, besides those of every operation."""
    media_type: str = "application/json"
    """Media type of the response."""
    upload: str | None = None
    """Name of the file in a multipart body; the call's body is its content."""
    max_body: int = MAX_BODY
    secrets: tuple[str, ...] = ()
    """Fields of the response that are not stored with the key of a request."""
    restore_secrets: Callable[[Call, dict[str, Any]], Awaitable[object]] | None = None
    """Returns the response again, with its secrets, for the one that was stored without them. Raise NotFoundError."""
    tag: str = ""

    @property
    def id(self) -> str:
        """Identifier of the operation in the OpenAPI document."""
        return self.handler.__name__

    @property
    def changes(self) -> bool:
        """True if it may change something, and therefore takes an idempotency key."""
        return self.method != "GET"

    @property
    def summary(self) -> str:
        """First line of the handler's docstring."""
        return self._documentation.partition("\n")[0]

    @property
    def description(self) -> str:
        """The handler's docstring without its first line; may be empty."""
        return self._documentation.partition("\n")[2].strip()

    @property
    def _documentation(self) -> str:
        return inspect.getdoc(self.handler) or ""


@dataclass
class Operations:
    """The operations on one resource, in the order of their declaration."""

    tag: str
    """Name of the group in the OpenAPI document."""
    operations: list[Operation] = field(default_factory=list)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def add(
        self, method: str, path: str, *, scope: Scope, response: Any, **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare the decorated function as the handler of an operation; `options` are fields of `Operation`."""

        def declare(handler: Handler) -> Handler:
            self.operations.append(
                Operation(method, path, handler, scope=scope, response=response, tag=self.tag, **options)
            )
            return handler

        return declare
