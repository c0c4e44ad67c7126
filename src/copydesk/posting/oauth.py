"""OAuth 2 sign-in through the user's browser, and access tokens that are refreshed before they expire.

The code is requested with a state, and with PKCE (RFC 7636, S256) if the platform supports it.

X accepts a refresh token once, so a lost pair cannot be recovered: tokens are refreshed only if the new ones can be
stored, and stored before the first of them is used. If the disk fills up in between, they are kept in memory until
there is room.
"""

import asyncio
import hashlib
import logging
import secrets
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar, Unpack
from urllib.parse import urlencode, urlsplit

import msgspec

from copydesk.model.serialization import format_iso
from copydesk.network.response import status_phrase
from copydesk.posting.client import (
    PlatformClient,
    RequestOptions,
    Response,
    as_repeatable,
    as_sentence,
    error_for_read,
    shorten,
)
from copydesk.posting.platform import (
    RECONNECT_HINT,
    Account,
    CredentialStore,
    LoginError,
    NotSentError,
    PostingError,
    SignIn,
    UnknownOutcomeError,
)

T = TypeVar("T")
log = logging.getLogger(__name__)

EXPIRES_AT = "expires_at"
"""Credential name of the access token's expiry time, in ISO format."""


class TokenResponse(msgspec.Struct, frozen=True):
    """A token response (RFC 6749, 5.1); `expires_in` is in seconds."""

    access_token: str
    expires_in: int | None = None
    refresh_token: str = ""


class _ErrorResponse(msgspec.Struct, frozen=True):
    """An error response (RFC 6749, 5.2)."""

    error: object = ""
    error_description: str = ""


RefreshTokens = Callable[[Account, Mapping[str, str]], Awaitable[TokenResponse]]
"""Request new tokens with an account's credentials. Raises `LoginError`, `NotSentError` or `UnknownOutcomeError`."""


def start_sign_in(
    authorize_url: str, *, client_id: str, redirect_uri: str, scope: str, pkce: bool, context: Mapping[str, str]
) -> SignIn:
    """Return a sign-in that starts at `authorize_url`; `context` holds further values that `finish_sign_in` needs."""
    # 48 random bytes are 64 characters; RFC 7636 allows 43 to 128.
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    params = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": scope,
        "state": state,
    }
    if pkce:
        params |= {"code_challenge": code_challenge(verifier), "code_challenge_method": "S256"}
        context = {**context, "code_verifier": verifier}
    return SignIn(
        url=f"{authorize_url}?{urlencode(params)}", redirect_uri=redirect_uri, state=state, context=dict(context)
    )


