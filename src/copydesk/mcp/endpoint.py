"""`/mcp` of the HTTP service. What it needs is imported with its first request: that takes half a second."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from copydesk.errors import CopydeskError
from copydesk.http.app import Extension
from copydesk.http.errors import RefusedError, method_not_allowed
from copydesk.http.operations import MAX_BODY
from copydesk.http.request_reading import read_bytes
from copydesk.http.responses import json_response, to_problem_and_headers
from copydesk.http.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
OPERATION = "mcp"
"""The name in the metrics and in the access log."""
SERVER_ERROR = -32000
"""The code of JSON-RPC for an error that it does not define itself."""


def http_extension(service: Service) -> Extension:
    """Return the MCP server for `/mcp` of the service. Each request needs a token, like those of the service."""
    endpoint = _Endpoint(service)
    return Extension(PATH, endpoint, endpoint.lifespan)


class _Endpoint:
    """Refuses requests without a valid token before anything of them is read, and starts MCP with the first other."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_needed = asyncio.Event()
        self._is_stopped = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Serve requests until the exit."""
        self._manager = asyncio.get_running_loop().create_future()
        # A task of its own: the manager's task group has to be left by the task that entered it.
        runner = asyncio.create_task(self._run(self._manager))
        try:
            yield
        finally:
            self._is_stopped.set()
            self._is_needed.set()
            await runner
            self._manager.cancel()

    async def _run(self, manager: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        await self._is_needed.wait()
        if self._is_stopped.is_set():
            return
        try:
            transports = await asyncio.to_thread(import_module, "copydesk.mcp.server")
            created = transports.create_session_manager(self._service)
            async with created.run():
                manager.set_result(created)
                await self._is_stopped.wait()
        except Exception as error:
            if manager.done():
                raise
            manager.set_exception(error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers: dict[str, str] = {}
        try:
            # Without sessions there is nothing to stream: such a stream would stay open until the server is killed.
            if scope["method"] != "POST":
                raise method_not_allowed("POST")
            request = Request(scope, receive)
            access = await self._service.authenticate(request.headers.get("authorization", ""))
            scope["state"] |= {"operation": OPERATION, "user": access.user.name, "token": access.token_name}
            # Whatever it asks for, also what calls no operation.
            self._service.count_request(access, headers)
            # The MCP server would wait for the rest of a body for ever.
            content = await read_bytes(request, MAX_BODY)
        except (RefusedError, CopydeskError) as error:
            await _error_response(error, headers)(scope, receive, send)
            return
        assert self._manager is not None, "requests come while the application runs"
        self._is_needed.set()
        manager = await asyncio.shield(self._manager)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await manager.asgi_app(scope, _replay(content, receive), send_with_headers)


def _error_response(error: CopydeskError | RefusedError, headers: Mapping[str, str]) -> Response:
    """Return a response with an error of JSON-RPC: of problem details alone clients say only that there is an error."""
    problem, own_headers = to_problem_and_headers(error)
    details = {"code": SERVER_ERROR, "message": problem.detail, "data": problem}
    return json_response({"jsonrpc": "2.0", "id": None, "error": details}, problem.status, {**own_headers, **headers})


def _replay(content: bytes, receive: Receive) -> Receive:
    """Return a `receive` that begins with a body that was read already."""
    messages: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive_next() -> Message:
        return messages.pop() if messages else await receive()

    return receive_next
