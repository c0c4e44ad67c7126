"""Authenticated requests to a PDS. The access token lasts two hours and is refreshed with a token that lasts weeks.

App passwords may be used 30 times in five minutes and 300 times a day, so they are the last resort. A refreshed pair is
stored before it is used; a process killed in between can use the old refresh token for two more hours.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from copydesk.errors import CopydeskError
from copydesk.model.serialization import Struct
from copydesk.posting.client import (
    PlatformClient,
    Response,
    as_repeatable,
    as_sentence,
    error_for_read,
    error_for_write,
)
from copydesk.posting.platform import (
    RECONNECT_HINT,
    Account,
    CredentialStore,
    LoginError,
    NotSentError,
    PostingError,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.posting.site import parse_server_url

T = TypeVar("T")

PASSWORD, REFRESH = "password", "refresh"
"""Names of an account's credentials."""
_PDS_SERVICE_ID = "#atproto_pds"
_EXPIRED_TOKEN_ERRORS = frozenset({"ExpiredToken", "InvalidToken"})
_ACCOUNT_ERRORS = _EXPIRED_TOKEN_ERRORS | {
    "AuthMissing",
    "AuthenticationRequired",
    "AuthFactorTokenRequired",
    "AccountTakedown",
    "AccountDeactivated",
    "RepoTakendown",
    "RepoSuspended",
    "RepoDeactivated",
}
"""Errors that concern the account, whatever their status: an expired token is answered with 400."""
_RECONNECT_HINT = "Create a new app password in Bluesky's settings, then connect the account again."


class Session(Struct, frozen=True):
    """The response of createSession, refreshSession and getSession."""

    did: str
    handle: str
    access_jwt: str = ""
    refresh_jwt: str = ""
    did_doc: dict[str, object] | None = None
    active: bool = True


class XrpcErrorBody(Struct, frozen=True):
    """The error format of a PDS."""

    error: str = ""
    message: str = ""


