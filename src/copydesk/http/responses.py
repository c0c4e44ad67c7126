"""Responses: JSON of the interface, and problem details."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from copydesk.model.serialization import to_json_value
from copydesk.problems import Problem

PROBLEM_TYPE = "application/problem+json"


def json_response(value: object, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with the value as the interface's JSON."""
    content = msgspec.json.encode(to_json_value(value))
    return Response(content, status, headers, media_type="application/json")


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with problem details."""
    return Response(msgspec.json.encode(problem), problem.status, headers, media_type=PROBLEM_TYPE)
