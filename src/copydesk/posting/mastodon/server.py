"""One server: how it is asked, and what it says of itself."""

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
_LOGIN, _NO_TOKEN = frozenset({401, 403}), frozenset({401})
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?", re.IGNORECASE)
_NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2."
_PATH = re.compile(r"/[\w./~-]{1,200}", re.ASCII)


class Server:
    """A server, asked in the name of whoever has `token`."""

    def __init__(self, caller: Caller, address: str, clock: Callable[[], datetime], token: str = "") -> None:
        self.address = address
        self.host = urlsplit(address).netloc
        self.clock = clock
        self._caller = caller
        self._login = {"authorization": f"Bearer {token}"} if token else {}

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
        """Ask once; as Caller.ask."""
        sent = {**self._login, **(headers or {})}
        return await self._caller.ask(method, self.address + path, headers=sent, json=json, form=form, content=content)

    async def look(self, path: str) -> Answer:
        """Ask for what is there. NotSentError where no answer came: nothing is made by looking."""
        try:
            return await self.ask("GET", path)
        except UnknownOutcomeError as error:
            failed = NotSentError(error.message, hint=error.hint)
        raise failed

    async def read(self, path: str, kind: type[T]) -> T:
        """What is there, as `kind`; LoginError, NotSentError."""
        return self.understood(await self.look(path), kind)

    async def read_if_there(self, path: str, kind: type[T]) -> T | None:
        """The same; None where the server has no such thing, or means something else by it."""
        answer = await self.look(path)
        if answer.status != 429 and 400 <= answer.status < 500:
            return None
        if not answer.good:
            raise unread(answer, self.host, self.clock(), says=saying(answer))
        try:
            return answer.read(kind)
        except UnknownOutcomeError:
            return None

    def wrong(self, answer: Answer) -> PostingError:
        """What an answer that is no success means, for a request that makes something."""
        says = saying(answer)
        # A 403 without Mastodon's own words comes from a wall before it, which dislikes the text and not the account.
        return wrong(answer, self.host, self.clock(), says=says, login=_LOGIN if says else _NO_TOKEN)

    def understood(self, answer: Answer, kind: type[T]) -> T:
        """An answer to a request that makes no post, as `kind`; LoginError, NotSentError."""
        if not answer.good:
            raise unread(answer, self.host, self.clock(), says=saying(answer))
        try:
            return answer.read(kind)
        except UnknownOutcomeError:
            pass
        raise NotSentError(f"{self.host} does not answer as Mastodon's API does.", hint="Check the server's address.")


class About(Struct, frozen=True):
    """What a server says of itself."""

    domain: str
    """What stands in handles."""
    software: str
    """Name and version, `mastodon 4.6.1`; empty where it does not say."""
    longest: int | None
    """Characters of a status."""


async def about(server: Server) -> About:
    """What the server says of itself; NotSentError where nobody could ask."""
    instance = await server.read_if_there("/api/v2/instance", Instance)
    if instance is None:
        instance = await server.read_if_there("/api/v1/instance", Instance) or Instance()
    return About(
        domain=instance.domain.lower() if _DOMAIN.fullmatch(instance.domain) else server.host,
        software=await _software(server),
        longest=instance.configuration.statuses.max_characters or instance.max_toot_chars,
    )


async def _software(server: Server) -> str:
    """What NodeInfo says; wherever it says that it is, it is asked on the same server."""
    found = await server.read_if_there("/.well-known/nodeinfo", NodeInfoLinks)
    hrefs = [link.href for link in found.links if link.rel.startswith(_NODEINFO)] if found else []
    path = _path(hrefs[-1]) if hrefs else None
    info = await server.read_if_there(path, NodeInfo) if path else None
    if info is None:
        return ""
    return clean(f"{info.software.name.lower()} {info.software.version}").strip()[:LONGEST_SOFTWARE]


def _path(href: str) -> str | None:
    try:
        path = urlsplit(href).path
    except ValueError:
        return None
    return path if _PATH.fullmatch(path) else None


def address_of(given: str) -> str:
    """The server that the user means, as requests begin with it; RefusedPostError where it is none."""
    address = own_server(given).lower()
    if urlsplit(address).path:
        raise RefusedPostError("The address may have no path in it.", hint="Give it as https://social.example.")
    return address
