"""The header Idempotency-Key: a repeated request gets the first response.

See draft-ietf-httpapi-idempotency-key-header.
"""

import re
from hashlib import sha256
from types import UnionType
from typing import get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from copydesk.desk.idempotency import Outcome, is_key
from copydesk.http import errors
from copydesk.http.operations import Operation
from copydesk.model.draft import Draft
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
_TRANSIENT_STATUSES = frozenset({400, 401, 403, 408, 412, 413, 415, 429})
"""Statuses that say nothing about the operation: another attempt may get another response."""
_STRING = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
"""A string of RFC 9651."""


class StoredResponse(Struct, frozen=True):
    """A response as it is kept for further attempts."""

    status: int
    headers: dict[str, str]
    content: bytes


def read_key(request: Request) -> str | None:
    """Return the request's key, None without one. Refuse a malformed one.

    The draft wants a quoted string; most clients send the key as it is.
    """
    values = request.headers.getlist(HEADER)
    if not values:
        return None
    text = values[0].strip()
    # A key is the same with and without quotes: libraries disagree, and a client may change its library.
    quoted = _STRING.fullmatch(text)
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else text
    if len(values) > 1 or not is_key(key) or (text.startswith('"') and not quoted):
        raise errors.bad_request(f"{HEADER} takes one key of 1 to 255 visible ASCII characters.")
    return key


def request_fingerprint(request: Request, content: bytes, scope: Scope) -> bytes:
    """Return a hash of what the request asks for: method, path, parameters and body, and of its token's scope.

    Scopes of actions are checked when a request is carried out: a token must not get the response to an action that it
    may not take.
    """
    # `/drafts` and `/v1/drafts` are one resource, so that a retry may use either.
    path = request.url.path.removeprefix("/v1")
    target = f"{scope} {request.method} {path}?{request.url.query}\n"
    return sha256(target.encode() + content).digest()


def to_outcome(operation: Operation, response: Response) -> Outcome:
    """Return the response as the end of a request for the operation."""
    # A server error is not stored: the client repeats the request because it failed, and gets the chance that it works.
    is_final = response.status_code < 500 and response.status_code not in _TRANSIENT_STATUSES
    stored = None
    if operation.secrets and response.status_code == operation.status:
        # The table of responses must hold no secret in plain text; only the first response to the client contains it.
        values = msgspec.json.decode(response.body) | dict.fromkeys(operation.secrets, "")
        stored = encode_response(Response(msgspec.json.encode(values), response.status_code, response.headers))
    return Outcome(response=encode_response(response), stored_response=stored, is_final=is_final)


def encode_response(response: Response) -> bytes:
    """Return the response as bytes."""
    # Starlette computes the length again from the content.
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    stored = StoredResponse(status=response.status_code, headers=headers, content=bytes(response.body))
    return msgspec.msgpack.encode(stored)


def to_response(outcome: Outcome) -> Response:
    """Return the response of an outcome, marked if it is that of an earlier attempt."""
    stored = msgspec.msgpack.decode(outcome.response, type=StoredResponse)
    response = Response(stored.content, stored.status, stored.headers)
    if outcome.is_replay:
        response.headers[REPLAYED] = "true"
    return response


def is_result_of(operation: Operation, value: object) -> bool:
    """Return True if the value has the type of the operation's result."""
    if operation.secrets:
        return False
    declared = operation.response
    return type(value) in (get_args(declared) if isinstance(declared, UnionType) else (declared,))


def result_headers(value: object) -> dict[str, str]:
    """Return the headers that follow from the result of a transaction."""
    return {"ETag": f'"{value.version}"'} if isinstance(value, Draft) else {}
