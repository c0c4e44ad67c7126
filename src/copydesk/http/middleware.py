"""Middleware of every request: request id, access log, host check, and a problem response for any error."""

import logging
import re
import time
from collections.abc import Collection
from random import getrandbits
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copydesk.http import errors
from copydesk.http.log import ACCESS_LOG
from copydesk.http.metrics import RequestMetrics
from copydesk.http.responses import problem_response

LOG = logging.getLogger("copydesk.http")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


class RequestMiddleware:
    """Give each request an id, log it, check the host, and answer errors that nobody handled."""

    def __init__(self, app: ASGIApp, *, allowed_hosts: Collection[str] | None, metrics: RequestMetrics | None) -> None:
        self._app = app
        self._metrics = metrics
        """None if requests are neither counted nor logged."""
        self._allowed_hosts = allowed_hosts
        """Host names that requests may name; None for any."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
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
            if not self._is_own_page(headers):
                refusal = errors.forbidden("This host name or origin is not allowed.")
                await problem_response(refusal.problem, refusal.headers)(scope, receive, send_with_headers)
            else:
                await self._app(scope, receive, send_with_headers)
        except Exception:
            LOG.exception("request %s failed", request_id)
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
        if self._allowed_hosts is not None and _address(f"//{host}").hostname not in self._allowed_hosts:
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
