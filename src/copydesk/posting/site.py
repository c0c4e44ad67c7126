"""A server that is the user's own: its address, and how it is asked with the key to one account."""

from collections.abc import Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from copydesk.errors import CopydeskError
from copydesk.network.public import is_public
from copydesk.posting.http import Answer, Caller, said, unread, wrong
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError
from copydesk.text import links

T = TypeVar("T")

_LOGIN, _NO_KEY = frozenset({401, 403}), frozenset({401})


class Site:
    """A server, asked at addresses that begin with `base`, with the same `headers` each time."""

    def __init__(self, caller: Caller, base: str, headers: Mapping[str, str], now: datetime) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self._caller = caller
        self._headers = dict(headers)
        self._now = now

    def at(self, base: str) -> "Site":
        """Another address that takes the same key."""
        return Site(self._caller, base, self._headers, self._now)

    async def ask(
        self,
        method: str,
        path: str = "",
        *,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask once, for whatever answer; NotSentError, UnknownOutcomeError."""
        every = {**self._headers, **(headers or {})}
        address = self.base + path
        if params:
            address += f"{'&' if '?' in address else '?'}{urlencode(params)}"
        return await self._caller.ask(method, address, headers=every, json=json, content=content)

    async def make(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> T:
        """Ask for something that is seen: raises each of the four errors of posting."""
        answer = await self.ask(method, path, json=json, content=content, headers=headers, params=params)
        if not answer.good:
            raise self.wrong(answer)
        return answer.read(kind)

    async def ask_ahead(
        self,
        path: str,
        *,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Post what a post needs and is none itself; where the answer is lost, no post was made: NotSentError."""
        try:
            return await self.ask("POST", path, json=json, content=content, headers=headers, params=params)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None

    async def prepare(
        self,
        path: str,
        kind: type[T],
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> T:
        """As `ask_ahead`, for an answer that is good: RefusedPostError, LoginError, NotSentError."""
        answer = await self.ask_ahead(path, content=content, headers=headers, params=params)
        if not answer.good:
            raise self.not_ready(answer)
        try:
            return answer.read(kind)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None

    async def look(self, path: str, kind: type[T], *, params: Mapping[str, str] | None = None) -> T:
        """Read; LoginError, and NotSentError for everything else that is not the answer."""
        found = await self.seek(path, kind, params=params, missing=frozenset())
        assert found is not None
        return found

    async def seek(
        self,
        path: str,
        kind: type[T],
        *,
        params: Mapping[str, str] | None = None,
        missing: frozenset[int] = frozenset({404}),
    ) -> T | None:
        """As `look`; None where the platform itself says that there is no such thing, and not a server before it."""
        try:
            answer = await self.ask("GET", path, params=params)
            if answer.status in missing and explanation(answer):
                return None
            if answer.good:
                return answer.read(kind)
        except UnknownOutcomeError as error:
            raise NotSentError(f"{self.host} could not be read: {error.message}") from None
        raise self.unread(answer)

    def wrong(self, answer: Answer) -> PostingError:
        """What an answer that is no success means, for a request that makes something."""
        says = explanation(answer)
        # A 403 without the platform's own words comes from a wall before it, which dislikes the text, not the key.
        return wrong(answer, self.host, self._now, says=says, login=_LOGIN if says else _NO_KEY)

    def not_ready(self, answer: Answer) -> PostingError:
        """What an answer that is no success means, for a request for what a post needs."""
        error = self.wrong(answer)
        return NotSentError(error.message) if isinstance(error, UnknownOutcomeError) else error

    def unread(self, answer: Answer) -> CopydeskError:
        """What an answer that is no success means, for a request that only looks."""
        if 300 <= answer.status < 400 and (there := links.postable(answer.headers.get("location"))):
            hint = "Connect the account with that address."
            return NotSentError(f"{self.host} sends requests on to {said(there)}.", hint=hint)
        return unread(answer, self.host, self._now, says=explanation(answer))


class _Fault(msgspec.Struct, frozen=True):
    message: str = ""
    context: str | None = None


class _Faults(msgspec.Struct, frozen=True):
    message: str = ""
    error: str = ""
    error_description: str = ""
    errors: list[_Fault] = []


def explanation(answer: Answer) -> str:
    """What the platform says of an error; empty where it says nothing that can be read.

    WordPress has a `message`, Ghost a list of `errors`, Forem an `error`, Micropub an `error_description`.
    """
    try:
        found = msgspec.json.decode(answer.body, type=_Faults)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    if found.errors:
        first = found.errors[0]
        return f"{first.message} {first.context or ''}".strip()
    return found.message or found.error_description or found.error


def own_server(address: str) -> str:
    """`address` as the user gave it, without the slash at its end; RefusedPostError where it cannot be one.

    https, or http on this machine and its network; nothing in it but the host, the port and a path.
    """
    text = address.strip()
    if "://" not in text:
        text = f"https://{text}"
    parts = _split(text)
    if parts is None or not parts.hostname or not text.isprintable() or " " in text or "\\" in text:
        raise RefusedPostError("That is no address of a server.", hint="Give it as https://blog.example.com.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise RefusedPostError("The address may have no name, password, query or fragment in it.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _near(parts.hostname)):
        raise RefusedPostError("The address has to begin with https://, or your key could be read on the way.")
    return text.rstrip("/")


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        usable = parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def _near(host: str) -> bool:
    """Whether `host` is this machine or one of its network."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(str(ip_address(host)))
    except ValueError:
        return False


def shown(url: str) -> tuple[str, ...]:
    """`url`, where it can be shown as a link."""
    return (url,) if links.postable(url) else ()
