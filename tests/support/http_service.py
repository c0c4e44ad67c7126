"""The HTTP service in the test's process, and clients with tokens of a user and a scope."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from copydesk.desk import Desks, open_desks
from copydesk.http.app import create_app
from copydesk.http.server import ServerOptions, serve
from copydesk.http.service import Service
from copydesk.model.token import Scope
from copydesk.settings import load
from store_fixtures import database_variables

BASE_URL = "http://localhost"


class HttpService:
    """A running service and its desks."""

    def __init__(self, desks: Desks, service: Service) -> None:
        self.desks = desks
        self.service = service
        self.app = create_app(service)
        self._clients: list[httpx.AsyncClient] = []

    async def client(self, scope: Scope = Scope.PUBLISH, user: str | None = None) -> httpx.AsyncClient:
        """Return a client with a new token of the user (by default the owner), who is added if missing."""
        names = {known.name: known for known in await self.desks.users.list()}
        owner = self.desks.owner if user is None else names.get(user) or await self.desks.users.add(user)
        desk = await self.desks.get(owner)
        token = await desk.tokens.create(f"test {len(self._clients)}", scope)
        return self.anonymous_client({"Authorization": f"Bearer {token.secret}"})

    def anonymous_client(self, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
        """Return a client without a token."""
        # Errors of the server are what the tests are about: raised, they would hide the response.
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)
        self._clients.append(client)
        return client

    async def close(self) -> None:
        """Stop the service."""
        for client in self._clients:
            await client.aclose()
        await self.service.close()


@asynccontextmanager
async def run_service(home: Path, **options: object) -> AsyncIterator[HttpService]:
    """Open the desks below `home` and serve them; `options` are those of `open_desks`."""
    async with open_desks(load(database_variables(home), home), **options) as desks:  # type: ignore[arg-type]
        service = HttpService(desks, Service(desks))
        try:
            yield service
        finally:
            await service.close()


@asynccontextmanager
async def run_server(desks: Desks, **options: object) -> AsyncIterator[str]:
    """Serve on a free port with uvicorn, in the test's event loop; yield the base URL."""
    ready = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(desks, ServerOptions(port=0, **options), ready.set_result))  # type: ignore[arg-type]
    await asyncio.wait([ready, server], return_when=asyncio.FIRST_COMPLETED)
    if server.done():
        server.result()
    try:
        yield ready.result()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)  # its way to stop
        await server
