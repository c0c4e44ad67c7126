"""What X says when it does not do what it was asked."""

from datetime import datetime, timedelta

import msgspec

from copydesk.posting.http import Answer, said, wrong
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError

HOST = "X"
UNPAID = timedelta(hours=1)
"""Until a post is tried again after X wanted money for it."""
_LOGIN = frozenset({401})


class XProblem(msgspec.Struct, frozen=True):
    """One thing that is wrong (developer docs, "Response codes and errors")."""

    title: str = ""
    detail: str = ""
    message: str = ""
    type: str = ""
    resource_id: str = ""
    value: object = None

    @property
    def about(self) -> str:
        """The id of the post that it speaks of."""
        return self.resource_id or (self.value if isinstance(self.value, str) else "")


class _Problems(msgspec.Struct, frozen=True):
    title: str = ""
    detail: str = ""
    errors: list[XProblem] = []


def says(answer: Answer) -> str:
    """X's own explanation; empty where it gives none that can be read."""
    try:
        found = msgspec.json.decode(answer.body, type=_Problems)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    first = found.errors[0] if found.errors else XProblem()
    return found.detail or first.detail or first.message or found.title or first.title


def refusal(answer: Answer, now: datetime, *, reply: bool = False) -> PostingError:
    """What an answer to a new post means that is no success; `reply` says whether the post answers one."""
    why = says(answer)
    if answer.status == 402:
        return NotSentError(
            f"X wants to be paid before it takes a post: {said(why)}".rstrip(": ") + ".",
            hint="Add credits in X's developer console; Copydesk tries again by itself.",
            retry_after=now + UNPAID,
        )
    if answer.status == 403 and "duplicate" in why.lower():
        # It does not name the first one, which may be the very post that this one was to make sure of.
        return UnknownOutcomeError(
            "X says that it has a post with the same text already.",
            hint="Copydesk looks for it on the account; if it is another one, change the text.",
        )
    if answer.status == 403 and reply:
        return RefusedPostError(
            f"X does not take this part of the thread: {said(why) or 'no reason given'}",
            hint="X may not allow answers, even to oneself, from this kind of access. One long post is an alternative.",
        )
    return wrong(answer, HOST, now, says=why, login=_LOGIN)
