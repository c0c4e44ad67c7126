"""The guarded HTTP client: everything that Copydesk reads from outside comes through it.

For our sake: public addresses only, a deadline for the whole of a fetch, bodies within bounds, redirects checked one by
one. For the sake of the others: conditional requests, one at a time for each host, and no request before the time that
a host asked for.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import httpx

from copydesk import __version__
from copydesk.errors import AnswerError, RefusedAddressError
from copydesk.ingest.answer import Answer, answer, host_wait, refusal
from copydesk.ingest.hosts import Hosts
from copydesk.model.wire import Struct
from copydesk.network.body import read_body
from copydesk.network.headers import header_map
from copydesk.network.transport import FAILURES, GuardedTransport, failure

MiB = 2**20
MAX_ADDRESS = 4096
"""Characters of an address, also of one that a server redirects to."""

_SUCCESS = (200, 201, 203, 226)
_PERMANENT = (301, 308)
_REDIRECT = (301, 302, 303, 307, 308)
_HOST = re.compile(rb"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")
"""A name or an address; httpx lets through what is neither."""
_FORM = "application/x-www-form-urlencoded"


class Limits(Struct, frozen=True):
    """How far the client goes."""

    timeout: float = 30.0
    """Seconds on the network for one fetch, redirects included; waiting for one's turn does not count."""
    max_wire: int = 4 * MiB
    """Bytes of a packed body."""
    max_body: int = 10 * MiB
    """Bytes of a body once it is unpacked."""
    redirects: int = 5
    concurrency: int = 16
    """Requests under way at once."""
    allow_private: bool = False
    """Let sources be on this machine and the local network."""
    user_agent: str = f"Copydesk/{__version__}"


class Hop(Struct, frozen=True):
    """One request of a fetch."""

    method: str
    url: httpx.URL
    own: dict[str, str]
    """The headers that go to whichever host answers."""
    theirs: dict[str, str]
    """The caller's headers, credentials among them: for the first host alone."""
    content: bytes = b""
    permanent: bool = True
    """Whether every redirect so far was a permanent one."""
    count: int = 0
    """Redirects so far."""

    @property
    def host(self) -> str:
        """The host as in `cooldowns` and in messages: its name, with the port where that is not the usual one."""
        return self.url.netloc.decode("ascii")

    @property
    def conditional(self) -> bool:
        """Whether it may be answered with 304."""
        return "if-none-match" in self.own or "if-modified-since" in self.own

    def to(self, url: httpx.URL, *, permanent: bool) -> "Hop":
        """The request that follows a redirect to `url`."""
        return Hop(
            method=self.method,
            url=url,
            own=self.own,
            theirs=self.theirs if _same_place(self.url, url) else {},
            permanent=self.permanent and permanent,
            count=self.count + 1,
        )


