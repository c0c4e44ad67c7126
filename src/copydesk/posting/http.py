"""Asks a platform over HTTP, and tells apart what certainly came to nothing from what may have made something.

No redirects are followed, nothing is asked twice, and no token is in an error: errors keep neither the request nor the
answer they are about.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from copydesk import __version__
from copydesk.errors import CopydeskError
from copydesk.model.wire import Struct
from copydesk.network.headers import Headers, named, retry_after, used_up
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    LoginError,
    NotSentError,
    PostingError,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.text import clean

if TYPE_CHECKING:
    import httpx

    from copydesk.posting.exchange import Said

T = TypeVar("T")

ASKING = 30.0
"""Seconds until the whole of an answer is there."""
LONGEST_SAYING = 300
"""Characters of what a platform says of an error that the user is shown."""
USUAL_WAIT = timedelta(minutes=15)
"""Where a platform says "too many requests" and not how long."""

_LOGIN = frozenset({401, 403})
_REFUSED = frozenset({400, 404, 413, 415, 422})
"""Documented by each platform as answers of something that was looked at and not made."""


class Answer(Struct, frozen=True):
    """What a server said."""

    status: int
    headers: Headers
    """With lower-case names."""
    body: bytes

    @property
    def good(self) -> bool:
        """Whether the server did what it was asked."""
        return 200 <= self.status < 300

    def read(self, kind: type[T]) -> T:
        """The body as `kind`. UnknownOutcomeError where it is something else: then it is not known what was done."""
        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise UnknownOutcomeError("The answer cannot be read.") from None


class Transport(Protocol):
    """What carries a request to a server and its answer back: one of httpx, or what stands in for one."""

    async def handle_async_request(self, request: "httpx.Request", /) -> "httpx.Response":
        """The answer to `request`."""
        ...


class Caller:
    """Asks servers for one platform, over `transport`: the guarded one, or whatever stands in for the network."""

    def __init__(self, transport: Transport, *, asking: float = ASKING) -> None:
        self._transport = transport
        self._asking = asking
        self._exchange: Callable[..., Awaitable[Said]] | None = None

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask once. `json` is sent as JSON, `form` as a form, `content` as it is.

        NotSentError where not a byte left, UnknownOutcomeError where no answer came to the end. An answer is an
        answer, whatever its status: `wrong` says what it means.
        """
        address = f"{url}?{urlencode(params)}" if params else url
        sent = {"user-agent": f"Copydesk/{__version__}", "accept": "application/json", **(headers or {})}
        if json is not None:
            sent["content-type"], content = "application/json", msgspec.json.encode(json)
        elif form is not None:
            sent["content-type"], content = "application/x-www-form-urlencoded", urlencode(form).encode()
        if self._exchange is None:
            # httpx takes a while to import: not before something is sent, and not where somebody is typing.
            self._exchange = (await asyncio.to_thread(import_module, "copydesk.posting.exchange")).exchange
        host = urlsplit(url).netloc
        status, answered, body = await self._exchange(
            self._transport, method, address, host, _proper(sent), content or b"", self._asking
        )
        return Answer(status=status, headers=answered, body=body)


def wrong(answer: Answer, host: str, now: datetime, *, says: str = "", login: frozenset[int] = _LOGIN) -> PostingError:
    """What an answer that is no success means, for a request that makes something.

    `says` is the platform's own explanation; `login` are the statuses that speak of the account and not of the post.
    Everything that is not known to mean that nothing was made means that it is not known.
    """
    explained = f"{host} says: {sentence(says)}" if says.strip() else f"{host} answered with {named(answer.status)}."
    if answer.status in login:
        return LoginError(explained, hint=CONNECT_AGAIN)
    if answer.status == 429:
        return NotSentError(explained, retry_after=when_again(answer.headers, now) or now + USUAL_WAIT)
    if answer.status in _REFUSED or answer.status == 403:
        return RefusedPostError(explained)
    return UnknownOutcomeError(explained)


def unread(answer: Answer, host: str, now: datetime, *, says: str = "") -> CopydeskError:
    """What an answer that is no success means, for a request that only looks: nothing was made by it."""
    found = wrong(answer, host, now, says=says)
    if isinstance(found, LoginError | NotSentError):
        return found
    return NotSentError(found.message, retry_after=when_again(answer.headers, now))


def when_again(headers: Headers, now: datetime) -> datetime | None:
    """When the server wants to be asked again, where it says so: Retry-After, else the rate limit's own headers."""
    wait = retry_after(headers, now)
    if wait is None:
        wait = used_up(headers, now)
    if wait is None and (reset := headers.get("ratelimit-reset", "")).isdecimal():
        left = int(reset[:12]) - now.timestamp()
        wait = left if 0 < left < timedelta(days=1).total_seconds() else None
    if wait is None and headers.get("x-ratelimit-remaining") == "0":
        wait = _until(headers.get("x-ratelimit-reset", ""), now)
    return None if wait is None else (now + timedelta(seconds=wait)).astimezone(UTC)


def _until(moment: str, now: datetime) -> float | None:
    """Seconds until a time as Mastodon has it, `2026-02-10T09:05:00.000000Z`; None where it is none, or not soon."""
    try:
        left = (datetime.fromisoformat(moment[:40]) - now).total_seconds()
    except (ValueError, TypeError):
        return None
    return left if 0 < left < timedelta(days=1).total_seconds() else None


def said(text: str) -> str:
    """What a server said, fit for one line of ours: it may be anything."""
    line = clean(text[: 4 * LONGEST_SAYING]).strip()
    return line if len(line) <= LONGEST_SAYING else line[: LONGEST_SAYING - 1] + "…"


def sentence(text: str) -> str:
    """What a server said, as a sentence that another one can follow."""
    line = said(text)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _proper(headers: Mapping[str, str]) -> dict[str, str]:
    """`headers`, where each of them is one: a line end in a token would begin the next header."""
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise NotSentError(
            "The request cannot be sent: a header holds what may not stand there.", hint="Check the key."
        )
    return dict(headers)
