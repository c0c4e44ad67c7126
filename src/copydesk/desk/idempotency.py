"""Carry out a request once, however often it is sent, also if the process is killed at any moment.

A request has a key, which its sender chose, and a fingerprint of what it asks for. The key is inserted by the first
transaction in which the request writes: either both are stored or neither. If another attempt has stored it, in this
process or another, that transaction is rolled back. The response is stored afterwards, or already in that transaction
if its result is the response; the next attempt gets it.

    find the key -> carry out: work + insert the key (+ the response) -> store the response

A request that wrote nothing leaves no key until its response is stored, and may be carried out again. If the process is
killed in between, the key has no response: the next attempt is told so, and nothing is repeated.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple, TypeVar

import msgspec

from copydesk.desk.context import DeskContext, guard_writes
from copydesk.desk.leases import current_owner, is_lease_held
from copydesk.desk.operation import operation
from copydesk.errors import (
    FieldError,
    InvalidError,
    KeyReusedError,
    RequestInProgressError,
    ResponseLostError,
    StoreError,
)
from copydesk.model.serialization import Struct
from copydesk.store import idempotency
from copydesk.store.database import Transaction
from copydesk.store.idempotency import KeyedRequest
from copydesk.store.ids import new_id

T = TypeVar("T")
log = logging.getLogger("copydesk.desk")
KEY_LIFETIME = timedelta(days=7)
"""How long a response is kept for further attempts."""
MAX_DURATION = timedelta(minutes=5)
"""Time after which a request of another process has ended, one way or the other."""
MAX_KEY_LENGTH = 255
_KEY = re.compile(rf"[!-~]{{1,{MAX_KEY_LENGTH}}}")


def is_key(text: str) -> bool:
    """Return True if the text is a valid key: 1 to 255 visible ASCII characters."""
    return _KEY.fullmatch(text) is not None


class Outcome(Struct, frozen=True):
    """The end of a request."""

    response: bytes
    """As the caller encodes it."""
    stored_response: bytes | None = None
    """What is stored in place of `response`, because that holds a secret."""
    is_final: bool = True
    """Store the response. False for errors after which another attempt may succeed."""
    is_replay: bool = False
    """The response is that of an earlier attempt."""


class _KeyTakenError(Exception):
    """Another attempt has stored the key; the transaction has to be rolled back."""


class _Running(NamedTuple):
    fingerprint: bytes
    outcome: asyncio.Future[Outcome]


class Idempotency:
    """The requests of one user that have a key."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._running: dict[str, _Running] = {}

    @operation
    async def run(
        self,
        key: str,
        fingerprint: bytes,
        work: Callable[[], Awaitable[Outcome]],
        encode_result: Callable[[object], bytes | None] | None = None,
    ) -> Outcome:
        """Carry out `work` unless that was done before under this key; return its outcome.

        `work` calls operations of this desk. `encode_result` gets the result of a transaction and returns the response
        if it is one. An attempt that comes while another is in progress in this process waits for its outcome.

        Raise InvalidError for a key that is not 1 to 255 visible ASCII characters, KeyReusedError if it was used with
        another fingerprint, RequestInProgressError if another process is at it, and ResponseLostError if the process
        ended before the response was stored.
        """
        if not is_key(key):
            raise InvalidError(FieldError("idempotencyKey", f"takes 1 to {MAX_KEY_LENGTH} visible ASCII characters"))
        while (running := self._running.get(key)) is not None:
            _check_same(fingerprint, running.fingerprint)
            await asyncio.wait([running.outcome])
            # Cancelled: that attempt has ended without an outcome.
            if not running.outcome.cancelled():
                return msgspec.structs.replace(running.outcome.result(), is_replay=True)
        running = self._running[key] = _Running(fingerprint, asyncio.get_running_loop().create_future())
        try:
            outcome = await self._run(key, fingerprint, work, encode_result)
            running.outcome.set_result(outcome)
            return outcome
        finally:
            running.outcome.cancel()
            del self._running[key]

    async def _run(
        self,
        key: str,
        fingerprint: bytes,
        work: Callable[[], Awaitable[Outcome]],
        encode_result: Callable[[object], bytes | None] | None,
    ) -> Outcome:
        now = self._ctx.clock()
        earlier = await self._ctx.read(idempotency.find, key, now - KEY_LIFETIME)
        if earlier is not None:
            return self._replay(earlier, fingerprint)
        request = KeyedRequest(id=new_id(now), key=key, fingerprint=fingerprint, owner=current_owner(), created_at=now)
        guard = _Guard(request, encode_result)
        try:
            try:
                with guard_writes(guard):
                    outcome = await work()
            finally:
                # What goes on in the background belongs to no request any more.
                guard.is_closed = True
            # Not if it was cancelled: a transaction that has begun is committed all the same, and needs the key.
            guard.has_returned = True
            response = outcome.response if outcome.stored_response is None else outcome.stored_response
            if outcome.is_final and not guard.has_stored(response):
                await self._store(guard, response)
        except _KeyTakenError:
            earlier = await self._ctx.read(idempotency.find, key, now - KEY_LIFETIME)
            assert earlier is not None
            return self._replay(earlier, fingerprint)
        return outcome

    def _replay(self, earlier: KeyedRequest, fingerprint: bytes) -> Outcome:
        """Return the response of an earlier attempt. Raise an error if there is none."""
        _check_same(fingerprint, earlier.fingerprint)
        if earlier.response is not None:
            return Outcome(response=earlier.response, is_replay=True)
        # This process would know that it is still at it.
        is_of_other = earlier.owner != current_owner()
        if is_of_other and is_lease_held(self._ctx, earlier.owner, earlier.created_at + MAX_DURATION, MAX_DURATION):
            raise RequestInProgressError
        raise ResponseLostError

    async def _store(self, guard: "_Guard", response: bytes) -> None:
        try:
            await self._ctx.write_unguarded(guard.store, response)
        except StoreError as error:
            # The request itself was carried out, and that has to be reported.
            log.warning("The response to a request could not be stored: %s", error)


class _Guard:
    """Stores the key of one attempt with what it writes."""

    def __init__(self, request: KeyedRequest, encode_result: Callable[[object], bytes | None] | None) -> None:
        self._request = request
        self._encode_result = encode_result
        self._stored_response: bytes | None = None
        self.is_closed = False
        self.has_returned = False
        """The outcome is known: what runs from now on belongs to the background, whenever it was submitted."""

    def run(self, conn: Transaction, user_id: str, work: Callable[[], T]) -> T:
        """Run `work` in a transaction; if it wrote, store the key. Raise _KeyTakenError."""
        if self.has_returned:
            return work()
        changes_before = idempotency.count_changes(conn)
        result = work()
        if idempotency.count_changes(conn) != changes_before:
            self.store(conn, user_id, self._encode_result(result) if self._encode_result is not None else None)
        return result

    def store(self, conn: Transaction, user_id: str, response: bytes | None) -> None:
        """Store the key, with the response if it is known. Raise _KeyTakenError if another attempt did so before."""
        request = msgspec.structs.replace(self._request, response=response)
        if not idempotency.save(conn, user_id, request, request.created_at - KEY_LIFETIME):
            raise _KeyTakenError
        self._stored_response = response

    def has_stored(self, response: bytes) -> bool:
        """Return True if this response was stored by a transaction of the request itself."""
        return self._stored_response == response


def _check_same(fingerprint: bytes, earlier: bytes) -> None:
    if fingerprint != earlier:
        raise KeyReusedError
