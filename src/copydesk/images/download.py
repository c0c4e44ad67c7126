"""Download an image from an untrusted URL: public addresses only, with limits on time, size and redirects.

The content decides if the response is an image; its Content-Type is ignored.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import httpx

from copydesk.errors import (
    FetchError,
    ImageError,
    PrivateAddressError,
    ResponseTooLargeError,
)
from copydesk.images.storage import MAX_BYTES, too_large_error, validate_format
from copydesk.network import user_agent
from copydesk.network.client import (
    BASE_HEADERS,
    HttpResponse,
    UnusableUrlError,
    UserInfoError,
    host_of,
    new_request,
    parse_url,
    redirect_target,
    send,
)
from copydesk.network.response import retry_after, status_phrase

TIMEOUT = 30.0
"""Timeout for the whole download, including redirects."""
MAX_REDIRECTS = 3
USER_AGENT = user_agent()
_TEMPORARY_STATUSES = frozenset({408, 425, 429})
TRY_LATER = "Try again later, or use a file."
_ANOTHER_URL = "Use another address or a file."


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
    with _refused_urls():
        address = parse_url(url)
    try:
        async with asyncio.timeout(timeout_seconds):
            content = await _follow_redirects(transport, address, user_agent, now)
    except TimeoutError:
        message = f"{host_of(address)} did not respond in time."
        raise ImageError(message, hint=TRY_LATER, is_temporary=True) from None
    except FetchError as error:
        raise to_image_error(error) from None
    validate_format(content)
    return content


async def _follow_redirects(transport: httpx.AsyncBaseTransport, url: httpx.URL, agent: str, now: datetime) -> bytes:
    """Return the response body at `url`, following redirects."""
    headers = {**BASE_HEADERS, "user-agent": agent, "accept": "image/*"}
    for _ in range(MAX_REDIRECTS + 1):
        response = await send(transport, new_request("GET", url, headers=headers), max_body=MAX_BYTES)
        with _refused_urls():
            target = redirect_target(url, response.status, response.headers)
        if target is not None:
            url = target
        elif response.status != 200:
            raise _error_for_status(response, host_of(url), now)
        else:
            return response.body
    raise ImageError(f"{host_of(url)} redirects more than {MAX_REDIRECTS} times.", hint=_ANOTHER_URL)


@contextmanager
def _refused_urls() -> Iterator[None]:
    """Raise ImageError for a URL that must not be requested."""
    try:
        yield
    except UserInfoError:
        raise ImageError(
            "Its address contains a user name or password.", hint="Remove the part before the @."
        ) from None
    except UnusableUrlError:
        raise ImageError("Its address is invalid.", hint="It must begin with https:// or http://.") from None


def _error_for_status(response: HttpResponse, host: str, now: datetime) -> ImageError:
    """Return the error for a status other than 200."""
    is_temporary = response.status in _TEMPORARY_STATUSES or response.status >= 500
    retry_after_seconds = retry_after(response.headers, now) if is_temporary else None
    phrases = {401: "requires a login for it", 403: "denied access to it", 404: "does not have it", 410: "removed it"}
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
        hint = "Use a file, or allow private addresses with network.allow_private."
        return ImageError(error.message, hint=hint)
    return ImageError(error.message, hint=TRY_LATER, is_temporary=True)
