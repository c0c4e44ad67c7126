"""The ASGI application: routes to operations, what needs no token, middleware, and applications below other paths."""

import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from random import getrandbits
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copydesk.http import errors
from copydesk.http.log import ACCESS_LOG
from copydesk.http.meta import meta_routes
from copydesk.http.metrics import RequestMetrics
from copydesk.http.operations import Operation
from copydesk.http.responses import problem_response
from copydesk.http.service import Service
from copydesk.http.table import OPERATIONS

log = logging.getLogger("copydesk.http")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


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
    is_limited: bool = True,
) -> Starlette:
    """Return the ASGI application, with all operations at `/` and at `/v1`.

    `allowed_hosts` are the names under which it may be called; None allows any. Without `is_observed` requests are
    neither counted nor logged, and without `is_limited` they do not count for the rate limit: they are part of another
    one that is.
    """
    table = tuple(operations)
    routes = _RoutesBySegment([*meta_routes(service, table), *_create_routes(service, table, is_limited=is_limited)])

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
            routes,
            Mount("/v1", Router([routes], redirect_slashes=False)),
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


def _create_routes(service: Service, operations: Iterable[Operation], *, is_limited: bool) -> list[Route]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    # A path with a parameter after those that have a word in its place: /drafts/bulk is no draft's id.
    paths = sorted(by_path, key=lambda path: ("{" in path, path))
    return [
        Route(path, _Endpoint(service, by_path[path], is_limited=is_limited), methods=sorted(by_path[path]))
        for path in paths
    ]


class _Endpoint:
    """The ASGI application of the operations on one path."""

    def __init__(self, service: Service, methods: dict[str, Operation], *, is_limited: bool) -> None:
        self._service = service
        self._methods = methods
        self._is_limited = is_limited

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        request = Request(scope, receive, send)
        # Starlette adds HEAD to GET.
        operation = self._methods.get(request.method) or self._methods["GET"]
        response = await self._service.respond(operation, request, is_limited=self._is_limited)
        await response(scope, receive, send)


class _RoutesBySegment(BaseRoute):
    """Routes by the first segment of their paths.

    Starlette tries one route after the other: with all operations that takes longer than to respond to some of them.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routers: dict[str, Router] = {}
        for route in routes:
            router = self._routers.setdefault(_first_segment(route.path), Router(redirect_slashes=False))
            router.routes.append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return a match if there are routes with the first segment of the path."""
        is_known = scope["type"] == "http" and _first_segment(_path(scope)) in self._routers
        return Match.FULL if is_known else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request with the route that matches it."""
        await self._routers[_first_segment(_path(scope))].app(scope, receive, send)


def _path(scope: Scope) -> str:
    """Return the path of the request below that of the mount."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _first_segment(path: str) -> str:
    return path[1:].partition("/")[0]


async def _routing_problem(_: Request, error: Exception) -> Response:
    """Return the problem of a path or method that does not exist."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
        refusal = errors.method_not_allowed(", ".join(allowed))
    else:
        refusal = errors.not_found()
    return problem_response(refusal.problem, refusal.headers)


class RequestMiddleware:
    """Give each request an id, log it, check the host, and answer errors that nobody handled."""

    def __init__(self, app: ASGIApp, *, allowed_hosts: Collection[str] | None, metrics: RequestMetrics | None) -> None:
        self._app = app
        self._metrics = metrics
        """None if requests are neither counted nor logged."""
        self._allowed_hosts = None if allowed_hosts is None else {name.lower() for name in allowed_hosts}
        """Host names that requests may name; None for any."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        # Taken over only if it is harmless: it is written to the log and returned in a header.
        given_id = headers.get(b"x-request-id", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else f"{getrandbits(128):032x}"
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0
        metrics, state = self._metrics, scope["state"]

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if metrics is not None:
                    metrics.observe(state.get("operation"), status, time.perf_counter() - started)
                present = {name.lower() for name, _ in message["headers"]}
                extra = [header for header in SECURITY_HEADERS if header[0] not in present]
                message["headers"] = [*message["headers"], *extra, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            # Before any route: no page of another site may use what a browser on this machine can reach.
            if not self._is_own_page(headers):
                refusal = errors.forbidden(
                    "This host name or origin is not allowed. `copydesk serve --allowed-host` allows a name."
                )
                await problem_response(refusal.problem, refusal.headers)(scope, receive, send_with_headers)
            else:
                await self._app(scope, receive, send_with_headers)
        except Exception:
            log.exception("request %s failed", request_id)
            # The response has begun, so no other one can be sent. uvicorn closes the connection, which the client
            # notices.
            if status:
                raise
            refusal = errors.internal_error(request_id)
            await problem_response(refusal.problem, refusal.headers)(scope, receive, send_with_headers)
        finally:
            if metrics is not None:
                _log_request(scope, status, time.perf_counter() - started)

    def _is_own_page(self, headers: dict[bytes, str]) -> bool:
        """Return False for a request that a page of another origin makes, or under a host name that is not ours.

        A name that somebody points at this machine (DNS rebinding) makes a stranger's page same-origin to a browser.
        """
        host = headers.get(b"host", "")
        if self._allowed_hosts is not None:
            parts = _address(f"//{host}")
            # Only a name and a port (RFC 9110, section 7.2): a path or a user name would be taken for a part of it.
            if parts.netloc != host or "@" in host or parts.hostname not in self._allowed_hosts:
                return False
        origin = headers.get(b"origin")
        return origin is None or (origin != "null" and _address(origin).netloc.lower() == host.lower())


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    state = scope["state"]
    request = {
        "requestId": state["request_id"],
        "method": scope["method"],
        "path": scope["path"],
        "operation": state.get("operation"),
        "status": status,
        "seconds": round(seconds, 6),
        "user": state.get("user"),
        "token": state.get("token"),
        "client": (scope.get("client") or ("",))[0],
    }
    ACCESS_LOG.info("", extra={"request": request})


def _address(text: str) -> SplitResult:
    """Return the parts of an address; empty ones if it is malformed."""
    try:
        parts = urlsplit(text)
        # Reading the name raises ValueError if it is malformed.
        return parts if parts.hostname else SplitResult("", "", "", "", "")
    except ValueError:
        return SplitResult("", "", "", "", "")
