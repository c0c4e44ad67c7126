"""Refusals of the service itself, as problem details like those of the desk's errors."""

from collections.abc import Mapping
from http import HTTPStatus

from copydesk.model.token import Scope
from copydesk.problems import Problem


class RefusedError(Exception):
    """The service refuses a request; `problem` is the body of the response."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        self.problem = problem
        self.headers = dict(headers or {})
        super().__init__(problem.detail)


def bad_request(detail: str) -> RefusedError:
    """Return the refusal of a request that cannot be read (400)."""
    return RefusedError(Problem(type="/problems/bad-request", title="Bad request", status=400, detail=detail))


def unreadable(status: HTTPStatus, detail: str) -> RefusedError:
    """Return the refusal of what is not HTTP, or beyond its limits."""
    name = status.phrase.lower().replace(" ", "-")
    return RefusedError(
        Problem(type=f"/problems/{name}", title=status.phrase.capitalize(), status=status.value, detail=detail)
    )


def unauthorized(detail: str, *, token_was_sent: bool) -> RefusedError:
    """Return the refusal of a request without a valid token (401)."""
    challenge = 'Bearer realm="copydesk"' + (', error="invalid_token"' if token_was_sent else "")
    problem = Problem(type="/problems/unauthorized", title="Unauthorized", status=401, detail=detail)
    return RefusedError(problem, {"WWW-Authenticate": challenge})


def insufficient_scope(scope: Scope, needed: Scope) -> RefusedError:
    """Return the refusal of a token whose scope does not reach (403)."""
    detail = f"This token has the scope {scope}; the request needs {needed}."
    problem = Problem(type="/problems/insufficient-scope", title="Insufficient scope", status=403, detail=detail)
    return RefusedError(problem, {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{needed}"'})


def forbidden(detail: str) -> RefusedError:
    """Return the refusal of a request that no token can make (403)."""
    return RefusedError(Problem(type="/problems/forbidden", title="Forbidden", status=403, detail=detail))


def not_found() -> RefusedError:
    """Return the refusal of a path that does not exist (404)."""
    return RefusedError(
        Problem(
            type="/problems/not-found",
            title="Not found",
            status=404,
            detail="No such path. All are described at /docs.",
        )
    )


def method_not_allowed(allowed: str) -> RefusedError:
    """Return the refusal of a method that the path does not have (405)."""
    problem = Problem(
        type="/problems/method-not-allowed", title="Method not allowed", status=405, detail=f"Use {allowed}."
    )
    return RefusedError(problem, {"Allow": allowed})


def request_timeout() -> RefusedError:
    """Return the refusal of a body that does not arrive (408)."""
    problem = Problem(
        type="/problems/request-timeout", title="Request timeout", status=408, detail="The body did not arrive in time."
    )
    return RefusedError(problem, {"Connection": "close"})


def body_too_large(limit: int) -> RefusedError:
    """Return the refusal of a body over the limit in bytes (413)."""
    problem = Problem(
        type="/problems/body-too-large",
        title="Body too large",
        status=413,
        detail=f"The body is larger than {limit // 2**20} MiB.",
    )
    return RefusedError(problem, {"Connection": "close"})


def unsupported_media_type(expected: str) -> RefusedError:
    """Return the refusal of a body of another media type (415)."""
    return RefusedError(
        Problem(
            type="/problems/unsupported-media-type",
            title="Unsupported media type",
            status=415,
            detail=f"Send the body as {expected}.",
        )
    )


def rate_limited(retry_after: int, limit: int) -> RefusedError:
    """Return the refusal of a request over the rate limit (429)."""
    problem = Problem(
        type="/problems/rate-limited",
        title="Rate limit exceeded",
        status=429,
        detail=f"More than {limit} requests in a minute. Retry in {retry_after} seconds.",
        retry_after=retry_after,
    )
    return RefusedError(problem, {"Retry-After": str(retry_after)})


def too_many_streams(limit: int) -> RefusedError:
    """Return the refusal of an event stream of a token that has too many of them open (429)."""
    return RefusedError(
        Problem(
            type="/problems/too-many-streams",
            title="Too many event streams",
            status=429,
            detail=f"This token has {limit} open event streams. Close one of them first.",
        )
    )


def internal_error(request_id: str) -> RefusedError:
    """Return the response to an error that nobody foresaw (500); its traceback is in the log."""
    return RefusedError(
        Problem(
            type="/problems/internal",
            title="Internal error",
            status=500,
            detail=f"An unexpected error occurred. It is in the server's log as request {request_id}.",
        )
    )


def shutting_down() -> RefusedError:
    """Return the refusal of a request while the server stops (503)."""
    problem = Problem(
        type="/problems/shutting-down",
        title="Shutting down",
        status=503,
        detail="The server is shutting down; nothing was changed.",
        retry_after=5,
    )
    return RefusedError(problem, {"Retry-After": "5", "Connection": "close"})
