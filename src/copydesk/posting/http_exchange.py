"""One HTTP exchange over httpx. Imported with the first request, because importing httpx is slow."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import httpx

from copydesk.errors import FetchError, PrivateAddressError, UnreachableError
from copydesk.network.body import read_body
from copydesk.network.headers import Headers, header_map
from copydesk.network.transport import TRANSPORT_ERRORS, NotConnectedError, to_fetch_error
from copydesk.posting.platform import NotSentError, PostingError, UnknownOutcomeError

if TYPE_CHECKING:
    from copydesk.posting.client import Transport

MiB = 2**20
CONNECT_TIMEOUT = 10.0
"""Seconds to establish a connection."""
MAX_BODY = 4 * MiB
_CONNECT_ERRORS = (NotConnectedError, httpx.ConnectError, httpx.ConnectTimeout)
RawResponse = tuple[int, Headers, bytes]
"""Status, headers and body of a response."""


async def send_request(
    transport: "Transport",
    method: str,
    url: str,
    host: str,
    headers: Mapping[str, str],
    content: bytes,
    timeout_seconds: float,
) -> RawResponse:
    """Send one request and return the response, within `timeout_seconds` in total.

    Raise `NotSentError` if no byte was sent, `UnknownOutcomeError` if no complete response arrived.
    """
    try:
        request = httpx.Request(method, url, headers=dict(headers), content=content)
    except (httpx.InvalidURL, ValueError, TypeError):
        raise NotSentError(f"The request to {host} cannot be sent: its address is not one.") from None
    request.extensions["timeout"] = {"connect": CONNECT_TIMEOUT}
    # Raise outside of the handlers: otherwise `__context__` would keep the request, and the token in it.
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _read_response(transport, request, host)
    except (UnreachableError, PrivateAddressError) as error:
        failure_to_raise: PostingError = NotSentError(error.message, hint=error.hint)
    except _CONNECT_ERRORS as error:
        failure_to_raise = NotSentError(to_fetch_error(error, host).message)
    except FetchError as error:  # the body is too large or corrupt, but the request was processed
        failure_to_raise = UnknownOutcomeError(error.message)
    except (*TRANSPORT_ERRORS, httpx.HTTPError) as error:
        failure_to_raise = UnknownOutcomeError(to_fetch_error(error, host).message)
    raise failure_to_raise


async def _read_response(transport: "Transport", request: httpx.Request, host: str) -> RawResponse:
    response = await transport.handle_async_request(request)
    try:
        headers = header_map(response.headers.raw)
        encoding, length = headers.get("content-encoding", ""), headers.get("content-length", "")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        body = await read_body(
            response.stream, host=host, encoding=encoding, length=length, max_wire=MAX_BODY, max_body=MAX_BODY
        )
    finally:
        await response.aclose()
    return response.status_code, headers, body
