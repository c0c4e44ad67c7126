"""What LinkedIn's answers to a new post mean."""

from datetime import datetime

import msgspec

from copydesk.posting.http import Answer, wrong
from copydesk.posting.linkedin_text import SLACK, is_urn, made_at, named_urn, post_url
from copydesk.posting.platform import Made, PostingError, RefusedPostError, UnknownOutcomeError

HOST = "LinkedIn"
VERSION = "202605"
"""Of the API. LinkedIn retires each about a year after its month."""


class _Problem(msgspec.Struct, frozen=True):
    message: str = ""
    code: str = ""


def made_of(answer: Answer) -> Made:
    """The post that was made, by the name that LinkedIn gives it."""
    urn = answer.headers.get("x-restli-id", "")
    if not is_urn(urn):
        raise UnknownOutcomeError("LinkedIn did not name the post that it made.")
    return Made(ids=(urn,), urls=(post_url(urn),))


def says(answer: Answer) -> str:
    """LinkedIn's own explanation; empty where it gives none that can be read."""
    return _problem(answer).message


def refusal(answer: Answer, now: datetime) -> PostingError:
    """What an answer means that is no success."""
    if answer.status == 426:  # answered before anything is looked at (Microsoft Learn, "Versioning")
        return RefusedPostError(
            f"LinkedIn has retired the version {VERSION} of its interface.", hint="Update Copydesk."
        )
    return wrong(answer, HOST, now, says=says(answer))


def duplicated(answer: Answer) -> str | None:
    """The post that LinkedIn has with the same text, empty where it does not name it; None where that is not why."""
    found = _problem(answer)
    if answer.status != 422 or (found.code != "DUPLICATE_POST" and "duplicate" not in found.message.lower()):
        return None
    return named_urn(found.message)


def not_again(first: str, began: datetime) -> PostingError:
    """Why a post that LinkedIn calls a duplicate of `first` was not made: it is another one, if it is older."""
    at = made_at(first) if first else None
    where = f" {post_url(first)}" if first else ""
    if at is not None and at < began - SLACK:
        return RefusedPostError(
            f"LinkedIn has the same text in an earlier post:{where}", hint="If that is not the one, change the text."
        )
    return UnknownOutcomeError(
        f"LinkedIn says that it has the same text already.{where}", hint="Look whether that is this post."
    )


def _problem(answer: Answer) -> _Problem:
    try:
        return msgspec.json.decode(answer.body, type=_Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Problem()
