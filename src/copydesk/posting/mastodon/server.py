"""Requests to one Mastodon server, and its description of itself."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit

from copydesk.model.wire import Struct
from copydesk.posting.http import Answer, Caller, unread, wrong
from copydesk.posting.mastodon.answers import Instance, NodeInfo, NodeInfoLinks, saying
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError
from copydesk.posting.site import own_server
from copydesk.text import clean

T = TypeVar("T")

LONGEST_SOFTWARE = 80
_LOGIN_STATUSES, _UNAUTHORIZED = frozenset({401, 403}), frozenset({401})
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?", re.IGNORECASE)
_NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2."
_PATH = re.compile(r"/[\w./~-]{1,200}", re.ASCII)


class Server:
    """A server; requests carry `token` if there is one."""

    def __init__(self, caller: Caller, address: str, clock: Callable[[], datetime], token: str = "") -> None:
        self.address = address
        self.host = urlsplit(address).netloc
        self.clock = clock
        self._client = caller
        self._auth_headers = {"authorization": f"Bearer {token}"} if token else {}

    async def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        """Send one request, as `PlatformClient.request` does."""
        all_headers = {**self._auth_headers, **(headers or {})}
        return await self._client.ask(
            method, self.address + path, headers=all_headers, json=json, form=form, content=content
        )

    async def look(self, path: str) -> Answer:
        """Send a GET request. Raise `NotSentError` if there is no response: reading creates nothing."""
        try:
            return await self.ask("GET", path)
        except UnknownOutcomeError as error:
            not_sent = NotSentError(error.message, hint=error.hint)
        raise not_sent

    async def read(self, path: str, kind: type[T]) -> T:
        """GET and decode. Raise `LoginError` or `NotSentError`."""
        return self.understood(await self.look(path), kind)

    async def read_if_there(self, path: str, kind: type[T]) -> T | None:
        """GET and decode; return None if the server does not have the endpoint or uses it for something else."""
        answer = await self.look(path)
        # A 429 says nothing about the endpoint.
        if answer.status != 429 and 400 <= answer.status < 500:
            return None
        if not answer.good:
            raise unread(answer, self.host, self.clock(), says=saying(answer))
        try:
            return answer.read(kind)
        except UnknownOutcomeError:
            return None

    def wrong(self, answer: Answer) -> PostingError:
        """Return the error that an unsuccessful response to a write request means."""
        message = saying(answer)
        # A 403 without Mastodon's own error comes from a firewall in front of it, which objects to the text and not to
        # the account.
        return wrong(answer, self.host, self.clock(), says=message, login=_LOGIN_STATUSES if message else _UNAUTHORIZED)

    def understood(self, answer: Answer, kind: type[T]) -> T:
        """Decode the response to a request that creates no post. Raise `LoginError` or `NotSentError`."""
        if not answer.good:
            raise unread(answer, self.host, self.clock(), says=saying(answer))
        try:
            return answer.read(kind)
        except UnknownOutcomeError:
            pass
        raise NotSentError(f"{self.host} does not answer as Mastodon's API does.", hint="Check the server's address.")


class About(Struct, frozen=True):
    """Properties of a server."""

    domain: str
    """The server part of handles."""
    software: str
    """Name and version, `mastodon 4.6.1`; empty if unknown."""
    longest: int | None
    """Maximum characters of a status."""


async def about(server: Server) -> About:
    """Return the server's properties. Raise `NotSentError` if it could not be reached."""
    instance = await server.read_if_there("/api/v2/instance", Instance)
    if instance is None:
        # Version 1: Mastodon before 4.0, and most other servers.
        instance = await server.read_if_there("/api/v1/instance", Instance) or Instance()
    return About(
        domain=instance.domain.lower() if _DOMAIN.fullmatch(instance.domain) else server.host,
        software=await _software_version(server),
        longest=instance.configuration.statuses.max_characters or instance.max_toot_chars,
    )


async def _software_version(server: Server) -> str:
    """Return name and version from NodeInfo. Only the path of its link is used: the request stays on this server."""
    nodeinfo_links = await server.read_if_there("/.well-known/nodeinfo", NodeInfoLinks)
    hrefs = [link.href for link in nodeinfo_links.links if link.rel.startswith(_NODEINFO)] if nodeinfo_links else []
    path = _safe_path(hrefs[-1]) if hrefs else None
    info = await server.read_if_there(path, NodeInfo) if path else None
    if info is None:
        return ""
    return clean(f"{info.software.name.lower()} {info.software.version}").strip()[:LONGEST_SOFTWARE]


def _safe_path(href: str) -> str | None:
    try:
        path = urlsplit(href).path
    except ValueError:
        return None
    return path if _PATH.fullmatch(path) else None


def address_of(given: str) -> str:
    """Return the server's base URL from user input. Raise `RefusedPostError` if it is invalid."""
    address = own_server(given).lower()
    if urlsplit(address).path:
        raise RefusedPostError("The address may have no path in it.", hint="Give it as https://social.example.")
    return address
