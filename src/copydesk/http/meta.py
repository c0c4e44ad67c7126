"""Paths beside the operations: health, metrics, and the description of the interface."""

from collections.abc import Awaitable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from copydesk.errors import CopydeskError
from copydesk.http import errors
from copydesk.http.docs_page import render_page
from copydesk.http.metrics import MEDIA_TYPE as METRICS_TYPE
from copydesk.http.openapi import build_document
from copydesk.http.operations import Operation
from copydesk.http.responses import error_response, json_response

if TYPE_CHECKING:
    from copydesk.http.service import Service

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""Content Security Policy of the page: its own style, nothing else."""


def meta_routes(service: "Service", operations: Sequence[Operation]) -> list[BaseRoute]:
    """Return the routes."""

    # Made when it is first read: most servers start without anybody reading it.
    @cache
    def document() -> dict[str, Any]:
        return build_document(operations)

    async def openapi(_: Request) -> Response:
        return Response(msgspec.json.encode(document()), media_type="application/json")

    async def docs(_: Request) -> Response:
        return HTMLResponse(render_page(document()), headers={"Content-Security-Policy": _PAGE_POLICY})

    async def health(_: Request) -> Response:
        return json_response({"status": "ok"}, 200)

    async def readiness(_: Request) -> Response:
        return await _or_problem(_check(service))

    async def metrics(request: Request) -> Response:
        return await _or_problem(_read_metrics(service, request))

    return [
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/healthz", health),
        Route("/readyz", readiness),
        Route("/metrics", metrics),
    ]


async def _check(service: "Service") -> Response:
    if service.stopping.is_set():
        raise errors.shutting_down()
    await service.desks.check()
    return json_response({"status": "ready"}, 200)


async def _read_metrics(service: "Service", request: Request) -> Response:
    access = await service.authenticate(request.headers.get("authorization", ""))
    if not access.user.is_owner:
        # They count what all users do.
        raise errors.forbidden("Only a token of the owner can read the metrics.")
    text = service.metrics.render(await service.desks.totals(), service.open_streams.total)
    return Response(text, media_type=METRICS_TYPE)


async def _or_problem(response: Awaitable[Response]) -> Response:
    """Return the response, or the problem that is raised instead."""
    try:
        return await response
    except (errors.RefusedError, CopydeskError) as error:
        return error_response(error)
