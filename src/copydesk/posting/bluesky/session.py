"""Asks a PDS for an account: with a token that lasts two hours, which is renewed with one that lasts weeks.

An app password may be used 30 times in five minutes and 300 times a day, so it is the last resort. A renewed pair is
kept before it is used; whoever is killed in between can use the old one for two more hours.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from copydesk.errors import CopydeskError
from copydesk.model.wire import Struct
from copydesk.posting.http import Answer, Caller, sentence, unread, wrong
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    Account,
    LoginError,
    NotSentError,
    PostingError,
    RefusedPostError,
    Secrets,
    UnknownOutcomeError,
)
from copydesk.posting.site import own_server

T = TypeVar("T")

PASSWORD, REFRESH = "password", "refresh"
"""The names of an account's secrets."""
_PDS = "#atproto_pds"
_STALE = frozenset({"ExpiredToken", "InvalidToken"})
_NOT_IN = _STALE | {
    "AuthMissing",
    "AuthenticationRequired",
    "AuthFactorTokenRequired",
    "AccountTakedown",
    "AccountDeactivated",
    "RepoTakendown",
    "RepoSuspended",
    "RepoDeactivated",
}
"""Errors that speak of the account, whatever their status: a token that ran out is answered with 400."""
_HINT = "Make a new app password in Bluesky's settings, and connect the account with it."


class Session(Struct, frozen=True):
    """What a server says to whoever got in."""

    did: str
    handle: str
    access_jwt: str = ""
    refresh_jwt: str = ""
    did_doc: dict[str, object] | None = None
    active: bool = True


class Fault(Struct, frozen=True):
    """How a PDS says what is wrong."""

    error: str = ""
    message: str = ""


