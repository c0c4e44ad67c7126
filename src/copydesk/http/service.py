"""The service: authorize a request for an operation, call it, and return the result or the problem as the response."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from copydesk.desk.authentication import Authentication, InvalidTokenError, confirm_with_first_unit
from copydesk.desk.idempotency import Outcome
from copydesk.errors import CopydeskError, NotFoundError, StoreError
from copydesk.http import errors, idempotency
from copydesk.http.call import Call
from copydesk.http.event_stream import OpenStreams
from copydesk.http.metrics import RequestMetrics
from copydesk.http.operations import Operation
from copydesk.http.rate_limit import LIMIT, RateLimiter
from copydesk.http.request_reading import parse_body, parse_query, read_bytes, read_upload
from copydesk.http.responses import error_response, json_response

if TYPE_CHECKING:
    from copydesk.desk import Desk, Desks
    from copydesk.model.token import Access

RETRY_INTERVAL = 60.0
"""Seconds after which texts are tried again that another process held, or that an error left."""
log = logging.getLogger("copydesk.http")
_BEARER = "bearer "


class Service:
    """The desks that are served, and what lives as long as the server."""

    def __init__(self, desks: "Desks", *, local_access: "Access | None" = None) -> None:
        self.desks = desks
        self._local_access = local_access
        """Who calls without a token, where only this process can call; None refuses that."""
        self.stopping = asyncio.Event()
        """Set when the server stops; streams end then."""
        self.metrics = RequestMetrics()
        self.open_streams = OpenStreams(self.stopping)
        self._rate_limiter = RateLimiter()
        self._monotonic = time.monotonic
        """The clock of the rate limit; tests replace it."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._resumption: asyncio.Task[object] | None = None

    async def respond(self, operation: Operation, request: Request, *, is_limited: bool = True) -> Response:
        """Call the operation and return its response, or a problem.

        Without `is_limited` the request is part of another one, which counts for the rate limit.
        """
        headers: dict[str, str] = {}
        request.state.operation = operation.id
        try:
            if self.stopping.is_set():
                # A connection that is kept alive may bring another request after the stop began: its work might be cut.
                raise errors.shutting_down()
            authentication = await self._start(request)
            try:
                with confirm_with_first_unit(authentication):
                    request.state.user = authentication.access.user.name
                    request.state.token = authentication.access.token_name
                    # Before the scope is checked: refused calls count too, so a token cannot try out all operations
                    # for free.
                    if is_limited:
                        self.count_request(authentication.access, headers)
                    response = await self._respond(operation, request, authentication.access)
            except (errors.RefusedError, CopydeskError) as error:
                response = error_response(error)
            # Nothing was read or written: an invalid token gets no other response either.
            await self.desks.confirm(authentication)
        except InvalidTokenError:
            response = error_response(_invalid_token())
        except (errors.RefusedError, CopydeskError) as error:
            response = error_response(error)
        response.headers.update(headers)
        return response

    async def _start(self, request: Request) -> Authentication:
        """Return what the request's token allows. Refuse one without a valid token."""
        token = self._read_token(request.headers.get("authorization", ""))
        if token is None:
            assert self._local_access is not None
            return Authentication(self._local_access)
        authentication = await self.desks.start_request(token)
        if authentication is None:
            raise _invalid_token()
        return authentication

    async def _respond(self, operation: Operation, request: Request, access: "Access") -> Response:
        if not access.scope.covers(operation.scope):
            raise errors.insufficient_scope(access.scope, operation.scope)
        # Only after the token was found once: a desk costs memory, and a stranger must not have one opened.
        desk = await self.desks.get(access.user)
        call, content = await self._read(operation, request, desk, access)
        if operation.body_scope is not None:
            # Before the response to an earlier request with the same key is repeated.
            call.require(operation.body_scope(call.body))
        key = idempotency.read_key(request) if operation.changes else None
        if key is None:
            return await _respond(operation, call)
        return await _respond_once(operation, call, key, content)

    def count_request(self, access: "Access", headers: dict[str, str]) -> None:
        """Refuse a request over the rate limit of its token; add the headers about the limit."""
        quota = self._rate_limiter.take(access.token_id, self._monotonic())
        headers.update(quota.headers)
        if not quota.allowed:
            raise errors.rate_limited(quota.reset, LIMIT)

    async def authenticate(self, authorization: str) -> "Access":
        """Return who calls with this Authorization header, as of now. Refuse one without a valid token."""
        token = self._read_token(authorization)
        if token is None:
            assert self._local_access is not None
            return self._local_access
        access = await self.desks.authenticate(token)
        if access is None:
            raise _invalid_token()
        return access

    def _read_token(self, authorization: str) -> str | None:
        """Return the token of an Authorization header, empty if there is none in it; None if none is needed."""
        if authorization:
            # An empty token is looked up like any other: unknown, malformed and expired ones get the same response.
            return authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else ""
        if self._local_access is None:
            raise errors.unauthorized("Send a token: `Authorization: Bearer cd_…`.", token_was_sent=False)
        return None

    async def _read(self, operation: Operation, request: Request, desk: "Desk", access: "Access") -> tuple[Call, bytes]:
        """Return the call, and the content of its body as far as the operation reads one."""
        query = parse_query(request, operation.query)
        body: object = {}
        content = b""
        if operation.body is not None:
            content = await read_bytes(request, operation.max_body)
            body = parse_body(operation, content, request.headers.get("content-type", ""))
        elif operation.upload is not None:
            # Not the whole body: clients separate its parts by another boundary each time.
            body = content = await read_upload(request, operation.upload, operation.max_body)

        # A stream outlives its request by hours. It asks again now and then, so that a revoked token ends it.
        async def is_token_valid() -> bool:
            try:
                await self.authenticate(request.headers.get("authorization", ""))
            except errors.RefusedError:
                return False
            return True

        call = Call(
            request,
            desk,
            access,
            query=query,
            body=body,
            run_in_background=self._run_in_background,
            open_streams=self.open_streams,
            is_token_valid=is_token_valid,
        )
        return call, content

    def _run_in_background(self, work: Callable[[], Awaitable[object]]) -> None:
        async def run() -> None:
            # Cancelled by a stop, work may fail because its end cannot be stored: a task that starts now would be left.
            if not await _log_failure(work) and not self.stopping.is_set():
                self.resume()

        self._create_task(run())

    def _create_task(
        self, coro: Coroutine[object, object, object], context: Context | None = None
    ) -> asyncio.Task[object]:
        task = asyncio.create_task(coro, context=context)
        self._tasks.add(task)
        # The loop holds only a weak reference to a task: without the set it could be collected before it ends.
        task.add_done_callback(self._tasks.discard)
        return task

    def resume(self) -> None:
        """Write the texts that the last stop or an error of the database left, in the background."""
        if self._resumption is None or self._resumption.done():
            # A context of its own: the texts are not written on behalf of the request whose text failed.
            self._resumption = self._create_task(_log_failure(self._write_texts_until_none_waits), Context())

    async def _write_texts_until_none_waits(self) -> None:
        is_left = await self._write_waiting_texts()
        # The process that holds a text may have died, which its claim tells only when it expires.
        while is_left:
            await asyncio.sleep(RETRY_INTERVAL)
            is_left = await self._write_waiting_texts()

    async def _write_waiting_texts(self) -> bool:
        """Write the texts that nobody holds. Return True if some are left, or may be."""
        try:
            users = await self.desks.list_users_with_texts()
            for user_id in users:
                # The failure of one user must not end it for those after them.
                await _log_failure(partial(self._write_texts_of, user_id))
            return bool(users and await self.desks.list_users_with_texts())
        except StoreError as error:
            # Nothing else would try again: the server of the database may be restarting.
            log.warning("Work in the background failed: %s", error)
            return True

    async def _write_texts_of(self, user_id: str) -> None:
        desk = await self.desks.get(user_id)
        await desk.generation.drain()

    async def close(self) -> None:
        """End background work; what it has committed stays, the rest is taken up at the next start."""
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
        # Wait for the cancelled tasks: the desks are closed next, and a task that still writes would fail.
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _invalid_token() -> errors.RefusedError:
    return errors.unauthorized("This token is unknown, revoked or expired.", token_was_sent=True)


