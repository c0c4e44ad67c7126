"""Responses of the Threads API: errors, ids, containers."""

import re
from datetime import datetime

import msgspec

from copydesk.posting.http import DEFAULT_RETRY_DELAY, Response, as_sentence, error_for_write, retry_at
from copydesk.posting.platform import RECONNECT_HINT, LoginError, NotSentError, PostingError, UnknownOutcomeError

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


class ObjectId(msgspec.Struct, frozen=True):
    """An object with an id."""

    id: str


class User(msgspec.Struct, frozen=True):
    """An account."""

    id: str
    username: str


class Container(msgspec.Struct, frozen=True):
    """A post that is being prepared for publication."""

    status: str


def is_valid_id(value: str) -> bool:
    """Return True if `value` can be an id. Checked because ids become part of URLs."""
    return value.isascii() and value.isdecimal() and len(value) <= 40


def is_valid_name(value: str) -> bool:
    """Return True if `value` can be the name of an account."""
    return re.fullmatch(r"[A-Za-z0-9._]{1,60}", value) is not None


def validate_id(value: str) -> str:
    """Return `value` if it is an id; raise `UnknownOutcomeError` otherwise."""
    if not is_valid_id(value):
        raise UnknownOutcomeError("Threads gave an id that is none.")
    return value


def is_missing(response: Response) -> bool:
    """Return True if the object does not exist or this account may not see it: Threads does not distinguish the two."""
    error = _decode_error(response)
    return response.status == 404 or (error.code, error.error_subcode) == _NOT_FOUND


def error_for_response(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a write request means."""
    error = _decode_error(response)
    reason = error.error_user_msg or error.message
    message = f"{HOST} says: {as_sentence(reason)}"
    if error.code in _LOGIN_CODES:
        return LoginError(message, hint=RECONNECT_HINT)
    if error.code in _RATE_LIMIT_CODES:
        return NotSentError(message, retry_after=retry_at(response.headers, now) or now + DEFAULT_RETRY_DELAY)
    # Meta documents no guarantee that a request with a transient error had no effect.
    if error.code in _TRANSIENT_CODES or error.is_transient:
        return UnknownOutcomeError(message)
    return error_for_write(response, HOST, now, explanation=reason)


def error_for_read(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a read request means."""
    error = error_for_response(response, now)
    return error if isinstance(error, LoginError | NotSentError) else NotSentError(error.message)


def _decode_error(answer: Response) -> _Error:
    if answer.is_success:
        return _Error()
    try:
        return msgspec.json.decode(answer.body, type=_Errors).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Error()
