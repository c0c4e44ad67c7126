"""X's error responses."""

from datetime import datetime, timedelta

import msgspec

from copydesk.posting.http import Response, error_for_write, shorten
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError

HOST = "X"
PAYMENT_RETRY_DELAY = timedelta(hours=1)
"""Retry after this time when X requires payment."""
_LOGIN_STATUSES = frozenset({401})


class XProblem(msgspec.Struct, frozen=True):
    """One error (developer docs, "Response codes and errors")."""

    title: str = ""
    detail: str = ""
    message: str = ""
    type: str = ""
    resource_id: str = ""
    value: object = None

    @property
    def post_id(self) -> str:
        """The id of the post that the error concerns."""
        return self.resource_id or (self.value if isinstance(self.value, str) else "")


class _ErrorBody(msgspec.Struct, frozen=True):
    title: str = ""
    detail: str = ""
    errors: list[XProblem] = []


def error_text(response: Response) -> str:
    """Return X's error message; empty if there is none that can be decoded."""
    try:
        body = msgspec.json.decode(response.body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    first = body.errors[0] if body.errors else XProblem()
    return body.detail or first.detail or first.message or body.title or first.title


def error_for_post(response: Response, now: datetime, *, is_reply: bool = False) -> PostingError:
    """Return the error that an unsuccessful response to a new post means; `reply` is True for a reply."""
    reason = error_text(response)
    if response.status == 402:
        return NotSentError(
            f"X wants to be paid before it takes a post: {shorten(reason)}".rstrip(": ") + ".",
            hint="Add credits in X's developer console; Copydesk tries again by itself.",
            retry_after=now + PAYMENT_RETRY_DELAY,
        )
    if response.status == 403 and "duplicate" in reason.lower():
        # X does not name the existing post, which may be the one that an earlier, lost request created.
        return UnknownOutcomeError(
            "X says that it has a post with the same text already.",
            hint="Copydesk looks for it on the account; if it is another one, change the text.",
        )
    if response.status == 403 and is_reply:
        return RefusedPostError(
            f"X does not take this part of the thread: {shorten(reason) or 'no reason given'}",
            hint="X may not allow answers, even to oneself, from this kind of access. One long post is an alternative.",
        )
    return error_for_write(response, HOST, now, explanation=reason, login_statuses=_LOGIN_STATUSES)