class SessionClient:
    """Sessions of accounts. Access tokens are kept in memory only."""

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock
        self._access_tokens: dict[tuple[str, str], str] = {}
        self._refresh_locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def request(
        self,
        account: Account,
        method: str,
        name: str,
        *,
        json: object = None,
        content: bytes | None = None,
        media_type: str = "",
        query: Sequence[tuple[str, str]] = (),
    ) -> Response:
        """Send a request for the account.

        If the access token has expired, refresh it and send the request once more: the first one did nothing.
        """
        url = f"{account.server}/xrpc/{name}" + (f"?{urlencode(query)}" if query else "")
        extra_headers = {"content-type": media_type} if media_type else {}

        async def send(token: str) -> Response:
            headers = {**_bearer(token), **extra_headers}
            return await self._client.request(method, url, json=json, content=content, headers=headers)

        token = await self._access_token(account, "")
        response = await send(token)
        return await send(await self._access_token(account, token)) if _is_token_expired(response) else response

    async def get(
        self, account: Account, name: str, response_type: type[T], query: Sequence[tuple[str, str]] = ()
    ) -> T:
        """Send a GET request and return the decoded response. Raise `LoginError` or `NotSentError`."""
        try:
            response = await self.request(account, "GET", name, query=query)
            if response.is_success:
                return response.decode(response_type)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None
        raise self.error_for_read(account.server, response)

    async def sign_in(self, server: str, identifier: str, password: str) -> Session:
        """Create a session with a password. Raise `LoginError` or `NotSentError`."""
        credentials = {"identifier": identifier, "password": password}
        response = await self._request_session(server, "createSession", {}, credentials)
        if not response.is_success:
            fault = decode_error(response)
            if response.status in (400, 401, 403) and fault.error:
                host = urlsplit(server).netloc
                raise LoginError(f"{host} says: {as_sentence(fault.message or fault.error)}", hint=_RECONNECT_HINT)
            raise self.error_for_read(server, response)
        return _decode_session(response)

    def error_for_write(self, server: str, response: Response) -> PostingError:
        """Return the error that an unsuccessful response to a write request means."""
        return login_error(server, response) or error_for_write(
            response, urlsplit(server).netloc, self._clock(), explanation=_error_text(response)
        )

    def error_for_read(self, server: str, response: Response) -> CopydeskError:
        """Return the error that an unsuccessful response to a request means that creates no post."""
        return login_error(server, response) or error_for_read(
            response, urlsplit(server).netloc, self._clock(), explanation=_error_text(response)
        )

    async def _access_token(self, account: Account, stale: str) -> str:
        """Return an access token that is not `stale`. Of several concurrent callers, one refreshes it."""
        key = (account.server, account.id)
        async with self._refresh_locks.setdefault(key, asyncio.Lock()):
            token = self._access_tokens.get(key, "")
            # Another caller may have refreshed it while this one waited for the lock.
            if token in ("", stale):
                token = await self._refresh(account)
                self._access_tokens[key] = token
            return token

    async def _refresh(self, account: Account) -> str:
        credentials = await self._credential_store.read(account)
        # The refresh token first: sign-ins with an app password are rate-limited.
        session = await self._refresh_session(account, credentials)
        if session is None:
            if not credentials.get(PASSWORD):
                raise LoginError(f"No password for {account.name}.", hint=_RECONNECT_HINT)
            session = await self.sign_in(account.server, account.id, credentials[PASSWORD])
        # A handle can be reassigned: never post to whoever owns it now.
        if session.did != account.id:
            raise LoginError(f"{account.name} now belongs to another account.", hint="Connect it again.")
        # Stored before the session is used, because each refresh replaces the token.
        if session.refresh_jwt:
            await self._save_credentials(account, {**credentials, REFRESH: session.refresh_jwt})
        return session.access_jwt

    async def _save_credentials(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Store the credentials for the next sign-in.

        A read-only store, such as a server's environment, is no error as long as it has the password.
        """
        try:
            await self._credential_store.save(account, secrets)
        except NotSentError:
            if not secrets.get(PASSWORD):
                raise

    async def _refresh_session(self, account: Account, credentials: Mapping[str, str]) -> Session | None:
        """Return a new session for the stored refresh token; None if the token is not accepted any more."""
        if not credentials.get(REFRESH):
            return None
        response = await self._request_session(account.server, "refreshSession", _bearer(credentials[REFRESH]))
        if response.is_success:
            return _decode_session(response)
        error = self.error_for_read(account.server, response)
        # Expired or revoked: the password is the last resort.
        if isinstance(error, LoginError):
            return None
        raise error

    async def _request_session(
        self, server: str, name: str, headers: Mapping[str, str], json: object = None
    ) -> Response:
        # At most a session was created, and no post.
        return await as_repeatable(
            self._client.request("POST", f"{server}/xrpc/com.atproto.server.{name}", headers=headers, json=json)
        )


def pds_url(session: Session, fallback: str) -> str:
    """Return the PDS of the account: bsky.social also signs in accounts on other machines.

    That is the service endpoint of the account's DID document if it is a valid https URL, else the server that was
    used.
    """
    services = (session.did_doc or {}).get("service")
    for service in services if isinstance(services, list) else ():
        entry = service if isinstance(service, dict) else {}
        endpoint = entry.get("serviceEndpoint")
        if (
            str(entry.get("id", "")).endswith(_PDS_SERVICE_ID)
            and isinstance(endpoint, str)
            and endpoint.startswith("https://")
        ):
            try:
                # The DID document is written by the account's owner: validate its URL like user input.
                return parse_server_url(endpoint)
            except RefusedPostError:
                return fallback
    return fallback


def decode_error(response: Response) -> XrpcErrorBody:
    """Return the server's error; empty if the response is not in the format of a PDS."""
    return response.decode_or(XrpcErrorBody())


def login_error(server: str, response: Response) -> LoginError | None:
    """Return a `LoginError` if the response is an error about the account, else None."""
    fault = decode_error(response)
    if response.status not in (400, 401, 403) or fault.error not in _ACCOUNT_ERRORS:
        return None
    return LoginError(f"{urlsplit(server).netloc} says: {as_sentence(_error_text(response))}", hint=RECONNECT_HINT)


def _error_text(response: Response) -> str:
    fault = decode_error(response)
    return fault.message or fault.error


def _is_token_expired(response: Response) -> bool:
    return response.status in (400, 401) and decode_error(response).error in _EXPIRED_TOKEN_ERRORS


def _decode_session(response: Response) -> Session:
    """Decode a new session. Raise `NotSentError` if there is none in the response: no post was created by it."""
    try:
        session = response.decode(Session)
    except UnknownOutcomeError as error:
        raise NotSentError(error.message) from None
    if not session.access_jwt:
        raise NotSentError("The server returned no token.")
    return session


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