class Sessions:
    """The way into accounts. Tokens for access are kept in memory only."""

    def __init__(self, caller: Caller, secrets: Secrets, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock
        self._access: dict[tuple[str, str], str] = {}
        self._renewing: dict[tuple[str, str], asyncio.Lock] = {}

    async def ask(
        self,
        account: Account,
        method: str,
        name: str,
        *,
        json: object = None,
        content: bytes | None = None,
        media_type: str = "",
        query: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """Ask for the account, once more where the token had run out: then nothing was done the first time."""
        url = f"{account.server}/xrpc/{name}" + (f"?{urlencode(query)}" if query else "")
        more = {"content-type": media_type} if media_type else {}
        token = await self._token(account, "")
        answer = await self._caller.ask(method, url, json=json, content=content, headers={**_bearer(token), **more})
        if not _is_stale(answer):
            return answer
        token = await self._token(account, token)
        return await self._caller.ask(method, url, json=json, content=content, headers={**_bearer(token), **more})

    async def read(self, account: Account, name: str, kind: type[T], query: Sequence[tuple[str, str]] = ()) -> T:
        """Ask for something that is only seen; LoginError, NotSentError."""
        try:
            answer = await self.ask(account, "GET", name, query=query)
            if answer.good:
                return answer.read(kind)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message) from None
        raise self.unread(account.server, answer)

    async def sign_in(self, server: str, identifier: str, password: str) -> Session:
        """Get in with a password; LoginError, NotSentError."""
        asked = {"identifier": identifier, "password": password}
        answer = await self._begin(server, "createSession", {}, asked)
        if not answer.good:
            fault = fault_of(answer)
            if answer.status in (400, 401, 403) and fault.error:
                host = urlsplit(server).netloc
                raise LoginError(f"{host} says: {sentence(fault.message or fault.error)}", hint=_HINT)
            raise self.unread(server, answer)
        return _session(answer)

    def wrong(self, server: str, answer: Answer) -> PostingError:
        """What an answer that is no success means, for a request that makes something."""
        return login_fault(server, answer) or wrong(answer, urlsplit(server).netloc, self._clock(), says=_words(answer))

    def unread(self, server: str, answer: Answer) -> CopydeskError:
        """What an answer that is no success means, for a request that makes no post."""
        return login_fault(server, answer) or unread(
            answer, urlsplit(server).netloc, self._clock(), says=_words(answer)
        )

    async def _token(self, account: Account, stale: str) -> str:
        """A token that is not `stale`; of several who ask at once, one renews it."""
        key = (account.server, account.id)
        async with self._renewing.setdefault(key, asyncio.Lock()):
            token = self._access.get(key, "")
            if token in ("", stale):
                token = await self._renew(account)
                self._access[key] = token
            return token

    async def _renew(self, account: Account) -> str:
        kept = await self._secrets.read(account)
        session = await self._refreshed(account, kept)
        if session is None:
            if not kept.get(PASSWORD):
                raise LoginError(f"There is no password for {account.name}.", hint=_HINT)
            session = await self.sign_in(account.server, account.id, kept[PASSWORD])
        if session.did != account.id:
            raise LoginError(f"{account.name} is another account now.", hint="Connect it again.")
        if session.refresh_jwt:
            await self._keep(account, {**kept, REFRESH: session.refresh_jwt})
        return session.access_jwt

    async def _keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Keep what gets in next time; where it cannot be kept, as in a server's environment, the password does."""
        try:
            await self._secrets.keep(account, secrets)
        except NotSentError:
            if not secrets.get(PASSWORD):
                raise

    async def _refreshed(self, account: Account, kept: Mapping[str, str]) -> Session | None:
        """A new session by the kept token; None where that does not count any more."""
        if not kept.get(REFRESH):
            return None
        answer = await self._begin(account.server, "refreshSession", _bearer(kept[REFRESH]))
        if answer.good:
            return _session(answer)
        found = self.unread(account.server, answer)
        if isinstance(found, LoginError):
            return None
        raise found

    async def _begin(self, server: str, name: str, headers: Mapping[str, str], json: object = None) -> Answer:
        try:
            return await self._caller.ask(
                "POST", f"{server}/xrpc/com.atproto.server.{name}", headers=headers, json=json
            )
        except UnknownOutcomeError as error:  # a session at most was made
            raise NotSentError(error.message) from None


def server_of(session: Session, given: str) -> str:
    """Where the account itself is: bsky.social lets accounts in that are on other machines.

    What its DID document says, where that is a proper https address; else the server that was asked.
    """
    services = (session.did_doc or {}).get("service")
    for service in services if isinstance(services, list) else ():
        named = service if isinstance(service, dict) else {}
        where = named.get("serviceEndpoint")
        if str(named.get("id", "")).endswith(_PDS) and isinstance(where, str) and where.startswith("https://"):
            try:
                return own_server(where)
            except RefusedPostError:
                return given
    return given


def fault_of(answer: Answer) -> Fault:
    """What the server says is wrong; empty where it does not say it as a PDS does."""
    try:
        return answer.read(Fault)
    except UnknownOutcomeError:
        return Fault()


def login_fault(server: str, answer: Answer) -> LoginError | None:
    """An error about the account, where the answer is one."""
    fault = fault_of(answer)
    if answer.status not in (400, 401, 403) or fault.error not in _NOT_IN:
        return None
    return LoginError(f"{urlsplit(server).netloc} says: {sentence(_words(answer))}", hint=CONNECT_AGAIN)


def _words(answer: Answer) -> str:
    fault = fault_of(answer)
    return fault.message or fault.error


def _is_stale(answer: Answer) -> bool:
    return answer.status in (400, 401) and fault_of(answer).error in _STALE


def _session(answer: Answer) -> Session:
    """The session that began; NotSentError where the answer has none: no post was made by it."""
    try:
        session = answer.read(Session)
    except UnknownOutcomeError as error:
        raise NotSentError(error.message) from None
    if not session.access_jwt:
        raise NotSentError("The server let us in and gave no token.")
    return session


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
