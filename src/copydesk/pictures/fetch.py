"""Reads a picture from an address that somebody else may have chosen: public addresses only, within bounds.

What answers is a picture if it begins as one, whatever the server calls it.
"""

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime

import httpx

from copydesk import __version__
from copydesk.errors import (
    FetchError,
    RefusedAddressError,
    TooLargeError,
)
from copydesk.model.wire import Struct
from copydesk.network.body import read_body
from copydesk.network.headers import header_map, named, retry_after
from copydesk.network.transport import FAILURES, failure
from copydesk.pictures.errors import PictureError
from copydesk.pictures.kind import MOST_BYTES, checked_kind, too_large

SECONDS = 30.0
"""For the whole of it, redirects included."""
REDIRECTS = 3
MAX_ADDRESS = 4096
AGENT = f"Copydesk/{__version__}"
_REDIRECT = (301, 302, 303, 307, 308)
_LATER = frozenset({408, 425, 429})
_HOST = re.compile(rb"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")
TRY_LATER = "Try again later, or give the picture as a file."
_ANOTHER = "Give another address, or the picture as a file."


async def fetch(
    transport: httpx.AsyncBaseTransport, url: str, *, now: datetime, agent: str = AGENT, seconds: float = SECONDS
) -> bytes:
    """The picture at `url`, at most MOST_BYTES. `transport` is the guarded one, or what stands in for it.

    Raises PictureError; `later` where the network or the server may do better another time.
    """
    address = _address(url)
    # Raised outside of the handlers: an error must not keep the request as its context.
    try:
        async with asyncio.timeout(seconds):
            content = await _followed(transport, address, agent, now)
    except FAILURES as error:
        problem = PictureError(failure(error, place(address)).message, hint=TRY_LATER, later=True)
    except FetchError as error:
        problem = in_our_words(error)
    else:
        checked_kind(content)
        return content
    raise problem


async def _followed(transport: httpx.AsyncBaseTransport, url: httpx.URL, agent: str, now: datetime) -> bytes:
    """What is at `url`, or where it redirects to."""
    headers = {"user-agent": agent, "accept": "image/*", "accept-encoding": "gzip, deflate"}
    for _ in range(REDIRECTS + 1):
        got = await exchange(transport, httpx.Request("GET", url, headers=headers), most=MOST_BYTES)
        if got.status in _REDIRECT and "location" in got.headers:
            url = _next(url, got.headers["location"])
            continue
        if got.status != 200:
            raise _refusal(got, place(url), now)
        return got.body
    raise PictureError(f"{place(url)} redirects more than {REDIRECTS} times.", hint=_ANOTHER)


class Got(Struct, frozen=True):
    """An answer whose body is in bounds."""

    status: int
    headers: dict[str, str]
    """With lower-case names."""
    body: bytes


async def exchange(transport: httpx.AsyncBaseTransport, request: httpx.Request, *, most: int) -> Got:
    """Ask once; the answer's body may have `most` bytes.

    The body of a redirect is not read. Raises FetchError, or one of FAILURES.
    """
    response = await transport.handle_async_request(request)
    try:
        headers = header_map(response.headers.raw)
        redirected = response.status_code in _REDIRECT
        body = b"" if redirected else await _body(response, headers, place(request.url), most)
    finally:
        await response.aclose()
    return Got(status=response.status_code, headers=headers, body=body)


async def _body(response: httpx.Response, headers: Mapping[str, str], host: str, most: int) -> bytes:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    encoding, length = headers.get("content-encoding", ""), headers.get("content-length", "")
    return await read_body(response.stream, host=host, encoding=encoding, length=length, max_wire=most, max_body=most)


def _address(url: str) -> httpx.URL:
    try:
        return _checked(httpx.URL(url))
    except httpx.InvalidURL:
        raise _no_address() from None


def _next(here: httpx.URL, location: str) -> httpx.URL:
    """Where `here` redirects to, if that may be read."""
    try:
        # Servers send UTF-8 there although only ASCII is allowed.
        return _checked(here.join(location.encode("latin-1").decode("utf-8", "replace")))
    except httpx.InvalidURL:
        raise _no_address() from None


def _checked(url: httpx.URL) -> httpx.URL:
    """`url` without its fragment, if it is one that is read at all."""
    port = 80 if url.port is None else url.port
    known = url.scheme in ("http", "https") and _HOST.fullmatch(url.raw_host)
    if not known or not 0 < port < 65536 or len(url.raw_path) > MAX_ADDRESS:
        raise _no_address()
    if url.userinfo:
        raise PictureError("Its address holds a user name or a password.", hint="Leave out what stands before the @.")
    return url.copy_with(fragment=None)


def _no_address() -> PictureError:
    return PictureError("Its address cannot be read.", hint="It must begin with https:// or http://.")


def place(url: httpx.URL) -> str:
    """The host in messages: without the rest of the address, which may be somebody's secret."""
    return url.netloc.decode("ascii")


def _refusal(got: Got, host: str, now: datetime) -> PictureError:
    """What a status means that is no success."""
    later = got.status in _LATER or got.status >= 500
    wait = retry_after(got.headers, now) if later else None
    says = {401: "wants a login for it", 403: "does not hand it out", 404: "does not have it", 410: "removed it"}
    what = f"{host} {says.get(got.status, f'answered with {named(got.status)}')}."
    return PictureError(what, hint=TRY_LATER if later else _ANOTHER, later=later, retry_after=wait)


def in_our_words(error: FetchError) -> PictureError:
    """What the guarded network says, whose hints are about sources."""
    if isinstance(error, TooLargeError):
        return too_large()
    if isinstance(error, RefusedAddressError):
        hint = (
            "Give the picture as a file. network.allow_private lets addresses of this machine and its network be read."
        )
        return PictureError(error.message, hint=hint)
    return PictureError(error.message, hint=TRY_LATER, later=True)
