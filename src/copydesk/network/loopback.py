"""Receive the OAuth redirect of the user's browser on this machine (RFC 8252, 7.3).

The server listens on 127.0.0.1 only, accepts one valid request, and never displays what it received.
"""

import asyncio
import hmac
import re
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

from copydesk.errors import SignInError
from copydesk.text import clean
from copydesk.text.formatting import format_duration

HOST, PATH = "127.0.0.1", "/callback"
MAX_REQUEST_HEAD = 32 * 1024
"""Bytes of a request head: browsers send the cookies of every service on this machine, whatever its port."""
MAX_CODE_LENGTH, MAX_ERROR_TEXT = 4096, 200
REQUEST_TIMEOUT = 10.0
"""Seconds for one request to arrive: browsers open connections in advance and send nothing."""
MAX_CONNECTIONS = 16
"""Concurrent connections. One more takes the place of the oldest: silent ones must not shut out the browser."""
_REQUEST_LINE = re.compile(r"GET (?P<target>\S+) HTTP/1\.[01]")

_RETRY_HINT = "Try again."
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Copydesk</title></head><body><p>{says}</p></body></html>
"""
_SUCCESS_TEXT = "Sign-in complete. You can close this window."
_DENIED_TEXT = "Sign-in failed. You can close this window."
_UNEXPECTED_TEXT = "This is not the page Copydesk is waiting for."


class LoopbackServer:
    """The redirect target of a browser sign-in: `async with LoopbackServer(port) as loopback`.

    Without a port, any free one.
    """

    def __init__(self, port: int | None = None) -> None:
        self._port = port or 0
        self._server: asyncio.Server | None = None
        # In the order of their arrival, as a dictionary keeps it.
        self._tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._pending: tuple[str, asyncio.Future[str]] | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._accept, HOST, self._port, limit=MAX_REQUEST_HEAD)
        except OSError as error:
            hint = "Close the program that uses it, or paste the final address from the browser."
            raise SignInError(f"Cannot use port {self._port} of {HOST}: {error.strerror}.", hint=hint) from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def redirect_uri(self) -> str:
        """The redirect URI."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def wait_for_code(self, state: str, timeout: float = 300) -> str:  # noqa: ASYNC109 - it ends in an error of ours
        """Wait for the code that arrives with `state`, which is empty if the server does not return it.

        Raise `SignInError` after `timeout` seconds or if the server reports a failure. All other requests are refused.
        """
        self._pending = (state, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(timeout):
                return await self._pending[1]
        except TimeoutError:
            raise SignInError(
                f"The browser did not return within {format_duration(timeout)}.", hint=_RETRY_HINT
            ) from None
        finally:
            self._pending = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MAX_CONNECTIONS:
            oldest = next(iter(self._tasks))
            # The task may not have started yet; then it would never close the connection.
            self._tasks.pop(oldest).close()
            oldest.cancel()
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks[task] = writer
        task.add_done_callback(lambda task: self._tasks.pop(task, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request within `REQUEST_TIMEOUT`."""
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(REQUEST_TIMEOUT):
                    await self._handle_request(reader, writer)
        finally:
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return await _respond(writer, "431 Request Header Fields Too Large", _UNEXPECTED_TEXT)
        query = _query_of_request(head, f"{HOST}:{self._port}")
        if query is None:
            return await _respond(writer, "404 Not Found", _UNEXPECTED_TEXT)
        if self._pending is None or self._pending[1].done():
            return await _respond(writer, "400 Bad Request", _UNEXPECTED_TEXT)
        state, future = self._pending
        try:
            code = _extract_code(query, state)
        except SignInError as error:
            future.set_exception(error)
            return await _respond(writer, "200 OK", _DENIED_TEXT)
        if code is None:
            return await _respond(writer, "400 Bad Request", _UNEXPECTED_TEXT)
        future.set_result(code)
        return await _respond(writer, "200 OK", _SUCCESS_TEXT)


def parse_pasted_code(pasted: str, state: str) -> str:
    """Return the code from pasted text: the URL at which the browser ended, or the bare code.

    A URL must contain `state` unless that is empty; a bare code has none. Raise `SignInError` for anything else.
    """
    text = "".join(pasted.split())  # terminals break long lines when copying
    query = _query_of_url(text)
    if query is not None:
        code = _extract_code(query, state)
        if code is None:
            hint = "Paste the full address of the last page of this sign-in."
            raise SignInError("This is not the expected address.", hint=hint)
        return code
    # No URL, so it is taken as a bare code, which has no state to check.
    bare = text.removesuffix("#_")  # Threads and Instagram append it to the code
    if not _is_code(bare):
        raise SignInError("This is neither an address nor a code.", hint="Paste the address or code from the browser.")
    return bare


def _query_of_url(text: str) -> str | None:
    """Return the query of a URL, or of the end of one; None if the text is no URL."""
    if "://" in text:
        try:
            return urlsplit(text).query
        except ValueError:
            return ""
    before, question_mark, query = text.partition("?")
    if question_mark or before.startswith(("code=", "state=", "error=")):
        return (query or before).partition("#")[0]
    return None


def _query_of_request(head: bytes, host: str) -> str | None:
    """Return the query of a request for our page; None for any other request.

    The Host header is checked against DNS rebinding: another site whose name resolves to this machine sends its own
    name.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    request_line = _REQUEST_LINE.fullmatch(first)
    if request_line is None:
        return None
    path, _, query = request_line["target"].partition("?")
    hosts = [value.strip() for name, _, value in (line.partition(":") for line in lines) if name.lower() == "host"]
    return query if path == PATH and hosts == [host] else None


def _extract_code(query: str, state: str) -> str | None:
    """Return the code in a query; None if it is not ours. Raise `SignInError` if the server reports a failure."""
    try:
        params = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    if not _is_same_state(state, params.get("state", [])):
        return None
    if "error" in params:
        raise _sign_in_error(params["error"][0], params.get("error_description", [""])[0])
    codes = params.get("code", [])
    return codes[0] if len(codes) == 1 and _is_code(codes[0]) else None


def _is_same_state(state: str, received: list[str]) -> bool:
    """Return True if the received state is ours, compared in constant time."""
    return not state or (
        len(received) == 1 and hmac.compare_digest(state.encode(), received[0].encode(errors="replace"))
    )


def _is_code(text: str) -> bool:
    """Return True if `text` can be a code: printable ASCII (RFC 6749, A.11)."""
    return 0 < len(text) <= MAX_CODE_LENGTH and text.isascii() and text.isprintable()


def _sign_in_error(error: str, description: str) -> SignInError:
    if error == "access_denied":
        return SignInError("Access was denied in the browser.", hint=_RETRY_HINT)
    reason = clean(description or error)[:MAX_ERROR_TEXT].strip().rstrip(".")
    return SignInError(f"The server denied access: {reason}.", hint=_RETRY_HINT)


async def _respond(writer: asyncio.StreamWriter, status: str, message: str) -> None:
    page = _PAGE.format(says=message).encode()
    head = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(page)}",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Connection: close",
    )
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + page)
    await writer.drain()
