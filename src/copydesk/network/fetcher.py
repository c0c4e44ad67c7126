"""The guarded HTTP client for everything that is read from outside.

It protects this machine: public addresses only, a timeout for the whole fetch, bounded bodies, every redirect checked.
It protects the hosts: conditional requests, one request at a time per host with a pause in between, and no request
before the time a host asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import lru_cache, partial
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import httpx

from copydesk.errors import PrivateAddressError, ResponseStatusError
from copydesk.model.serialization import Struct
from copydesk.network import user_agent
from copydesk.network.client import (
    BASE_HEADERS,
    OpenResponse,
    UnusableUrlError,
    UserInfoError,
    exchange,
    host_name,
    host_of,
    parse_url,
    redirect_target,
)
from copydesk.network.response import (
    MAX_WAIT,
    Headers,
    Response,
    build_response,
    error_for_status,
    host_cooldown,
    throttled_error,
)
from copydesk.network.transport import GuardedTransport

MIB = 2**20

_SUCCESS = (200, 201, 203, 226)
_PERMANENT_REDIRECTS = (301, 308)
_FORM_TYPE = "application/x-www-form-urlencoded"


class _HostState:
    """State of one host: its lock, and the end of its last request on the event loop's clock."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.last_request_end: float | None = None


class HostLimiter:
    """Limits requests by host. `cooldowns` maps a host to the end of its cooldown."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.cooldowns: dict[str, datetime] = {}
        self._clock = clock
        self._states: dict[str, _HostState] = {}

    @asynccontextmanager
    async def acquire(self, host: str, min_interval: float) -> AsyncIterator[None]:
        """Hold `host` for one request, after any running one has ended and `min_interval` seconds after the last.

        Raise RateLimitedError if the host cools down, or starts to while waiting.
        """
        self.raise_if_cooling_down(host)
        state = self._states.setdefault(host, _HostState())
        # The lock is held during the pause, so that waiting requests start one interval apart.
        async with state.lock:
            await self._wait_for_gap(state, min_interval)
            self.raise_if_cooling_down(host)
            try:
                yield
            finally:
                # Also after a failure: the host was contacted.
                state.last_request_end = asyncio.get_running_loop().time()

    def set_cooldown(self, host: str, seconds: float) -> None:
        """Start a cooldown of `seconds`; a longer one in force stays."""
        until = self._clock() + timedelta(seconds=min(seconds, MAX_WAIT))
        self.cooldowns[host] = max(until, self.cooldowns.get(host, until))

    def raise_if_cooling_down(self, host: str) -> None:
        """Raise RateLimitedError while `host` cools down."""
        until = self.cooldowns.get(host)
        if until is None:
            return
        remaining = (until - self._clock()).total_seconds()
        # A longer cooldown is never set: the clock was wrong then or is now.
        if 0 < remaining <= MAX_WAIT:
            raise throttled_error(host, remaining)
        del self.cooldowns[host]

    @staticmethod
    async def _wait_for_gap(state: _HostState, min_interval: float) -> None:
        if min_interval <= 0 or state.last_request_end is None:
            return
        remaining = state.last_request_end + min_interval - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)


class FetchLimits(Struct, frozen=True):
    """Bounds of the client."""

    timeout: float = 30.0
    """Seconds on the network for one fetch with its redirects; waiting for the host's turn does not count."""
    max_wire: int = 4 * MIB
    """Bytes of a body as transferred, compressed."""
    max_body: int = 10 * MIB
    """Bytes of a body after decompression."""
    max_redirects: int = 5
    concurrency: int = 16
    """Concurrent requests."""
    allow_private: bool = False
    """Allow sources on this machine and the local network."""
    proxy: str = ""
    """URL of an HTTP proxy for all requests; see `GuardedTransport`."""
    user_agent: str = user_agent()