class Fetcher:
    """Reads what sources answer. An async context manager, for one event loop.

    With a `transport` the requests go through it instead of the network: addresses are not checked then, everything
    else holds. Whoever gives it closes it.
    """

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        *,
        clock: Callable[[], datetime],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._hosts = Hosts(clock)
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._given = transport is not None
        self._transport = transport or GuardedTransport(
            allow_private=limits.allow_private, concurrency=limits.concurrency
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._given:
            await self._transport.aclose()

    @property
    def cooldowns(self) -> dict[str, datetime]:
        """Until when which host is to be left alone; to be kept, and set again, over a restart."""
        return self._hosts.cooldowns

    @cooldowns.setter
    def cooldowns(self, kept: Mapping[str, datetime]) -> None:
        self._hosts.cooldowns = dict(kept)

    async def get(
        self,
        url: str,
        *,
        accept: str,
        etag: str | None = None,
        last_modified: str | None = None,
        headers: Mapping[str, str] = {},
        host_gap: float = 0.0,
    ) -> Answer:
        """What is at `url`; conditional where a validator is given.

        `headers` go to this host only, not to another one that it redirects to. `host_gap` is how many seconds must
        have passed since the last request to a host. Raises FetchError, with the class that says what happened.
        """
        own = self._own(accept)
        own["a-im"] = "feed"
        if etag:
            own["if-none-match"] = etag
        if last_modified:
            own["if-modified-since"] = last_modified
        return await self._fetch(Hop(method="GET", url=_address(url), own=own, theirs=_lower(headers)), host_gap)

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Answer:
        """The answer to a form, such as a request for a token. Redirects are not followed. Raises FetchError."""
        hop = Hop(
            method="POST",
            url=_address(url),
            own={**self._own("application/json"), "content-type": _FORM},
            theirs=_lower(headers),
            content=urlencode(data).encode(),
        )
        return await self._fetch(hop, 0.0)

    def _own(self, accept: str) -> dict[str, str]:
        return {"user-agent": self.limits.user_agent, "accept": accept, "accept-encoding": "gzip, deflate"}

    async def _fetch(self, hop: Hop, host_gap: float) -> Answer:
        """Ask, and follow redirects, until there is an answer."""
        left = self.limits.timeout
        while True:
            async with self._hosts.turn(hop.host, host_gap), self._slots:
                began = asyncio.get_running_loop().time()
                got = await self._in_time(hop, left)
            if isinstance(got, Answer):
                return got
            left -= asyncio.get_running_loop().time() - began
            hop = got

    async def _in_time(self, hop: Hop, seconds: float) -> Answer | Hop:
        """The answer or the next hop, within `seconds`: each single read may be quick in a fetch that never ends."""
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(hop)
        except FAILURES as error:
            raise failure(error, hop.host) from error

    async def _ask(self, hop: Hop) -> Answer | Hop:
        response = await self._transport.handle_async_request(_request(hop))
        assert isinstance(response.stream, httpx.AsyncByteStream)
        try:
            return await self._take(hop, response)
        finally:
            await response.stream.aclose()

    async def _take(self, hop: Hop, response: httpx.Response) -> Answer | Hop:
        """What the response means; its body is read only where it is wanted."""
        status, headers, now = response.status_code, header_map(response.headers.raw), self._clock()
        wait = host_wait(status, headers, now, shy=_answers_403_for_429(hop))
        if wait is not None:
            self._hosts.cool(hop.host, wait)
        if status in _REDIRECT and "location" in headers and hop.method == "GET":
            return self._next(hop, headers["location"], permanent=status in _PERMANENT)
        if status not in _SUCCESS and not (status == 304 and hop.conditional):
            raise refusal(status, headers, hop.host, wait, now)
        body = b"" if status == 304 else await self._body(hop, response, headers)
        moved_to = str(hop.url) if hop.count and hop.permanent else None
        return answer(str(hop.url), status, headers, body, now, moved_to)

    async def _body(self, hop: Hop, response: httpx.Response, headers: Mapping[str, str]) -> bytes:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return await read_body(
            response.stream,
            host=hop.host,
            encoding=headers.get("content-encoding", ""),
            length=headers.get("content-length", ""),
            max_wire=self.limits.max_wire,
            max_body=self.limits.max_body,
        )

    def _next(self, hop: Hop, location: str, *, permanent: bool) -> Hop:
        """The request that a redirect asks for, if it may be made."""
        if hop.count >= self.limits.redirects:
            raise AnswerError(f"{hop.host} redirects more than {hop.count} times.", hint="Check the address.")
        # Servers send UTF-8 there although only ASCII is allowed.
        target = location.encode("latin-1").decode("utf-8", "replace")
        try:
            url = _checked(hop.url.join(target))
        except httpx.InvalidURL:
            raise _no_address() from None
        if hop.url.scheme == "https" and url.scheme == "http" and "authorization" in hop.theirs:
            raise RefusedAddressError(
                f"{hop.host} redirects to an address without encryption; the credentials were not sent there.",
                hint="Check the source's address.",
            )
        return hop.to(url, permanent=permanent)


def _request(hop: Hop) -> httpx.Request:
    headers = [(b"host", hop.url.netloc), *_encoded({**hop.own, **hop.theirs})]
    if hop.method == "POST":
        headers.append((b"content-length", str(len(hop.content)).encode()))
    # With a stream httpx adds no headers of its own.
    return httpx.Request(hop.method, hop.url, headers=headers, stream=httpx.ByteStream(hop.content))


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    try:
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    except UnicodeEncodeError:
        raise AnswerError(
            "The request cannot be sent: a header holds what may not stand there.",
            hint="Check the source's credentials.",
        ) from None


@lru_cache(1_000)
def _address(url: str) -> httpx.URL:
    """The address, taken apart once: those of the sources are asked for again and again."""
    try:
        return _checked(httpx.URL(url))
    except httpx.InvalidURL:
        raise _no_address() from None


def _checked(url: httpx.URL) -> httpx.URL:
    """`url` without its fragment, if it is one that is read at all; raises RefusedAddressError."""
    known = url.scheme in ("http", "https") and _HOST.fullmatch(url.raw_host)
    port = 80 if url.port is None else url.port
    if not known or not 0 < port < 65536 or len(url.raw_path) > MAX_ADDRESS:
        raise _no_address()
    if url.userinfo:
        raise RefusedAddressError(
            f"The address at {url.raw_host.decode('ascii')} holds a user name or a password.",
            hint="Leave out what stands before the @.",
        )
    return url.copy_with(fragment=None) if url.fragment else url


def _no_address() -> RefusedAddressError:
    return RefusedAddressError("This is no address that can be read.", hint="It must begin with https:// or http://.")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _same_place(here: httpx.URL, there: httpx.URL) -> bool:
    """Whether `there` is the same host, at the same port or at the one that https has by itself."""
    upgraded = (here.scheme, here.port, there.scheme, there.port) == ("http", None, "https", None)
    return here.raw_host == there.raw_host and (upgraded or (here.scheme == there.scheme and here.port == there.port))


def _answers_403_for_429(hop: Hop) -> bool:
    """Reddit does, since 2026, to programs that come without credentials."""
    name = hop.url.host
    return "authorization" not in hop.theirs and (name == "reddit.com" or name.endswith(".reddit.com"))
