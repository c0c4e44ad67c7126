"""A server of the user's own: parsing its URL, and requests to it with the credentials of one account."""

from collections.abc import Callable, Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import TypeVar, Unpack
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from copydesk.errors import CopydeskError
from copydesk.network.addresses import is_public
from copydesk.posting.client import (
    PlatformClient,
    RequestOptions,
    Response,
    as_repeatable,
    error_for_read,
    error_for_write,
)
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError
from copydesk.text import links

T = TypeVar("T")

_LOGIN_STATUSES, _UNAUTHORIZED = frozenset({401, 403}), frozenset({401})


class Site:
    """A REST API at a base URL; every request carries the same `headers`."""

    def __init__(
        self, client: PlatformClient, base: str, headers: Mapping[str, str], clock: Callable[[], datetime]
    ) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self._client = client
        self._headers = dict(headers)
        self._clock = clock

    def with_base(self, base: str) -> "Site":
        """Return a `Site` for another URL with the same credentials."""
        return Site(self._client, base, self._headers, self._clock)

    async def request(self, method: str, path: str = "", **options: Unpack[RequestOptions]) -> Response:
        """Send one request and return its response, whatever its status.

        Raise `NotSentError` or `UnknownOutcomeError`.
        """
        options["headers"] = {**self._headers, **options.get("headers", {})}
        url = self.base + path
        if params := options.pop("params", None):
            # A Micropub endpoint may have a query of its own.
            url += f"{'&' if '?' in url else '?'}{urlencode(params)}"
        return await self._client.request(method, url, **options)

    async def create(self, method: str, path: str, response_type: type[T], **options: Unpack[RequestOptions]) -> T:
        """Create something visible and return the decoded response. Raise any of the four posting errors."""
        response = await self.request(method, path, **options)
        if not response.is_success:
            raise self.error_for_write(response)
        return response.decode(response_type)

    async def post_prerequisite(self, path: str, **options: Unpack[RequestOptions]) -> Response:
        """POST something that a post needs but that is no post itself, such as a tag or an image.

        Raise `NotSentError` instead of `UnknownOutcomeError`: if the response is lost, no post was created.
        """
        return await as_repeatable(self.request("POST", path, **options))

    async def create_prerequisite(self, path: str, response_type: type[T], **options: Unpack[RequestOptions]) -> T:
        """Do the same as `post_prerequisite` and return the decoded response.

        Raise `RefusedPostError`, `LoginError` or `NotSentError`.
        """
        response = await self.post_prerequisite(path, **options)
        if not response.is_success:
            raise self.error_for_prerequisite(response)
        try:
            return response.decode(response_type)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None

    async def get(self, path: str, response_type: type[T], **options: Unpack[RequestOptions]) -> T:
        """GET and decode. Raise `LoginError`, or `NotSentError` for any other unusable response."""
        decoded = await self.get_or_none(path, response_type, missing=frozenset(), **options)
        assert decoded is not None
        return decoded

    async def get_or_none(
        self,
        path: str,
        response_type: type[T],
        *,
        missing: frozenset[int] = frozenset({404}),
        **options: Unpack[RequestOptions],
    ) -> T | None:
        """GET and decode; return None for a status in `missing`.

        The status alone is not enough: the body must be the platform's own error, because a proxy in front of it may
        answer 404, too.
        """
        try:
            response = await self.request("GET", path, **options)
            if response.status in missing and error_text(response):
                return None
            if response.is_success:
                return response.decode(response_type)
        except UnknownOutcomeError as error:
            raise NotSentError(f"Cannot read {self.host}: {error.message}") from None
        raise self.error_for_read(response)

    def error_for_write(self, response: Response) -> PostingError:
        """Return the error that an unsuccessful response to a write request means."""
        message = error_text(response)
        # A 403 without the platform's own error comes from a firewall in front of it, which objects to the text and
        # not to the credentials.
        return error_for_write(
            response,
            self.host,
            self._clock(),
            explanation=message,
            login_statuses=_LOGIN_STATUSES if message else _UNAUTHORIZED,
        )

    def error_for_prerequisite(self, response: Response) -> PostingError:
        """Return the error that an unsuccessful response to a prerequisite request means."""
        error = self.error_for_write(response)
        if isinstance(error, UnknownOutcomeError):
            return NotSentError(error.message, retry_after=error.retry_after)
        return error

    def error_for_read(self, response: Response) -> CopydeskError:
        """Return the error that an unsuccessful response to a read request means."""
        return error_for_read(response, self.host, self._clock(), explanation=error_text(response))


class _ErrorItem(msgspec.Struct, frozen=True):
    message: str = ""
    context: str | None = None


class _ErrorBody(msgspec.Struct, frozen=True):
    message: str = ""
    error: str = ""
    error_description: str = ""
    errors: list[_ErrorItem] = []


def error_text(response: Response) -> str:
    """Return the platform's error message; empty if there is none that can be decoded.

    WordPress sends `message`, Ghost a list of `errors`, Forem `error`, Micropub `error_description`.
    """
    body = response.decode_or(_ErrorBody())
    if body.errors:
        first = body.errors[0]
        return f"{first.message} {first.context or ''}".strip()
    return body.message or body.error_description or body.error


def parse_server_url(user_input: str) -> str:
    """Return the server URL that the user entered. Raise `RefusedPostError` if it is invalid.

    It has no trailing slash, and scheme and host in lower case: an account has one URL however it is typed. It must be
    https, or http on this machine or the local network, and contain nothing but host, port and path.
    """
    text = user_input.strip()
    if "://" not in text:
        text = f"https://{text}"
    parts = _split_url(text)
    # Browsers treat a backslash as a slash, so such a URL could name another host.
    if parts is None or not parts.hostname or not text.isprintable() or " " in text or "\\" in text:
        raise RefusedPostError("This is not a server address.", hint="Enter it as https://blog.example.com.")
    # An empty query or fragment, too: the paths of requests would become part of it.
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise RefusedPostError("The address must not contain a user name, password, query or fragment.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_local(parts.hostname)):
        raise RefusedPostError("The address must start with https://, or others could read your key in transit.")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def _split_url(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        # `SplitResult.port` raises ValueError for a port that is no number or out of range.
        port_is_valid = parts.port != 0
    except ValueError:
        return None
    return parts if port_is_valid else None


def _is_local(host: str) -> bool:
    """Return True if `host` is this machine or an address of the local network."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(str(ip_address(host)))
    except ValueError:
        return False


def site_name(url: str) -> str:
    """Return host and path of a site's URL, by which its account is shown."""
    parts = urlsplit(url)
    return parts.netloc + parts.path


def link_urls(url: str) -> tuple[str, ...]:
    """Return `url` as the `urls` of a step result: a tuple of one, or empty if it is no usable link."""
    return (url,) if links.postable_url(url) else ()
