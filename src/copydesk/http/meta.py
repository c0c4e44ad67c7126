"""Paths that need no token: health, and the description of the interface."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from copydesk.errors import CopydeskError
from copydesk.http import errors
from copydesk.http.docs_page import render_page
from copydesk.http.openapi import build_document
from copydesk.http.operations import Operation
from copydesk.http.responses import error_response, json_response, problem_response

if TYPE_CHECKING:
    from copydesk.http.service import Service

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""Content Security Policy of the page: its own style, nothing else."""


def meta_routes(service: "Service", operations: Iterable[Operation]) -> list[BaseRoute]:
    """Return the routes."""
    document = build_document(operations)
    content, page = msgspec.json.encode(document), render_page(document)

    async def openapi(_: Request) -> Response:
        return Response(content, media_type="application/json")

    async def docs(_: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": _PAGE_POLICY})

    async def health(_: Request) -> Response:
        return json_response({"status": "ok"}, 200)

    async def readiness(_: Request) -> Response:
        if service.stopping.is_set():
            refusal = errors.shutting_down()
            return problem_response(refusal.problem, refusal.headers)
        try:
            await service.desks.change_counter()
        except CopydeskError as error:
            return error_response(error)
        return json_response({"status": "ready"}, 200)

    return [
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/healthz", health),
        Route("/readyz", readiness),
    ]
