"""Requests to one Mastodon server, and its description of itself."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit

from copydesk.model.serialization import Struct
from copydesk.posting.client import PlatformClient, Response, error_for_read, error_for_write
from copydesk.posting.mastodon.api_models import Instance, NodeInfo, NodeInfoLinks, error_text
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError
from copydesk.posting.site import parse_server_url
from copydesk.text import clean

T = TypeVar("T")

MAX_SOFTWARE_LENGTH = 80
_LOGIN_STATUSES, _UNAUTHORIZED = frozenset({401, 403}), frozenset({401})
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?", re.IGNORECASE)
_NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2."
_PATH = re.compile(r"/[\w./~-]{1,200}", re.ASCII)


class Server:
    """A server; requests carry `token` if there is one."""

    def __init__(self, client: PlatformClient, url: str, clock: Callable[[], datetime], token: str = "") -> None:
        self.url = url
        self.host = urlsplit(url).netloc
        self.clock = clock
        self._client = client
        self._auth_headers = {"authorization": f"Bearer {token}"} if token else {}

    async def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Response:
        """Send one request, as `PlatformClient.request` does."""
        all_headers = {**self._auth_headers, **(headers or {})}
        return await self._client.request(
            method, self.url + path, headers=all_headers, json=json, form=form, content=content
        )

    async def get(self, path: str) -> Response:
        """Send a GET request. Raise `NotSentError` if there is no response: reading creates nothing."""
        try:
            return await self.request("GET", path)
        except UnknownOutcomeError as error:
            not_sent = NotSentError(error.message, hint=error.hint)
        raise not_sent

    async def get_json(self, path: str, response_type: type[T]) -> T:
        """GET and decode. Raise `LoginError` or `NotSentError`."""
        return self.decode(await self.get(path), response_type)

    async def get_json_or_none(self, path: str, response_type: type[T]) -> T | None:
        """GET and decode; return None if the server does not have the endpoint or uses it for something else."""
        answer = await self.get(path)
        # A 429 says nothing about the endpoint.
        if answer.status != 429 and 400 <= answer.status < 500:
            return None
        if not answer.is_success:
            raise error_for_read(answer, self.host, self.clock(), explanation=error_text(answer))
        try:
            return answer.decode(response_type)
        except UnknownOutcomeError:
            return None

    def error_for_write(self, response: Response) -> PostingError:
        """Return the error that an unsuccessful response to a write request means."""
        message = error_text(response)
        # A 403 without Mastodon's own error comes from a firewall in front of it, which objects to the text and not to
        # the account.
        return error_for_write(
            response,
            self.host,
            self.clock(),
            explanation=message,
            login_statuses=_LOGIN_STATUSES if message else _UNAUTHORIZED,
        )

    def decode(self, response: Response, response_type: type[T]) -> T:
        """Decode the response to a request that creates no post. Raise `LoginError` or `NotSentError`."""
        if not response.is_success:
            raise error_for_read(response, self.host, self.clock(), explanation=error_text(response))
        try:
            return response.decode(response_type)
        except UnknownOutcomeError:
            pass
        raise NotSentError(f"{self.host} does not respond like a Mastodon server.", hint="Check the server's address.")


class ServerInfo(Struct, frozen=True):
    """Properties of a server."""

    domain: str
    """The server part of handles."""
    software: str
    """Name and version, `mastodon 4.6.1`; empty if unknown."""
    max_characters: int | None
    """Maximum characters of a status."""


async def load_server_info(server: Server) -> ServerInfo:
    """Return the server's properties. Raise `NotSentError` if it could not be reached."""
    instance = await server.get_json_or_none("/api/v2/instance", Instance)
    if instance is None:
        # Version 1: Mastodon before 4.0, and most other servers.
        instance = await server.get_json_or_none("/api/v1/instance", Instance) or Instance()
    return ServerInfo(
        domain=instance.domain.lower() if _DOMAIN.fullmatch(instance.domain) else server.host,
        software=await _software_version(server),
        max_characters=instance.configuration.statuses.max_characters or instance.max_toot_chars,
    )


async def _software_version(server: Server) -> str:
    """Return name and version from NodeInfo. Only the path of its link is used: the request stays on this server."""
    nodeinfo_links = await server.get_json_or_none("/.well-known/nodeinfo", NodeInfoLinks)
    hrefs = [link.href for link in nodeinfo_links.links if link.rel.startswith(_NODEINFO)] if nodeinfo_links else []
    path = _safe_path(hrefs[-1]) if hrefs else None
    info = await server.get_json_or_none(path, NodeInfo) if path else None
    if info is None:
        return ""
    return clean(f"{info.software.name.lower()} {info.software.version}").strip()[:MAX_SOFTWARE_LENGTH]


def _safe_path(href: str) -> str | None:
    try:
        path = urlsplit(href).path
    except ValueError:
        return None
    return path if _PATH.fullmatch(path) else None


def parse_server_address(text: str) -> str:
    """Return the server's base URL from user input. Raise `RefusedPostError` if it is invalid."""
    address = parse_server_url(text).lower()
    if urlsplit(address).path:
        raise RefusedPostError("The address must not contain a path.", hint="Enter it as https://social.example.")
    return address
