"""A server of the user's own: parsing its URL, and requests to it with the credentials of one account."""

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

_LOGIN_STATUSES, _UNAUTHORIZED = frozenset({401, 403}), frozenset({401})


class Site:
    """A REST API at a base URL; every request carries the same `headers`."""

    def __init__(self, caller: Caller, base: str, headers: Mapping[str, str], now: datetime) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self._client = caller
        self._headers = dict(headers)
        self._now = now

    def at(self, base: str) -> "Site":
        """Return a `Site` for another URL with the same credentials."""
        return Site(self._client, base, self._headers, self._now)

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
        """Send one request and return its response, whatever its status.

        Raise `NotSentError` or `UnknownOutcomeError`.
        """
        all_headers = {**self._headers, **(headers or {})}
        url = self.base + path
        if params:
            # A Micropub endpoint may have a query of its own.
            url += f"{'&' if '?' in url else '?'}{urlencode(params)}"
        return await self._client.ask(method, url, headers=all_headers, json=json, content=content)

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
        """Create something visible and return the decoded response. Raise any of the four posting errors."""
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
        """POST something that a post needs but that is no post itself, such as a tag or an image.

        Raise `NotSentError` instead of `UnknownOutcomeError`: if the response is lost, no post was created.
        """
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
        """Do the same as `post_prerequisite` and return the decoded response.

        Raise `RefusedPostError`, `LoginError` or `NotSentError`.
        """
        answer = await self.ask_ahead(path, content=content, headers=headers, params=params)
        if not answer.good:
            raise self.not_ready(answer)
        try:
            return answer.read(kind)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None

    async def look(self, path: str, kind: type[T], *, params: Mapping[str, str] | None = None) -> T:
        """GET and decode. Raise `LoginError`, or `NotSentError` for any other unusable response."""
        decoded = await self.seek(path, kind, params=params, missing=frozenset())
        assert decoded is not None
        return decoded

    async def seek(
        self,
        path: str,
        kind: type[T],
        *,
        params: Mapping[str, str] | None = None,
        missing: frozenset[int] = frozenset({404}),
    ) -> T | None:
        """GET and decode; return None for a status in `missing`.

        The status alone is not enough: the body must be the platform's own error, because a proxy in front of it may
        answer 404, too.
        """
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
        """Return the error that an unsuccessful response to a write request means."""
        message = explanation(answer)
        # A 403 without the platform's own error comes from a firewall in front of it, which objects to the text and
        # not to the credentials.
        return wrong(answer, self.host, self._now, says=message, login=_LOGIN_STATUSES if message else _UNAUTHORIZED)

    def not_ready(self, answer: Answer) -> PostingError:
        """Return the error that an unsuccessful response to a prerequisite request means."""
        error = self.wrong(answer)
        return NotSentError(error.message) if isinstance(error, UnknownOutcomeError) else error

    def unread(self, answer: Answer) -> CopydeskError:
        """Return the error that an unsuccessful response to a read request means."""
        if 300 <= answer.status < 400 and (location := links.postable(answer.headers.get("location"))):
            hint = "Connect the account with that address."
            return NotSentError(f"{self.host} sends requests on to {said(location)}.", hint=hint)
        return unread(answer, self.host, self._now, says=explanation(answer))


class _ErrorItem(msgspec.Struct, frozen=True):
    message: str = ""
    context: str | None = None


class _ErrorBody(msgspec.Struct, frozen=True):
    message: str = ""
    error: str = ""
    error_description: str = ""
    errors: list[_ErrorItem] = []


def explanation(answer: Answer) -> str:
    """Return the platform's error message; empty if there is none that can be decoded.

    WordPress sends `message`, Ghost a list of `errors`, Forem `error`, Micropub `error_description`.
    """
    try:
        body = msgspec.json.decode(answer.body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    if body.errors:
        first = body.errors[0]
        return f"{first.message} {first.context or ''}".strip()
    return body.message or body.error_description or body.error


def own_server(address: str) -> str:
    """Return the server URL that the user entered, without a trailing slash. Raise `RefusedPostError` if it is invalid.

    It must be https, or http on this machine or the local network, and contain nothing but host, port and path.
    """
    text = address.strip()
    if "://" not in text:
        text = f"https://{text}"
    parts = _split_url(text)
    # Browsers treat a backslash as a slash, so such a URL could name another host.
    if parts is None or not parts.hostname or not text.isprintable() or " " in text or "\\" in text:
        raise RefusedPostError("That is no address of a server.", hint="Give it as https://blog.example.com.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise RefusedPostError("The address may have no name, password, query or fragment in it.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_local(parts.hostname)):
        raise RefusedPostError("The address has to begin with https://, or your key could be read on the way.")
    return text.rstrip("/")


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


def shown(url: str) -> tuple[str, ...]:
    """Return `url` as the `urls` of a step result: a tuple of one, or empty if it is no usable link."""
    return (url,) if links.postable(url) else ()