class Hop(Struct, frozen=True):
    """One request of a fetch: the first, or the one after a redirect."""

    method: str
    url: httpx.URL
    base_headers: dict[str, str]
    """Headers for whichever host responds."""
    caller_headers: dict[str, str]
    """The caller's headers, which may hold credentials: dropped when a redirect leaves the origin."""
    content: bytes = b""
    all_permanent: bool = True
    """Every redirect so far was permanent."""
    redirect_count: int = 0
    """Redirects followed so far."""

    @property
    def host(self) -> str:
        """Host name with any unusual port: the key of `cooldowns`, and the name used in messages."""
        return host_of(self.url)

    @property
    def is_conditional(self) -> bool:
        """True if 304 is a valid response."""
        return "if-none-match" in self.base_headers or "if-modified-since" in self.base_headers

    def redirected_to(self, url: httpx.URL, *, permanent: bool) -> "Hop":
        """Return the request that follows a redirect to `url`."""
        return Hop(
            method=self.method,
            url=url,
            base_headers=self.base_headers,
            caller_headers=self.caller_headers if _is_same_origin(self.url, url) else {},
            all_permanent=self.all_permanent and permanent,
            redirect_count=self.redirect_count + 1,
        )


class Fetcher:
    """Fetches sources. An async context manager, bound to one event loop.

    A `transport` replaces the network: addresses are then not checked, everything else holds. Its owner closes it.
    `hold_host` returns a block during which no other process sends a request to a host.
    """

    def __init__(
        self,
        limits: FetchLimits = FetchLimits(),  # noqa: B008 - frozen
        *,
        clock: Callable[[], datetime],
        transport: httpx.AsyncBaseTransport | None = None,
        hold_host: Callable[[str], AbstractAsyncContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        self.limits = limits
        self._hold_host = hold_host
        self._clock = clock
        self._hosts = HostLimiter(clock)
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._external_transport = transport is not None
        self._transport = transport or GuardedTransport(
            allow_private=limits.allow_private, concurrency=limits.concurrency, proxy=limits.proxy
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._external_transport:
            await self._transport.aclose()

    def pause(self) -> None:
        """Send no further request until `resume`, because the caller holds enough responses. Running ones go on."""
        self._may_send.clear()

    def resume(self) -> None:
        """Send requests again."""
        self._may_send.set()

    @property
    def cooldowns(self) -> dict[str, datetime]:
        """End of each host's cooldown. Save it on exit and set it again, so that it survives a restart."""
        return self._hosts.cooldowns

    @cooldowns.setter
    def cooldowns(self, saved: Mapping[str, datetime]) -> None:
        self._hosts.cooldowns = dict(saved)

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = {},
        host_gap: float = 0.0,
    ) -> Response:
        """Fetch `url`; the request is conditional if a validator is given.

        `headers` are sent to this origin only, not to others it redirects to. `host_gap` is the minimum number of
        seconds since the last request to the host. Raise a FetchError whose class tells the cause.
        """
        base_headers = self._base_headers(accept)
        # RFC 3229 with "feed": a server that supports it answers 226 with the new entries only.
        base_headers["a-im"] = "feed"
        if etag:
            base_headers["if-none-match"] = etag
        if last_modified:
            base_headers["if-modified-since"] = last_modified
        return await self._fetch(
            Hop(method="GET", url=_parse_url(url), base_headers=base_headers, caller_headers=_lower_names(headers)),
            host_gap,
        )

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Response:
        """Post a form, such as a token request. Redirects are not followed. Raise FetchError."""
        hop = Hop(
            method="POST",
            url=_parse_url(url),
            # Forms are only posted to token endpoints, which respond in JSON.
            base_headers={**self._base_headers("application/json"), "content-type": _FORM_TYPE},
            caller_headers=_lower_names(headers),
            content=urlencode(data).encode(),
        )
        return await self._fetch(hop, 0.0)

    def _base_headers(self, accept: str) -> dict[str, str]:
        return {**BASE_HEADERS, "user-agent": self.limits.user_agent, "accept": accept}

    async def _fetch(self, hop: Hop, host_gap: float) -> Response:
        """Send the request and follow redirects until there is a response."""
        remaining = self.limits.timeout
        while True:
            # The host first: a request that waits for its host must not occupy a slot.
            async with self._hosts.acquire(hop.host, host_gap), self._slots:
                await self._may_send.wait()
                # Last of all: other processes must not wait for this one's turns.
                async with self._hold_host(hop.host):
                    started = asyncio.get_running_loop().time()
                    result = await self._send(hop, remaining)
            if isinstance(result, Response):
                return result
            remaining -= asyncio.get_running_loop().time() - started
            hop = result

    async def _send(self, hop: Hop, seconds: float) -> Response | Hop:
        """Return the response or the next hop within `seconds`."""
        return await exchange(
            self._transport, _build_request(hop), partial(self._handle_response, hop), timeout_seconds=seconds
        )

    async def _handle_response(self, hop: Hop, response: OpenResponse) -> Response | Hop:
        """Interpret the response. Its body is read only if it is needed."""
        status, headers, now = response.status, response.headers, self._clock()
        cooldown = host_cooldown(status, headers, now, forbidden_means_throttled=_forbidden_means_throttled(hop))
        # Before anything can raise: redirects and error responses carry rate limits, too.
        if cooldown is not None:
            self._hosts.set_cooldown(hop.host, cooldown)
        if hop.method == "GET" and (target := _redirect_target(hop, status, headers)) is not None:
            return self._redirect(hop, target, permanent=status in _PERMANENT_REDIRECTS)
        if status not in _SUCCESS and not (status == 304 and hop.is_conditional):
            raise error_for_status(status, headers, hop.host, cooldown, now)
        body = b""
        if status != 304:
            body = await response.read(max_wire=self.limits.max_wire, max_body=self.limits.max_body)
        moved_to = str(hop.url) if hop.redirect_count and hop.all_permanent else None
        return build_response(str(hop.url), status, headers, body, now, moved_to)

    def _redirect(self, hop: Hop, url: httpx.URL, *, permanent: bool) -> Hop:
        """Return the request for a redirect to `url`; raise a FetchError if it may not be followed."""
        if hop.redirect_count >= self.limits.max_redirects:
            raise ResponseStatusError(
                f"{hop.host} redirects more than {hop.redirect_count} times.", hint="Check the address."
            )
        if hop.url.scheme == "https" and url.scheme == "http" and "authorization" in hop.caller_headers:
            raise PrivateAddressError(
                f"{hop.host} redirects to an unencrypted address; the credentials were not sent.",
                hint="Check the source's address.",
            )
        return hop.redirected_to(url, permanent=permanent)


def _build_request(hop: Hop) -> httpx.Request:
    headers = [(b"host", hop.url.netloc), *_encode_headers({**hop.base_headers, **hop.caller_headers})]
    if hop.method == "POST":
        headers.append((b"content-length", str(len(hop.content)).encode()))
    # httpx adds headers of its own unless the body is a stream.
    return httpx.Request(hop.method, hop.url, headers=headers, stream=httpx.ByteStream(hop.content))


def _encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    try:
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    except UnicodeEncodeError:
        raise ResponseStatusError(
            "Cannot send the request: invalid header value.",
            hint="Check the source's credentials.",
        ) from None


@lru_cache(1_000)
def _parse_url(url: str) -> httpx.URL:
    """Parse and check a URL. Cached, because the same source URLs are fetched again and again."""
    with _refused_urls():
        return parse_url(url)


def _redirect_target(hop: Hop, status: int, headers: Headers) -> httpx.URL | None:
    with _refused_urls():
        return redirect_target(hop.url, status, headers)


@contextmanager
def _refused_urls() -> Iterator[None]:
    """Raise PrivateAddressError for a URL that must not be requested."""
    try:
        yield
    except UserInfoError as error:
        raise PrivateAddressError(
            f"The address at {error} contains a user name or password.", hint="Remove the part before the @."
        ) from None
    except UnusableUrlError:
        raise PrivateAddressError(
            "This is not a valid address.", hint="It must begin with https:// or http:// and a valid host."
        ) from None


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _is_same_origin(origin: httpx.URL, target: httpx.URL) -> bool:
    """Return True if both are one origin; an upgrade from http to https on the default ports counts as the same."""
    is_upgrade = (origin.scheme, origin.port, target.scheme, target.port) == ("http", None, "https", None)
    return origin.raw_host == target.raw_host and (
        is_upgrade or (origin.scheme == target.scheme and origin.port == target.port)
    )


def _forbidden_means_throttled(hop: Hop) -> bool:
    """Return True for Reddit without credentials, which answers 403 to throttled programs since 2026."""
    host = host_name(hop.url)
    return "authorization" not in hop.caller_headers and (host == "reddit.com" or host.endswith(".reddit.com"))
