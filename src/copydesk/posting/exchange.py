"""One request to a platform and its answer, by httpx. It is imported when the first one is sent: that takes a while."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import httpx

from copydesk.errors import FetchError, RefusedAddressError, UnreachableError
from copydesk.network.body import read_body
from copydesk.network.headers import Headers, header_map
from copydesk.network.transport import FAILURES, NotConnectedError, failure
from copydesk.posting.platform import NotSentError, PostingError, UnknownOutcomeError

if TYPE_CHECKING:
    from copydesk.posting.http import Transport

MiB = 2**20
CONNECTING = 10.0
"""Seconds until a connection stands."""
MOST_BODY = 4 * MiB
_NO_CONNECTION = (NotConnectedError, httpx.ConnectError, httpx.ConnectTimeout)
Said = tuple[int, Headers, bytes]
"""Status, headers and body of an answer."""


async def exchange(
    transport: "Transport", method: str, url: str, host: str, headers: Mapping[str, str], content: bytes, asking: float
) -> Said:
    """What `host` says, within `asking` seconds.

    NotSentError where not a byte left, UnknownOutcomeError where no answer came to the end.
    """
    try:
        request = httpx.Request(method, url, headers=dict(headers), content=content)
    except (httpx.InvalidURL, ValueError, TypeError):
        raise NotSentError(f"The request to {host} cannot be sent: its address is not one.") from None
    request.extensions["timeout"] = {"connect": CONNECTING}
    # Raised outside of the handlers, so that no error keeps the request, and the token in it, as its context.
    try:
        async with asyncio.timeout(asking):
            return await _answer(transport, request, host)
    except (UnreachableError, RefusedAddressError) as error:
        wrong: PostingError = NotSentError(error.message, hint=error.hint)
    except _NO_CONNECTION as error:
        wrong = NotSentError(failure(error, host).message)
    except FetchError as error:  # the body is too large, or damaged
        wrong = UnknownOutcomeError(error.message)
    except (*FAILURES, httpx.HTTPError) as error:
        wrong = UnknownOutcomeError(failure(error, host).message)
    raise wrong


async def _answer(transport: "Transport", request: httpx.Request, host: str) -> Said:
    response = await transport.handle_async_request(request)
    try:
        headers = header_map(response.headers.raw)
        encoding, length = headers.get("content-encoding", ""), headers.get("content-length", "")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        body = await read_body(
            response.stream, host=host, encoding=encoding, length=length, max_wire=MOST_BODY, max_body=MOST_BODY
        )
    finally:
        await response.aclose()
    return response.status_code, headers, body
