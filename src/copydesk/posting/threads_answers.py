"""Responses of the Threads API: errors, ids, containers."""

import re
from datetime import datetime

import msgspec

from copydesk.posting.http import USUAL_WAIT, Answer, sentence, when_again, wrong
from copydesk.posting.platform import CONNECT_AGAIN, LoginError, NotSentError, PostingError, UnknownOutcomeError

HOST = "Threads"

# Error codes of Meta's Graph API ("Handle errors"); `_NOT_FOUND` is code and subcode.
_LOGIN_CODES = frozenset({10, 102, 190, *range(200, 300)})
_RATE_LIMIT_CODES = frozenset({4, 17, 32, 341, 613})
_TRANSIENT_CODES = frozenset({1, 2})
_NOT_FOUND = (100, 33)


class _Error(msgspec.Struct, frozen=True):
    message: str = ""
    code: int = 0
    error_subcode: int = 0
    is_transient: bool = False
    error_user_msg: str = ""


class _Errors(msgspec.Struct, frozen=True):
    error: _Error = _Error()


class Named(msgspec.Struct, frozen=True):
    """An object with an id."""

    id: str


class User(msgspec.Struct, frozen=True):
    """An account."""

    id: str
    username: str


class Container(msgspec.Struct, frozen=True):
    """A post that is being prepared for publication."""

    status: str


def is_id(found: str) -> bool:
    """Return True if `value` can be an id. Checked because ids become part of URLs."""
    return found.isascii() and found.isdecimal() and len(found) <= 40


def is_name(found: str) -> bool:
    """Return True if `value` can be the name of an account."""
    return re.fullmatch(r"[A-Za-z0-9._]{1,60}", found) is not None


def proper(found: str) -> str:
    """Return `value` if it is an id; raise `UnknownOutcomeError` otherwise."""
    if not is_id(found):
        raise UnknownOutcomeError("Threads gave an id that is none.")
    return found


def gone(answer: Answer) -> bool:
    """Return True if the object does not exist or this account may not see it: Threads does not distinguish the two."""
    error = _decode_error(answer)
    return answer.status == 404 or (error.code, error.error_subcode) == _NOT_FOUND


def refusal(answer: Answer, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a write request means."""
    error = _decode_error(answer)
    reason = error.error_user_msg or error.message
    message = f"{HOST} says: {sentence(reason)}"
    if error.code in _LOGIN_CODES:
        return LoginError(message, hint=CONNECT_AGAIN)
    if error.code in _RATE_LIMIT_CODES:
        return NotSentError(message, retry_after=when_again(answer.headers, now) or now + USUAL_WAIT)
    # Meta documents no guarantee that a request with a transient error had no effect.
    if error.code in _TRANSIENT_CODES or error.is_transient:
        return UnknownOutcomeError(message)
    return wrong(answer, HOST, now, says=reason)


def unseen(answer: Answer, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a read request means."""
    error = refusal(answer, now)
    return error if isinstance(error, LoginError | NotSentError) else NotSentError(error.message)


def _decode_error(answer: Answer) -> _Error:
    if answer.good:
        return _Error()
    try:
        return msgspec.json.decode(answer.body, type=_Errors).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Error()
