"""Tests for errors as problem details."""

from datetime import UTC, datetime

import pytest

from copydesk import errors
from copydesk.errors import (
    ConflictError,
    CopydeskError,
    DraftNotFoundError,
    FetchError,
    FieldError,
    ImageError,
    InvalidCursorError,
    InvalidError,
    KeyReusedError,
    RateLimitedError,
    RequestInProgressError,
    ResponseLostError,
    StaleVersionError,
    StoreBusyError,
    UndoNotAllowedError,
)
from copydesk.model.serialization import to_json_value
from copydesk.posting.platform import LoginError, NotSentError
from copydesk.problems import PROBLEM_TYPES, problem_type, to_problem


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (InvalidError(FieldError("text", "is too long")), "invalid", 422),
        (InvalidCursorError(FieldError("cursor", "is invalid")), "invalid-cursor", 400),
        (DraftNotFoundError(), "not-found", 404),
        (ConflictError(), "conflict", 409),
        (UndoNotAllowedError("Cannot undo.", 3), "conflict", 409),
        (StaleVersionError(), "stale-version", 412),
        (KeyReusedError(), "idempotency-key-reused", 422),
        (RequestInProgressError(), "request-in-progress", 409),
        (ResponseLostError(), "response-lost", 409),
        (StoreBusyError(), "store", 503),
        (FetchError(), "fetch", 422),
        (LoginError(), "posting", 422),
        (ImageError(), "image", 422),
        (ImageError(is_temporary=True), "image", 503),
        (CopydeskError(), "error", 500),
    ],
)
def test_problem_type_and_status(error, name, status):
    problem = to_problem(error)
    assert (problem.type, problem.status) == (f"/problems/{name}", status)
    assert problem.title
    assert problem.detail == error.message


def test_only_the_base_class_is_of_the_general_type():
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, CopydeskError)]
    untyped = [cls for cls in classes if problem_type(cls) is PROBLEM_TYPES["error"]]
    assert untyped == [CopydeskError]


def test_invalid_fields_are_listed():
    error = InvalidError(FieldError("text", "is missing"), FieldError("tags[0]", "is too long"), hint="Shorten it.")
    assert to_json_value(to_problem(error)) == {
        "type": "/problems/invalid",
        "title": "Invalid field",
        "status": 422,
        "detail": "text: is missing; tags[0]: is too long.",
        "hint": "Shorten it.",
        "errors": [{"field": "text", "message": "is missing"}, {"field": "tags[0]", "message": "is too long"}],
    }


def test_conflict_names_status_and_actions():
    conflict = ConflictError("Already posted.", current_status="posted", allowed=("archive",))
    problem = to_json_value(to_problem(conflict))
    assert (problem["currentStatus"], problem["allowedActions"]) == ("posted", ["archive"])
    # A status without actions is told as such; a conflict without a status has neither member.
    assert to_json_value(to_problem(ConflictError(current_status="queued")))["allowedActions"] == []
    assert {"currentStatus", "allowedActions"}.isdisjoint(to_json_value(to_problem(ConflictError())))


def test_waiting_time_is_in_whole_seconds():
    assert to_problem(RateLimitedError(retry_after=29.2)).retry_after == 30
    assert to_problem(RateLimitedError()).retry_after is None
    assert to_problem(NotSentError(retry_after=datetime(2026, 11, 23, tzinfo=UTC))).retry_after is None
