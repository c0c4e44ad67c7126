"""Responses: JSON of the interface, and problem details."""

import logging
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from copydesk.errors import CopydeskError, CredentialsError, SettingsError, StoreError
from copydesk.http.errors import RefusedError
from copydesk.model.serialization import encode_json
from copydesk.problems import Problem, to_problem

log = logging.getLogger("copydesk.http")
PROBLEM_TYPE = "application/problem+json"
MACHINE_ERRORS = (CredentialsError, SettingsError, StoreError)
RETRY_AFTER = "5"
"""Seconds, where the database cannot be used: mostly it is busy, or its server is being restarted."""


def json_response(value: object, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with the value as the interface's JSON."""
    return Response(encode_json(value), status, headers, media_type="application/json")


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with problem details."""
    return Response(msgspec.json.encode(problem), problem.status, headers, media_type=PROBLEM_TYPE)


def error_response(error: CopydeskError | RefusedError) -> Response:
    """Return a response with the problem details of an error."""
    return problem_response(*to_problem_and_headers(error))


def to_problem_and_headers(error: CopydeskError | RefusedError) -> tuple[Problem, Mapping[str, str]]:
    """Return the problem details of a refusal, or of a desk's error without its hint, and the headers.

    Hints name commands and keys. Errors of the machine name files of it: they are logged, and the client is told the
    kind only.
    """
    if isinstance(error, RefusedError):
        return error.problem, error.headers
    problem = replace(to_problem(error), hint="")
    if isinstance(error, MACHINE_ERRORS):
        log.error("%s", error)
        problem = replace(problem, detail=f"{problem.title}. The reason is in the server's log.")
    headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    if isinstance(error, StoreError):
        headers["Retry-After"] = RETRY_AFTER
    return problem, headers
