"""One call of an operation: who calls, with which parameters, and the desk that it works on."""

import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from copydesk.desk import Desk
from copydesk.http.errors import insufficient_scope
from copydesk.http.event_stream import OpenStreams
from copydesk.model.token import Scope

if TYPE_CHECKING:
    from copydesk.model.token import Access

_VERSION_TAG = re.compile(r'(?:^|,)\s*"([0-9]{1,9})"(?=\s*(?:,|$))')
"""A draft's ETag in a list of tags."""


class Call:
    """A request for an operation, read and authorized."""

    def __init__(
        self,
        request: Request,
        desk: Desk,
        access: "Access",
        *,
        query: Mapping[str, object],
        body: Any,
        run_in_background: Callable[[Callable[[], Awaitable[object]]], None],
        open_streams: OpenStreams,
        is_token_valid: Callable[[], Awaitable[bool]],
    ) -> None:
        self.request = request
        self.desk = desk
        self.access = access
        self.query = query
        """Query parameters that were given, by their names in Python."""
        self.body = body
        """The JSON body without unknown fields, an object or a list as declared; {} if none was sent.

        Of an upload the content of the file.
        """
        self.run_in_background = run_in_background
        """Run work on the desk after the response, until the server stops."""
        self.open_streams = open_streams
        self.is_token_valid = is_token_valid
        """Return False once the token is revoked or expired."""
        self.status: int | None = None
        """Status of the response; None for that of the operation."""
        self.headers: dict[str, str] = {}
        """Additional headers of the response."""

    @property
    def id(self) -> str:
        """The id in the path."""
        return str(self.request.path_params["id"])

    def require(self, scope: Scope) -> None:
        """Refuse the request unless the token has this scope."""
        if not self.access.scope.covers(scope):
            raise insufficient_scope(self.access.scope, scope)

    @property
    def expected_versions(self) -> frozenset[int] | None:
        """The versions that the header If-Match names; None without one.

        Tags that are weak or not of a draft match nothing (RFC 9110, section 13.1.1).
        """
        tags = self.request.headers.get("if-match")
        # "*" asks that the draft exists, which the operation checks in any case.
        if tags is None or tags.strip() == "*":
            return None
        return frozenset(int(version) for version in _VERSION_TAG.findall(tags))

    def set_version(self, version: int) -> None:
        """Set the header ETag to a draft's version."""
        self.headers["ETag"] = f'"{version}"'

    def created(self, path: str) -> None:
        """Set the header Location to the path of what was created."""
        self.headers["Location"] = path
        self.status = HTTPStatus.CREATED
