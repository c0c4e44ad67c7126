"""Download an image from an untrusted URL: public addresses only, with limits on time, size and redirects.

The content decides if the response is an image; its Content-Type is ignored.
"""

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime

import httpx

from copydesk import __version__
from copydesk.errors import (
    FetchError,
    ImageError,
    PrivateAddressError,
    ResponseTooLargeError,
)
from copydesk.images.media_type import MAX_BYTES, too_large_error, validate_format
from copydesk.model.serialization import Struct
from copydesk.network.body import read_body
from copydesk.network.headers import header_map, retry_after, status_phrase
from copydesk.network.transport import TRANSPORT_ERRORS, to_fetch_error

TIMEOUT = 30.0
"""Timeout for the whole download, including redirects."""
MAX_REDIRECTS = 3
MAX_URL_PATH = 4096
USER_AGENT = f"Copydesk/{__version__}"
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_TEMPORARY_STATUSES = frozenset({408, 425, 429})
_HOST = re.compile(rb"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")
TRY_LATER = "Try again later, or give the picture as a file."
_ANOTHER_URL = "Give another address, or the picture as a file."


async def fetch(
    transport: httpx.AsyncBaseTransport,
    url: str,
    *,
    now: datetime,
    user_agent: str = USER_AGENT,
    timeout_seconds: float = TIMEOUT,
) -> bytes:
    """Return the image at `url`, at most `MAX_BYTES`. `transport` must be the guarded one outside of tests.

    Raise ImageError; its `is_temporary` is True if the network or the server may recover.
    """
    address = _parse_url(url)
    # Raise outside of the handlers: an error must not keep the request as its context.
    try:
        async with asyncio.timeout(timeout_seconds):
            content = await _follow_redirects(transport, address, user_agent, now)
    except TRANSPORT_ERRORS as error:
        image_error = ImageError(to_fetch_error(error, host_of(address)).message, hint=TRY_LATER, is_temporary=True)
    except FetchError as error:
        image_error = to_image_error(error)
    else:
        validate_format(content)
        return content
    raise image_error


async def _follow_redirects(transport: httpx.AsyncBaseTransport, url: httpx.URL, agent: str, now: datetime) -> bytes:
    """Return the response body at `url`, following redirects."""
    # Only encodings that `read_body` decompresses under a size limit.
    headers = {"user-agent": agent, "accept": "image/*", "accept-encoding": "gzip, deflate"}
    for _ in range(MAX_REDIRECTS + 1):
        response = await send(transport, httpx.Request("GET", url, headers=headers), max_bytes=MAX_BYTES)
        if response.status in _REDIRECT_STATUSES and "location" in response.headers:
            url = _redirect_target(url, response.headers["location"])
            continue
        if response.status != 200:
            raise _error_for_status(response, host_of(url), now)
        return response.body
    raise ImageError(f"{host_of(url)} redirects more than {MAX_REDIRECTS} times.", hint=_ANOTHER_URL)


class ImageResponse(Struct, frozen=True):
    """A response with a body of limited size."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


async def send(transport: httpx.AsyncBaseTransport, request: httpx.Request, *, max_bytes: int) -> ImageResponse:
    """Send one request; return the response with a body of at most `max_bytes` bytes.

    The body of a redirect is not read. Raise FetchError, or one of `TRANSPORT_ERRORS`.
    """
    response = await transport.handle_async_request(request)
    try:
        headers = header_map(response.headers.raw)
        redirected = response.status_code in _REDIRECT_STATUSES
        body = b"" if redirected else await _read_body(response, headers, host_of(request.url), max_bytes)
    finally:
        await response.aclose()
    return ImageResponse(status=response.status_code, headers=headers, body=body)


async def _read_body(response: httpx.Response, headers: Mapping[str, str], host: str, max_bytes: int) -> bytes:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    encoding, length = headers.get("content-encoding", ""), headers.get("content-length", "")
    return await read_body(
        response.stream, host=host, encoding=encoding, length=length, max_wire=max_bytes, max_body=max_bytes
    )


def _parse_url(url: str) -> httpx.URL:
    try:
        return _validate_url(httpx.URL(url))
    except httpx.InvalidURL:
        raise _invalid_url_error() from None


def _redirect_target(base: httpx.URL, location: str) -> httpx.URL:
    """Return the URL to which `base` redirects, validated."""
    try:
        # Servers send UTF-8 in Location although only ASCII is allowed (RFC 9110, 10.2.2).
        return _validate_url(base.join(location.encode("latin-1").decode("utf-8", "replace")))
    except httpx.InvalidURL:
        raise _invalid_url_error() from None


def _validate_url(url: httpx.URL) -> httpx.URL:
    """Return `url` without its fragment. Raise ImageError if it must not be fetched."""
    port = 80 if url.port is None else url.port
    is_supported = url.scheme in ("http", "https") and _HOST.fullmatch(url.raw_host)
    if not is_supported or not 0 < port < 65536 or len(url.raw_path) > MAX_URL_PATH:
        raise _invalid_url_error()
    if url.userinfo:
        raise ImageError("Its address holds a user name or a password.", hint="Leave out what stands before the @.")
    return url.copy_with(fragment=None)


def _invalid_url_error() -> ImageError:
    return ImageError("Its address cannot be read.", hint="It must begin with https:// or http://.")


def host_of(url: httpx.URL) -> str:
    """Return the host for messages. The rest of the URL may contain a secret token."""
    return url.netloc.decode("ascii")


def _error_for_status(response: ImageResponse, host: str, now: datetime) -> ImageError:
    """Return the error for a status other than 200."""
    is_temporary = response.status in _TEMPORARY_STATUSES or response.status >= 500
    retry_after_seconds = retry_after(response.headers, now) if is_temporary else None
    phrases = {401: "wants a login for it", 403: "does not hand it out", 404: "does not have it", 410: "removed it"}
    message = f"{host} {phrases.get(response.status, f'answered with {status_phrase(response.status)}')}."
    return ImageError(
        message,
        hint=TRY_LATER if is_temporary else _ANOTHER_URL,
        is_temporary=is_temporary,
        retry_after=retry_after_seconds,
    )


def to_image_error(error: FetchError) -> ImageError:
    """Convert an error of the guarded transport, whose hints are about sources."""
    if isinstance(error, ResponseTooLargeError):
        return too_large_error()
    if isinstance(error, PrivateAddressError):
        hint = (
            "Give the picture as a file. network.allow_private lets addresses of this machine and its network be read."
        )
        return ImageError(error.message, hint=hint)
    return ImageError(error.message, hint=TRY_LATER, is_temporary=True)