async def _respond(operation: Operation, call: Call) -> Response:
    """Call the operation and return its response."""
    result = await operation.handler(call)
    if isinstance(result, Response):
        result.headers.update(call.headers)
        return result
    return json_response(result, call.status or operation.status, call.headers)


async def _respond_once(operation: Operation, call: Call, key: str, content: bytes) -> Response:
    """Call the operation unless a request with this key did so before; return the response of that call."""

    # A refusal is an outcome like any other: repeating the request must not carry out what was refused the first time.
    async def carry_out() -> Outcome:
        try:
            response = await _respond(operation, call)
        except (errors.RefusedError, CopydeskError) as error:
            response = error_response(error)
        return idempotency.to_outcome(operation, response)

    def encode_result(result: object) -> bytes | None:
        # Called within the transaction of the change, so that the response is committed with it: a process killed in
        # between would carry the request out twice.
        if not idempotency.is_result_of(operation, result):
            return None
        response = json_response(result, operation.status, idempotency.result_headers(result))
        return idempotency.encode_response(response)

    fingerprint = idempotency.request_fingerprint(call.request, content, call.access.scope)
    outcome = await call.desk.idempotency.run(key, fingerprint, carry_out, encode_result)
    response = idempotency.to_response(outcome)
    restore = operation.restore_secrets
    if restore is None or not outcome.is_replay or response.status_code != operation.status:
        return response
    # What was created may be deleted by now; the stored response is all there is then.
    with suppress(NotFoundError):
        restored = await restore(call, msgspec.json.decode(response.body))
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return json_response(restored, response.status_code, headers)
    return response


async def _log_failure(work: Callable[[], Awaitable[object]]) -> bool:
    """Run `work` and log its error. Return False if that was one of the database, after which it can be repeated."""
    try:
        await work()
    except CopydeskError as error:
        log.warning("Work in the background failed: %s", error)
        return not isinstance(error, StoreError)
    except Exception:
        log.exception("Work in the background failed.")
    return True
