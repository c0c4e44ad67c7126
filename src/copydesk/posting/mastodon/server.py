"""Requests to one Mastodon server: its description of itself, and browser sign-in with an OAuth 2 code.

Responses are reduced to the fields that are used (docs.joinmastodon.org/entities). Sign-in follows
docs.joinmastodon.org/spec/oauth, RFC 7636 and RFC 8252.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar, Unpack
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from copydesk.model.delivery import Evidence, StepResult
from copydesk.model.serialization import Struct
from copydesk.posting import oauth
from copydesk.posting.client import (
    PlatformClient,
    RequestOptions,
    Response,
    as_repeatable,
    error_for_read,
    error_for_write,
    shorten,
)
from copydesk.posting.platform import (
    LoginError,
    NotSentError,
    PostingError,
    RefusedPostError,
    SignIn,
    UnknownOutcomeError,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import parse_server_url
from copydesk.text import clean
from copydesk.text.links import postable_url

Id = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_-]{1,64}\Z")]
"""Numbers on Mastodon, ULIDs on GoToSocial. Restricted because ids become part of URLs."""
Secret = Annotated[str, Meta(min_length=1, max_length=4096)]

T = TypeVar("T")

MAX_SOFTWARE_LENGTH = 80
_LOGIN_STATUSES, _UNAUTHORIZED = frozenset({401, 403}), frozenset({401})
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?", re.IGNORECASE)
_NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2."
_PATH = re.compile(r"/[\w./~-]{1,200}", re.ASCII)

SCOPES = "read:accounts read:statuses write:statuses write:media"
"""The minimum that posting and metrics need."""
MANUAL_REDIRECT_URI = PLATFORMS["mastodon"].manual_redirect_uri
"""Redirect URI that makes the server show the code to the user."""

_CLIENT_NAME = "Copydesk"


class ApiModel(msgspec.Struct, frozen=True):
    """Base of all response types; unknown fields are ignored."""


class CreatedStatus(ApiModel, frozen=True):
    """A status that was just created."""

    id: Id
    url: str | None = None


class Status(ApiModel, frozen=True):
    """A status in an account's list."""

    id: Id
    created_at: Annotated[datetime, Meta(tz=True)]
    url: str | None = None
    in_reply_to_id: str | None = None
    content: str = ""
    """HTML."""
    text: str | None = None
    """The source text; only GoToSocial includes it, for the author."""
    reblog: object = None
    visibility: str = ""


class StatusSource(ApiModel, frozen=True):
    """The source text of a status."""

    text: str


class StatusCounts(ApiModel, frozen=True):
    """The counters of a status."""

    id: Id
    favourites_count: int | None = None
    replies_count: int | None = None
    reblogs_count: int | None = None


class MediaAttachment(ApiModel, frozen=True):
    """An uploaded image."""

    id: Id


class CredentialAccount(ApiModel, frozen=True):
    """The account that the token belongs to."""

    id: Id
    username: Annotated[str, Meta(pattern=r"\A[\w.-]{1,200}\Z")]


class ClientApplication(ApiModel, frozen=True):
    """Copydesk's registration as a client of the server."""

    client_id: Secret
    client_secret: Secret


class Token(ApiModel, frozen=True):
    """The response to a code."""

    access_token: Secret


class OAuthMetadata(ApiModel, frozen=True):
    """The server's OAuth metadata (RFC 8414); Mastodon has it since 4.3."""

    code_challenge_methods_supported: tuple[str, ...] = ()


class StatusLimits(ApiModel, frozen=True):
    """Limits of a status."""

    max_characters: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class Configuration(ApiModel, frozen=True):
    """The server's configuration."""

    statuses: StatusLimits = StatusLimits()


class Instance(ApiModel, frozen=True):
    """The server's description in version 1 or 2 of the API."""

    domain: str = ""
    """The part of a handle after the second @; missing in version 1."""
    configuration: Configuration = Configuration()
    max_toot_chars: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Pleroma's field in version 1."""


class NodeInfoLink(ApiModel, frozen=True):
    """The location of one version of NodeInfo."""

    rel: str
    href: str


class NodeInfoLinks(ApiModel, frozen=True):
    """The locations of NodeInfo."""

    links: tuple[NodeInfoLink, ...] = ()


class Software(ApiModel, frozen=True):
    """The server's software."""

    name: str
    version: str = ""


class NodeInfo(ApiModel, frozen=True):
    """The server's description of itself (nodeinfo.diaspora.software)."""

    software: Software


class _ErrorBody(ApiModel, frozen=True):
    error: str = ""
    error_description: str = ""


