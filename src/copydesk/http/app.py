"""The ASGI application: routes to operations, what needs no token, middleware, and applications below other paths."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp

from copydesk.http import errors
from copydesk.http.meta import meta_routes
from copydesk.http.middleware import RequestMiddleware
from copydesk.http.operations import Operation
from copydesk.http.responses import problem_response
from copydesk.http.service import Service
from copydesk.http.table import OPERATIONS


class Extension(NamedTuple):
    """An application below a path of the service."""

    path: str
    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[object]]
    """Runs as long as the server."""


def create_app(
    service: Service,
    *,
    operations: Iterable[Operation] = OPERATIONS,
    allowed_hosts: Collection[str] | None = None,
    extensions: Sequence[Extension] = (),
    is_observed: bool = True,
) -> Starlette:
    """Return the ASGI application, with all operations at `/` and at `/v1`.

    `allowed_hosts` are the names under which it may be called; None allows any. Without `is_observed` requests are
    neither counted nor logged: they are part of another one that is.
    """
    table = tuple(operations)
    routes = [*meta_routes(service, table), *_create_routes(service, table)]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for extension in extensions:
                await stack.enter_async_context(extension.lifespan())
            service.resume()
            yield
            await service.close()

    app = Starlette(
        routes=[
            *(Route(extension.path, extension.app) for extension in extensions),
            Mount("/v1", Router(routes, redirect_slashes=False)),
            *routes,
        ],
        middleware=[
            Middleware(
                RequestMiddleware,
                allowed_hosts=allowed_hosts,
                metrics=service.metrics if is_observed else None,
            )
        ],
        exception_handlers={HTTPException: _routing_problem},
        lifespan=lifespan,
    )
    # A redirect would go to whatever host the request names.
    app.router.redirect_slashes = False
    return app


def _create_routes(service: Service, operations: Iterable[Operation]) -> list[BaseRoute]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    # A path with a parameter after those that have a word in its place: /drafts/bulk is no draft's id.
    paths = sorted(by_path, key=lambda path: ("{" in path, path))
    return [Route(path, _endpoint(service, by_path[path]), methods=sorted(by_path[path])) for path in paths]


def _endpoint(service: Service, methods: dict[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        # Starlette adds HEAD to GET.
        return await service.respond(methods.get(request.method) or methods["GET"], request)

    return respond


async def _routing_problem(_: Request, error: Exception) -> Response:
    """Return the problem of a path or method that does not exist."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
        refusal = errors.method_not_allowed(", ".join(allowed))
    else:
        refusal = errors.not_found()
    return problem_response(refusal.problem, refusal.headers)