def code_challenge(verifier: str) -> str:
    """Return the S256 code challenge of `verifier` (RFC 7636, 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


async def request_tokens(
    client: PlatformClient,
    url: str,
    form: Mapping[str, str],
    now: datetime,
    *,
    headers: Mapping[str, str] | None = None,
) -> TokenResponse:
    """Request tokens. Raise `LoginError` if the server denies them, `NotSentError` or `UnknownOutcomeError`."""
    return parse_token_response(await client.request("POST", url, form=form, headers=headers), url, now)


def parse_token_response(response: Response, url: str, now: datetime) -> TokenResponse:
    """Return the tokens of a response.

    Raise `LoginError` if the server denied them, `NotSentError` if it could not decide.
    """
    host = urlsplit(url).netloc
    if response.is_success:
        tokens = response.decode(TokenResponse)
        # An empty string decodes as well; a success without a token leaves the outcome open.
        if tokens.access_token:
            return tokens
        raise UnknownOutcomeError(f"{host} returned no token.")
    if response.status in {400, 401, 403}:
        reason = as_sentence(_error_text(response) or status_phrase(response.status))
        raise LoginError(f"{host} denied access: {reason}", hint=RECONNECT_HINT)
    raise error_for_read(response, host, now)


def _error_text(response: Response) -> str:
    denied = response.decode_or(_ErrorResponse())
    return denied.error_description or (denied.error if isinstance(denied.error, str) else "")


def to_credentials(tokens: TokenResponse, now: datetime) -> dict[str, str]:
    """Return `tokens` as credentials to store, with the expiry as an absolute time."""
    credentials = {"access_token": tokens.access_token}
    if tokens.refresh_token:
        credentials["refresh_token"] = tokens.refresh_token
    # Ignore implausible lifetimes; adding them could overflow `datetime`.
    if tokens.expires_in is not None and 0 < tokens.expires_in < timedelta(days=3650).total_seconds():
        credentials[EXPIRES_AT] = format_iso(now + timedelta(seconds=tokens.expires_in))
    return credentials


def require_same_account(current: Account, account: Account) -> None:
    """Raise `LoginError` if the credentials are those of another account."""
    # A name can pass to another account, an id cannot.
    if current.id != account.id:
        raise LoginError("The credentials belong to another account.", hint=RECONNECT_HINT)


class _UnsavedTokens(NamedTuple):
    """Credentials that could not be stored, and those in the store that they replace."""

    account: Account
    stored: Mapping[str, str]
    granted: Mapping[str, str]


class AuthorizedClient:
    """Sends requests on behalf of accounts and refreshes their tokens `refresh_before` they expire.

    `refresh` is None if tokens cannot be refreshed: then the user has to connect the account again.
    """

    def __init__(
        self,
        client: PlatformClient,
        credential_store: CredentialStore,
        clock: Callable[[], datetime],
        *,
        refresh: RefreshTokens | None,
        refresh_before: timedelta,
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock
        self._refresh = refresh
        self._refresh_before = refresh_before
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._refresh_tasks: set[asyncio.Task[object]] = set()
        self._unsaved: dict[tuple[str, str], _UnsavedTokens] = {}

    async def request(
        self,
        account: Account,
        method: str,
        url: str,
        **options: Unpack[RequestOptions],
    ) -> Response:
        """Send a request as `PlatformClient.request` does.

        On a 401 the token is refreshed and the request repeated once. That is safe for writes too: a 401 response means
        that nothing was created.
        """

        async def send(token: str) -> Response:
            headers = {**options.get("headers", {}), "authorization": f"Bearer {token}"}
            authorized: RequestOptions = {**options, "headers": headers}
            return await self._client.request(method, url, **authorized)

        token = await self.access_token(account)
        response = await send(token)
        if response.status != 401 or self._refresh is None:
            return response
        return await send(await self.access_token(account, rejected=token))

    async def access_token(self, account: Account, *, rejected: str = "") -> str:
        """Return a token that stays valid for a while and is not `rejected`. Raise `LoginError` or `NotSentError`."""
        # Shield the refresh: if the caller is cancelled, tokens granted meanwhile must still be stored.
        task = asyncio.create_task(self._valid_token(account, rejected))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task not in self._refresh_tasks:
                # It waits for its turn, or for the user to enter the passphrase of the vault.
                task.cancel()
            # The account's lease must not end before: another worker would use the same refresh token.
            await asyncio.wait([task])
            raise

    async def _valid_token(self, account: Account, rejected: str) -> str:
        # One refresh per account at a time; callers that waited find the new token in the stored credentials.
        async with self._locks[account.server, account.id]:
            credentials = await self._read_credentials(account)
            token, remaining = credentials.get("access_token", ""), self._remaining(credentials)
            if token and token != rejected and (remaining is None or remaining > self._refresh_before):
                return token
            # A token inside the refresh margin still works, so a failed refresh is no error yet.
            usable = bool(token) and token != rejected and remaining is not None and remaining > timedelta(0)
            if self._refresh is None:
                if usable:
                    return token
                raise LoginError(f"The access of {shorten(account.name)} has expired.", hint=RECONNECT_HINT)
            # The set holds a reference, because the loop keeps only a weak one.
            task = asyncio.current_task()
            assert task is not None
            self._refresh_tasks.add(task)
            task.add_done_callback(self._refresh_tasks.discard)
            try:
                return await self._refresh_tokens(account, credentials, self._refresh)
            except PostingError:
                if not usable:
                    raise
            return token

    async def _refresh_tokens(self, account: Account, credentials: Mapping[str, str], refresh: RefreshTokens) -> str:
        # The refresh token may work only once, so check first that its successor can be stored.
        await self._credential_store.save(account, credentials)
        tokens = await as_repeatable(refresh(account, credentials))
        # A response may leave out the refresh token; the old one then stays valid (RFC 6749, 6).
        unchanged = {name: value for name, value in credentials.items() if name != EXPIRES_AT}
        granted = {**unchanged, **to_credentials(tokens, self._clock())}
        self._unsaved[account.server, account.id] = _UnsavedTokens(account, credentials, granted)
        try:
            await self._save_granted(account)
        except NotSentError as error:
            log.warning("The renewed login of %s is kept in memory until it can be stored: %s", _label(account), error)
        return tokens.access_token

    async def _read_credentials(self, account: Account) -> Mapping[str, str]:
        """Return the stored credentials, or those granted since that could not be stored yet."""
        stored = await self._credential_store.read(account)
        unsaved = self._unsaved.get((account.server, account.id))
        if unsaved is None:
            return stored
        if stored != unsaved.stored:  # the account was connected again
            del self._unsaved[account.server, account.id]
            return stored
        with suppress(NotSentError):
            await self._save_granted(account)
        return unsaved.granted

    async def _save_granted(self, account: Account) -> None:
        await self._credential_store.save(account, self._unsaved[account.server, account.id].granted)
        del self._unsaved[account.server, account.id]

    async def close(self) -> None:
        """Store the tokens that could not be stored when they were granted, and those that are being granted."""
        if self._refresh_tasks:
            await asyncio.wait(self._refresh_tasks)
        for account, _, _ in list(self._unsaved.values()):
            async with self._locks[account.server, account.id]:
                with suppress(PostingError):
                    await self._read_credentials(account)
                if (account.server, account.id) in self._unsaved:
                    log.error(
                        "The renewed login of %s could not be stored; connect the account again.", _label(account)
                    )

    def _remaining(self, credentials: Mapping[str, str]) -> timedelta | None:
        """Return the remaining lifetime of the access token; None if unknown."""
        try:
            return datetime.fromisoformat(credentials.get(EXPIRES_AT, "")) - self._clock()
        except (ValueError, TypeError):
            return None


def _label(account: Account) -> str:
    return f"{account.platform}:{shorten(account.name)}"
