"""Waits on this machine for the code that the user's browser brings back from a sign-in (RFC 8252, 7.3).

It listens on 127.0.0.1 alone, takes one good request, and shows nothing of what it was sent.
"""

import asyncio
import hmac
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

from copydesk.errors import SignInError
from copydesk.text import clean

HOST, PATH = "127.0.0.1", "/callback"
LARGEST_HEAD = 32 * 1024
"""Bytes of a request: a browser sends the cookies of everything on this machine, whatever its port."""
LONGEST_CODE, LONGEST_SAYING = 4096, 200
PATIENCE = 10.0
"""Seconds for one request to arrive: browsers connect ahead of time, and say nothing."""
MOST_CONNECTIONS = 16
"""At once."""

_AGAIN = "Begin again."
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Copydesk</title></head><body><p>{says}</p></body></html>
"""
_DONE = "Copydesk has what it needs. You can close this window."
_REFUSED = "Nothing was connected. You can close this window."
_NOT_IT = "This is not what Copydesk waits for."


class Loopback:
    """The end of the way through the browser: `async with Loopback(port) as back`. Without a port any free one."""

    def __init__(self, port: int | None = None) -> None:
        self._port = port or 0
        self._server: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._waiting: tuple[str, asyncio.Future[str]] | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._accept, HOST, self._port, limit=LARGEST_HEAD)
        except OSError as error:
            hint = "Close what is using it, or paste the address that the browser ends at."
            raise SignInError(f"Port {self._port} of {HOST} cannot be used: {error.strerror}.", hint=hint) from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def redirect(self) -> str:
        """The address that the browser has to be sent back to."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def code(self, state: str, timeout: float = 300) -> str:  # noqa: ASYNC109 - it ends in an error of ours
        """The code that comes back with `state`; an empty one is of a server that does not send it back.

        Raises SignInError when `timeout` seconds are over, or the server says that there will be no code. Everything
        else that is asked here is turned away.
        """
        self._waiting = (state, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(timeout):
                return await self._waiting[1]
        except TimeoutError:
            raise SignInError(f"The browser did not come back within {timeout / 60:g} minutes.", hint=_AGAIN) from None
        finally:
            self._waiting = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._under_way) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, which has little time."""
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(PATIENCE):
                    await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return await _say(writer, "431 Request Header Fields Too Large", _NOT_IT)
        query = _asked(head, f"{HOST}:{self._port}")
        if query is None:
            return await _say(writer, "404 Not Found", _NOT_IT)
        if self._waiting is None or self._waiting[1].done():
            return await _say(writer, "400 Bad Request", _NOT_IT)
        state, found = self._waiting
        try:
            code = _code(query, state)
        except SignInError as error:
            found.set_exception(error)
            return await _say(writer, "200 OK", _REFUSED)
        if code is None:
            return await _say(writer, "400 Bad Request", _NOT_IT)
        found.set_result(code)
        return await _say(writer, "200 OK", _DONE)


def code_from(pasted: str, state: str) -> str:
    """The code in what the user pasted: the address that the browser ended at, or the bare code.

    An address has to hold `state`, unless that is empty; a bare code has none. Raises SignInError for anything else.
    """
    text = "".join(pasted.split())  # a terminal breaks long lines
    query = _query(text)
    if query is not None:
        code = _code(query, state)
        if code is None:
            hint = "Paste the whole address of the page that the browser showed last, from this sign-in."
            raise SignInError("That is not the address that was waited for.", hint=hint)
        return code
    bare = text.removesuffix("#_")  # Threads and Instagram put it behind the code
    if not _is_code(bare):
        raise SignInError("That is neither an address nor a code.", hint="Paste what the browser showed.")
    return bare


def _query(text: str) -> str | None:
    """The query of an address, or of the end of one; None where the text is no address."""
    if "://" in text:
        try:
            return urlsplit(text).query
        except ValueError:
            return ""
    front, mark, query = text.partition("?")
    if mark or front.startswith(("code=", "state=", "error=")):
        return (query or front).partition("#")[0]
    return None


def _asked(head: bytes, host: str) -> str | None:
    """The query of a request for our page; None for any other request.

    The name in its Host header is checked: a page elsewhere whose name was turned to this machine has another.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, query = rest.removesuffix(" HTTP/1.1").partition("?")
    hosts = [value.strip() for name, _, value in (line.partition(":") for line in lines) if name.lower() == "host"]
    return query if method == "GET" and path == PATH and hosts == [host] else None


def _code(query: str, state: str) -> str | None:
    """The code in a query; None where it is not meant for us. SignInError where it says that there is none."""
    try:
        said = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    if not _same(state, said.get("state", [])):
        return None
    if "error" in said:
        raise _refused(said["error"][0], said.get("error_description", [""])[0])
    codes = said.get("code", [])
    return codes[0] if len(codes) == 1 and _is_code(codes[0]) else None


def _same(state: str, came: list[str]) -> bool:
    """Whether the state that came is ours, told in the same time for each."""
    return not state or (len(came) == 1 and hmac.compare_digest(state.encode(), came[0].encode(errors="replace")))


def _is_code(text: str) -> bool:
    """Whether it may be a code: printable ASCII (RFC 6749, A.11)."""
    return 0 < len(text) <= LONGEST_CODE and text.isascii() and text.isprintable()


def _refused(error: str, says: str) -> SignInError:
    if error == "access_denied":
        return SignInError("The browser says that you did not agree.", hint=f"{_AGAIN[:-1]} if you want to.")
    explained = clean(says or error)[:LONGEST_SAYING].strip().rstrip(".")
    return SignInError(f"The server did not let you in: {explained}.", hint=_AGAIN)


async def _say(writer: asyncio.StreamWriter, status: str, says: str) -> None:
    page = _PAGE.format(says=says).encode()
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
