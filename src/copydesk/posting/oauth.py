"""The way into an account through the user's browser (OAuth 2), and access tokens that are renewed in time.

A code is asked for with PKCE (RFC 7636, S256) where the platform knows it, and with a state. New tokens are safe on the
disk before the first of them is used: X takes a refresh token once, and then there is no way back to the old pair.
"""

import asyncio
import hashlib
import secrets as randomness
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from copydesk.model.wire import iso
from copydesk.posting.http import Answer, Caller, said, unread
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    Account,
    LoginError,
    NotSentError,
    PostingError,
    Secrets,
    SignIn,
    UnknownOutcomeError,
)

T = TypeVar("T")

EXPIRES = "expires_at"
"""Among the secrets of an account: when its access token ends, in our form of a time."""


class Granted(msgspec.Struct, frozen=True):
    """What a server grants (RFC 6749, 5.1); `expires_in` is in seconds."""

    access_token: str
    expires_in: int | None = None
    refresh_token: str = ""


class _Denied(msgspec.Struct, frozen=True):
    """Why it does not (RFC 6749, 5.2)."""

    error: object = ""
    error_description: str = ""


Renew = Callable[[Account, Mapping[str, str]], Awaitable[Granted]]
"""Asks for new tokens with the secrets of an account; LoginError, NotSentError, UnknownOutcomeError."""


def begin(authorize: str, *, client_id: str, redirect: str, scope: str, pkce: bool, kept: Mapping[str, str]) -> SignIn:
    """A way in that begins at the address `authorize`; `kept` is what `finish` needs besides."""
    state, verifier = randomness.token_urlsafe(24), randomness.token_urlsafe(48)
    asked = {"response_type": "code", "client_id": client_id, "redirect_uri": redirect, "scope": scope, "state": state}
    if pkce:
        asked |= {"code_challenge": challenge(verifier), "code_challenge_method": "S256"}
        kept = {**kept, "code_verifier": verifier}
    return SignIn(url=f"{authorize}?{urlencode(asked)}", redirect=redirect, state=state, kept=dict(kept))


def challenge(verifier: str) -> str:
    """What stands for `verifier` until it is shown (RFC 7636, 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


async def granted(
    caller: Caller, url: str, form: Mapping[str, str], now: datetime, *, headers: Mapping[str, str] | None = None
) -> Granted:
    """Ask for tokens. LoginError where the server does not grant them; NotSentError, UnknownOutcomeError."""
    return grant(await caller.ask("POST", url, form=form, headers=headers), url, now)


def grant(answer: Answer, url: str, now: datetime) -> Granted:
    """The tokens of an answer; LoginError where there are none, NotSentError where the server could not say."""
    host = urlsplit(url).netloc
    if answer.good:
        found = answer.read(Granted)
        if found.access_token:
            return found
        raise UnknownOutcomeError(f"{host} sent no token.")
    if answer.status in {400, 401, 403}:
        why = said(_denial(answer)) or f"{host} does not grant access."
        raise LoginError(f"{host} does not let Copydesk in: {why}", hint=CONNECT_AGAIN)
    raise unread(answer, host, now)


def _denial(answer: Answer) -> str:
    try:
        found = msgspec.json.decode(answer.body, type=_Denied)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.error_description or (found.error if isinstance(found.error, str) else "")


def as_secrets(tokens: Granted, now: datetime) -> dict[str, str]:
    """`tokens` as they stand among the secrets of an account."""
    found = {"access_token": tokens.access_token}
    if tokens.refresh_token:
        found["refresh_token"] = tokens.refresh_token
    if tokens.expires_in is not None and 0 < tokens.expires_in < timedelta(days=3650).total_seconds():
        found[EXPIRES] = iso(now + timedelta(seconds=tokens.expires_in))
    return found


async def harmless(asked: Awaitable[T]) -> T:
    """The answer to a request that makes nothing anybody sees: where its outcome is unknown, it can be asked again."""
    try:
        return await asked
    except UnknownOutcomeError as error:
        found = NotSentError(error.message, hint=error.hint)
    raise found


class Access:
    """Asks in the name of accounts, with tokens that are renewed `early` before they end.

    `renew` is None where they cannot be: then the user has to connect the account again.
    """

    def __init__(
        self, caller: Caller, secrets: Secrets, clock: Callable[[], datetime], *, renew: Renew | None, early: timedelta
    ) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock
        self._renew = renew
        self._early = early
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._renewing: set[asyncio.Future[str]] = set()

    async def ask(
        self,
        account: Account,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask as Caller does. Where a token is not taken any more it is renewed, and the same is asked once again:
        an answer of 401 is one, so nothing was made."""

        async def once(token: str) -> Answer:
            sent = {**(headers or {}), "authorization": f"Bearer {token}"}
            return await self._caller.ask(
                method, url, headers=sent, json=json, form=form, content=content, params=params
            )

        token = await self.token(account)
        answer = await once(token)
        if answer.status != 401 or self._renew is None:
            return answer
        return await once(await self.token(account, spent=token))

    async def token(self, account: Account, *, spent: str = "") -> str:
        """A token that is good for some time, and is not `spent`. LoginError, NotSentError."""
        # Whoever waits may be cancelled; tokens that were granted in the meantime must not be lost with them.
        found = asyncio.ensure_future(self._token(account, spent))
        self._renewing.add(found)
        found.add_done_callback(self._renewing.discard)
        return await asyncio.shield(found)

    async def _token(self, account: Account, spent: str) -> str:
        async with self._locks[account.server, account.id]:
            held = await self._secrets.read(account)
            token, left = held.get("access_token", ""), self._left(held)
            if token and token != spent and (left is None or left > self._early):
                return token
            usable = bool(token) and token != spent and left is not None and left > timedelta(0)
            if self._renew is None:
                if usable:
                    return token
                raise LoginError(f"The access of {said(account.name)} has run out.", hint=CONNECT_AGAIN)
            try:
                return await self._renewed(account, held, self._renew)
            except PostingError:
                if not usable:
                    raise
            return token

    async def _renewed(self, account: Account, held: Mapping[str, str], renew: Renew) -> str:
        tokens = await harmless(renew(account, held))
        kept = {name: value for name, value in held.items() if name != EXPIRES}
        await self._secrets.keep(account, {**kept, **as_secrets(tokens, self._clock())})
        return tokens.access_token

    def _left(self, held: Mapping[str, str]) -> timedelta | None:
        """How long the token of `held` is still good; None where that is not known."""
        try:
            return datetime.fromisoformat(held.get(EXPIRES, "")) - self._clock()
        except (ValueError, TypeError):
            return None
