"""Transports of the MCP server: standard input and output of a process, or `/mcp` of the HTTP service."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from starlette.requests import Request

from copydesk.http.app import create_app
from copydesk.http.operations import Operation
from copydesk.http.service import Service
from copydesk.http.table import OPERATIONS
from copydesk.mcp.server import create_server
from copydesk.model.token import Access, Scope

if TYPE_CHECKING:
    from copydesk.desk import Desks

PATH: Final = "/mcp"
_BASE_URL: Final = "http://copydesk.invalid"


class InProcessConnection:
    """The service in this process, called with one token or, without headers, as the local user."""

    def __init__(self, client: httpx.AsyncClient, scope: Scope, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers
        self.scope = scope
        """The scope of the agent's token."""

    async def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request with the agent's token."""
        headers = {**options.pop("headers", {}), **self._headers}
        try:
            request = self._client.build_request(method, path, headers=headers, **options)
        except (httpx.InvalidURL, ValueError) as error:
            # Too long for an address, or a number that JSON does not have.
            raise MCPError(code=INVALID_PARAMS, message=f"The arguments cannot be sent: {error}.") from None
        return await self._client.send(request)


def _client(service: Service, operations: Sequence[Operation]) -> httpx.AsyncClient:
    # What an agent calls is part of its request to `/mcp`.
    app = create_app(service, operations=operations, is_observed=False)
    # The longest operation waits 30 seconds for platforms.
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=_BASE_URL, timeout=60)


async def run_stdio(desks: "Desks", access: Access, token: str | None = None) -> None:
    """Serve one agent on standard input and output, until the input ends.

    `access` is that of the `token`, which is checked with each request, or without one that of the local user.
    """
    service = Service(desks, local_access=None if token else access)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with _client(service, OPERATIONS) as client:
        connection = InProcessConnection(client, access.scope, headers)

        async def connect(_: ServerRequestContext[Any]) -> InProcessConnection:
            return connection

        server = create_server(OPERATIONS, connect)
        try:
            async with stdio_server() as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
        finally:
            await service.close()


def create_session_manager(service: Service) -> StreamableHTTPSessionManager:
    """Return the MCP server for requests to the service that have a token."""
    client = _client(service, OPERATIONS)

    async def connect(ctx: ServerRequestContext[Any]) -> InProcessConnection:
        request = ctx.request
        assert isinstance(request, Request)
        authorization = request.headers.get("authorization", "")
        access = await service.authenticate(authorization)
        return InProcessConnection(client, access.scope, {"Authorization": authorization})

    # Stateless: any process can answer any request, and a restart ends no session.
    return StreamableHTTPSessionManager(create_server(OPERATIONS, connect), json_response=True, stateless=True)
