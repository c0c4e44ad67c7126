"""LinkedIn's responses to a new post."""

from datetime import datetime

import msgspec

from copydesk.posting.http import Response, error_for_write
from copydesk.posting.linkedin_text import CLOCK_TOLERANCE, creation_time, find_urn, is_urn, post_url
from copydesk.posting.platform import PostingError, RefusedPostError, StepResult, UnknownOutcomeError

HOST = "LinkedIn"
API_VERSION = "202605"
"""API version. LinkedIn retires each version about a year after its month."""


class _ErrorBody(msgspec.Struct, frozen=True):
    message: str = ""
    code: str = ""


def created_post(response: Response) -> StepResult:
    """Return the created post, by its URN in the response header. Raise `UnknownOutcomeError` if there is none."""
    urn = response.headers.get("x-restli-id", "")
    if not is_urn(urn):
        raise UnknownOutcomeError("LinkedIn did not name the post that it made.")
    return StepResult(ids=(urn,), urls=(post_url(urn),))


def error_text(response: Response) -> str:
    """Return LinkedIn's error message; empty if there is none that can be decoded."""
    return _error_body(response).message


def error_for_response(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a write request means."""
    if response.status == 426:  # sent before the request is processed (Microsoft Learn, "Versioning")
        return RefusedPostError(
            f"LinkedIn has retired the version {API_VERSION} of its interface.", hint="Update Copydesk."
        )
    return error_for_write(response, HOST, now, explanation=error_text(response))


def duplicate_of(response: Response) -> str | None:
    """Return the URN of the existing post with the same text; None if the response is no duplicate error.

    The URN is empty if LinkedIn does not name it.
    """
    problem = _error_body(response)
    if response.status != 422 or (problem.code != "DUPLICATE_POST" and "duplicate" not in problem.message.lower()):
        return None
    return find_urn(problem.message)


def duplicate_error(first: str, started_at: datetime) -> PostingError:
    """Return the error for a post that LinkedIn rejected as a duplicate of `first`.

    If `first` is older than this request, it is another post. Otherwise it may be the very one that was sent.
    """
    created_at = creation_time(first) if first else None
    link = f" {post_url(first)}" if first else ""
    if created_at is not None and created_at < started_at - CLOCK_TOLERANCE:
        return RefusedPostError(
            f"LinkedIn has the same text in an earlier post:{link}", hint="If that is not the one, change the text."
        )
    return UnknownOutcomeError(
        f"LinkedIn says that it has the same text already.{link}", hint="Look whether that is this post."
    )


def _error_body(answer: Response) -> _ErrorBody:
    try:
        return msgspec.json.decode(answer.body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _ErrorBody()
