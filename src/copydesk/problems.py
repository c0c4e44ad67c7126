"""Errors as problem details (RFC 9457): one mapping for the HTTP service and the command line's `--json`."""

import math
from typing import Final, NamedTuple

import msgspec

from copydesk.errors import ConflictError, CopydeskError, InvalidError


class ProblemType(NamedTuple):
    """A kind of problem: the last part of its URI, a title that is the same for all of its kind, the HTTP status."""

    name: str
    title: str
    status: int

    @property
    def uri(self) -> str:
        """The URI reference that identifies the type."""
        return f"/problems/{self.name}"


PROBLEM_TYPES: Final = {
    "error": ProblemType("error", "Error", 500),
    "settings": ProblemType("settings", "Invalid settings", 500),
    "invalid": ProblemType("invalid", "Invalid field", 422),
    "invalid-cursor": ProblemType("invalid-cursor", "Invalid cursor", 400),
    "key-reused": ProblemType("idempotency-key-reused", "Idempotency key reused", 422),
    "not-found": ProblemType("not-found", "Not found", 404),
    "conflict": ProblemType("conflict", "Not allowed in the current state", 409),
    "role": ProblemType("insufficient-role", "Insufficient role", 403),
    "stale-version": ProblemType("stale-version", "The draft changed in the meantime", 412),
    "in-progress": ProblemType("request-in-progress", "The request is in progress", 409),
    "response-lost": ProblemType("response-lost", "The response was lost", 409),
    "store": ProblemType("store", "The database cannot be used", 503),
    "clock": ProblemType("clock", "The clock is wrong", 503),
    "fetch": ProblemType("fetch", "The source cannot be read", 422),
    "secrets": ProblemType("credentials", "The credentials cannot be read or saved", 503),
    "sign-in": ProblemType("sign-in", "The sign-in failed", 422),
    "posting": ProblemType("posting", "The platform refused", 422),
    "writer": ProblemType("writer", "The draft cannot be generated", 503),
    "cancelled": ProblemType("cancelled", "The run was cancelled", 409),
    "picture": ProblemType("image", "The image cannot be used", 422),
}
"""The problem type of each category of errors. A category that is not here has that of its base class."""


class FieldProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem with one field of a request."""

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A problem details object. Members that do not apply are left out."""

    type: str
    title: str
    status: int
    detail: str
    hint: str = ""
    """What to do next, as the command line says it."""
    errors: tuple[FieldProblem, ...] = ()
    current_status: str | None = None
    allowed_actions: tuple[str, ...] | None = None
    retry_after: int | None = None
    """Seconds."""


def problem_type(error_class: type[CopydeskError]) -> ProblemType:
    """Return the problem type of a class of errors: that of its own category, or of its nearest base class."""
    categories = (vars(base).get("category") for base in error_class.__mro__)
    return next(PROBLEM_TYPES[category] for category in categories if category in PROBLEM_TYPES)


def to_problem(error: CopydeskError) -> Problem:
    """Return the problem details of an error."""
    kind = problem_type(type(error))
    errors: tuple[FieldProblem, ...] = ()
    if isinstance(error, InvalidError):
        errors = tuple(FieldProblem(field=field, message=message) for field, message in error.errors)
    # Only a conflict with a status has actions; without one there is nothing that they would be allowed on.
    conflict = error if isinstance(error, ConflictError) and error.current_status is not None else None
    retry_after = getattr(error, "retry_after", None)
    return Problem(
        type=kind.uri,
        title=kind.title,
        # A client repeats a 503 by itself; a 4xx would tell it that the request is wrong.
        status=503 if getattr(error, "is_temporary", False) else kind.status,
        detail=error.message,
        hint=error.hint,
        errors=errors,
        current_status=conflict.current_status if conflict else None,
        allowed_actions=conflict.allowed_actions if conflict else None,
        # A platform's is a time; in seconds it would depend on the clock.
        retry_after=math.ceil(retry_after) if isinstance(retry_after, int | float) else None,
    )
