"""What Threads' answers mean: Meta's errors, ids, containers."""

import re
from datetime import datetime

import msgspec

from copydesk.posting.http import USUAL_WAIT, Answer, sentence, when_again, wrong
from copydesk.posting.platform import CONNECT_AGAIN, LoginError, NotSentError, PostingError, UnknownOutcomeError

HOST = "Threads"

# Meta's Graph API, "Handle errors": what the codes speak of.
_TOKEN = frozenset({10, 102, 190, *range(200, 300)})
_TOO_OFTEN = frozenset({4, 17, 32, 341, 613})
_PASSING = frozenset({1, 2})
_NO_OBJECT = (100, 33)


class _Error(msgspec.Struct, frozen=True):
    message: str = ""
    code: int = 0
    error_subcode: int = 0
    is_transient: bool = False
    error_user_msg: str = ""


class _Errors(msgspec.Struct, frozen=True):
    error: _Error = _Error()


class Named(msgspec.Struct, frozen=True):
    """Whatever has an id."""

    id: str


class User(msgspec.Struct, frozen=True):
    """An account."""

    id: str
    username: str


class Container(msgspec.Struct, frozen=True):
    """A post on its way to being published."""

    status: str


def is_id(found: str) -> bool:
    """Whether `found` can be an id: it becomes part of an address."""
    return found.isascii() and found.isdecimal() and len(found) <= 40


def is_name(found: str) -> bool:
    """Whether `found` can be the name of an account."""
    return re.fullmatch(r"[A-Za-z0-9._]{1,60}", found) is not None


def proper(found: str) -> str:
    """`found`, where it is an id; UnknownOutcomeError where it is none."""
    if not is_id(found):
        raise UnknownOutcomeError("Threads gave an id that is none.")
    return found


def gone(answer: Answer) -> bool:
    """Whether what was asked for is not there, or is not for this account to see: Threads does not tell these apart."""
    error = _error(answer)
    return answer.status == 404 or (error.code, error.error_subcode) == _NO_OBJECT


def refusal(answer: Answer, now: datetime) -> PostingError:
    """What an answer means that is no success, for a request that makes something."""
    error = _error(answer)
    says = error.error_user_msg or error.message
    explained = f"{HOST} says: {sentence(says)}"
    if error.code in _TOKEN:
        return LoginError(explained, hint=CONNECT_AGAIN)
    if error.code in _TOO_OFTEN:
        return NotSentError(explained, retry_after=when_again(answer.headers, now) or now + USUAL_WAIT)
    if error.code in _PASSING or error.is_transient:
        return UnknownOutcomeError(explained)
    return wrong(answer, HOST, now, says=says)


def unseen(answer: Answer, now: datetime) -> PostingError:
    """The same for a request that only looks."""
    found = refusal(answer, now)
    return found if isinstance(found, LoginError | NotSentError) else NotSentError(found.message)


def _error(answer: Answer) -> _Error:
    if answer.good:
        return _Error()
    try:
        return msgspec.json.decode(answer.body, type=_Errors).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Error()