def error_text(response: Response) -> str:
    """Return the server's error message; empty if there is none."""
    body = response.decode_or(_ErrorBody())
    return body.error_description or body.error


def step_result(status: CreatedStatus | Status, evidence: Evidence) -> StepResult:
    """Return the step result of a status; its URL is left out if it is no usable link."""
    url = postable_url(status.url)
    return StepResult(ids=(status.id,), urls=(url,) if url else (), evidence=evidence)


class Server:
    """A server; requests carry `token` if there is one."""

    def __init__(self, client: PlatformClient, url: str, clock: Callable[[], datetime], token: str = "") -> None:
        self.url = url
        self.host = urlsplit(url).netloc
        self.clock = clock
        self._client = client
        self._auth_headers = {"authorization": f"Bearer {token}"} if token else {}

    async def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Send one request, as `PlatformClient.request` does."""
        options["headers"] = {**self._auth_headers, **options.get("headers", {})}
        return await self._client.request(method, self.url + path, **options)

    async def get(self, path: str) -> Response:
        """Send a GET request. Raise `NotSentError` if there is no response: reading creates nothing."""
        return await as_repeatable(self.request("GET", path))

    async def get_json(self, path: str, response_type: type[T]) -> T:
        """GET and decode. Raise `LoginError` or `NotSentError`."""
        return self.decode(await self.get(path), response_type)

    async def get_json_or_none(self, path: str, response_type: type[T]) -> T | None:
        """GET and decode; return None if the server does not have the endpoint or uses it for something else."""
        response = await self.get(path)
        # A 429 says nothing about the endpoint.
        if response.status != 429 and 400 <= response.status < 500:
            return None
        if not response.is_success:
            raise error_for_read(response, self.host, self.clock(), explanation=error_text(response))
        try:
            return response.decode(response_type)
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
    address = parse_server_url(text)
    if urlsplit(address).path:
        raise RefusedPostError("The address must not contain a path.", hint="Enter it as https://social.example.")
    return address


async def start_sign_in(server: Server, redirect_uri: str) -> SignIn:
    """Register Copydesk with the server and return the sign-in. Raise `LoginError` or `NotSentError`."""
    # Register for every sign-in: the redirect URI contains a random port.
    form = {"client_name": _CLIENT_NAME, "redirect_uris": redirect_uri, "scopes": SCOPES}
    app = await _post_form(server, "/api/v1/apps", form, ClientApplication)
    context = {"client_id": app.client_id, "client_secret": app.client_secret}
    sign_in = oauth.start_sign_in(
        f"{server.url}/oauth/authorize",
        client_id=app.client_id,
        redirect_uri=redirect_uri,
        scope=SCOPES,
        pkce=await _supports_pkce(server),
        context=context,
    )
    # The page that shows the code does not show the state.
    return replace(sign_in, state="") if redirect_uri == MANUAL_REDIRECT_URI else sign_in


async def exchange_code(server: Server, sign_in: SignIn, code: str) -> dict[str, str]:
    """Exchange the code for the account's credentials. Raise `LoginError` or `NotSentError`."""
    form = {
        "grant_type": "authorization_code",
        "code": code.strip(),
        "redirect_uri": sign_in.redirect_uri,
        "scope": SCOPES,
    }
    token = await _post_form(server, "/oauth/token", {**form, **sign_in.context}, Token)
    return {"token": token.access_token, **{name: sign_in.context[name] for name in ("client_id", "client_secret")}}


async def revoke(server: Server, credentials: dict[str, str]) -> None:
    """Revoke the token. Raise `NotSentError` if that failed."""
    try:
        response = await server.request("POST", "/oauth/revoke", form=credentials)
        if response.is_success:
            return
    except UnknownOutcomeError:
        pass
    raise NotSentError(
        f"{server.host} did not revoke Copydesk's access.",
        hint="Revoke it in your account settings under authorized apps.",
    )


async def _post_form(server: Server, path: str, form: dict[str, str], kind: type[T]) -> T:
    """Post a form and decode the response. A rejected form is a failed sign-in."""
    response = await as_repeatable(server.request("POST", path, form=form))
    if response.status in (400, 401, 403, 422):
        raise LoginError(f"{server.host} denied access{_reason_suffix(error_text(response))}.", hint="Try again.")
    return server.decode(response, kind)


def _reason_suffix(message: str) -> str:
    return f": {shorten(message).rstrip('.')}" if message.strip() else ""


async def _supports_pkce(server: Server) -> bool:
    """Return True if the server supports PKCE. Servers that do not may reject a code requested with it."""
    metadata = await server.get_json_or_none("/.well-known/oauth-authorization-server", OAuthMetadata)
    return metadata is not None and "S256" in metadata.code_challenge_methods_supported
