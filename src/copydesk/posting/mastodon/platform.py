"""Mastodon as a platform: a status for each post of a thread, each an answer to the one before."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import quote, urlencode, urlsplit

from copydesk.model.draft import Format
from copydesk.posting.http import Caller, unread
from copydesk.posting.keys import uuid_key
from copydesk.posting.mastodon import oauth, search
from copydesk.posting.mastodon.answers import Counted, Owner, Posted, made_of, saying
from copydesk.posting.mastodon.media import Pause, attached
from copydesk.posting.mastodon.server import Server, about, address_of
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    Account,
    Connected,
    Evidence,
    Figures,
    Intent,
    Limits,
    LoginError,
    Made,
    Picture,
    Post,
    PostingError,
    Problem,
    RefusedPostError,
    Secrets,
    SignIn,
    Step,
    Trust,
    Wanted,
)
from copydesk.text.length import LIMITS, length

SLACK = timedelta(minutes=2)
"""How far a server's clock may be behind ours."""
BATCH = 20
"""Statuses that Mastodon gives at once by their ids."""
_KEYED = Trust(repeat_within=timedelta(minutes=50))
"""Keys are kept for an hour."""
_READ_BACK = Trust()
_MASTODON = re.compile(r"mastodon (\d{1,4})\.(\d{1,4})\.\d{1,4}(?:\+.*)?")
_LOCKED_SINCE = (4, 6)


class Mastodon:
    """Accounts on Mastodon and what speaks its API; `pause` waits for so many seconds."""

    name: ClassVar[str] = "mastodon"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.SHORT, Format.THREAD}), pictures=4, picture_bytes=10_000_000, alt_characters=1500
    )
    home: ClassVar[str] = ""
    wants: ClassVar[tuple[Wanted, ...]] = (Wanted(name="token", question="Access token", secret=True, optional=True),)
    fixed_port: ClassVar[int | None] = None
    by_hand: ClassVar[str] = oauth.BY_HAND

    def __init__(
        self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime], pause: Pause = asyncio.sleep
    ) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock
        self._pause = pause

    def trust(self, account: Account) -> Trust:
        """Whether the server knows a repeated post by its key.

        Mastodon does since 2017, but only since 4.6 while the first one is still being made (mastodon#37879): before,
        two requests at once made two posts (mastodon#21840). The key is sent everywhere; where it is not relied on, a
        post that is not there is sent again only after it was looked for.
        """
        version = _MASTODON.fullmatch(account.software)
        if version is None or (int(version[1]), int(version[2])) < _LOCKED_SINCE:
            return _READ_BACK
        return _KEYED

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """What is too long or empty, and what the platform has no place for."""
        found = [problem for part, text in enumerate(post.parts) for problem in _text_problems(text, part, account)]
        if post.format not in self.limits.formats:
            found.append(Problem(message="Mastodon has no articles; make it a short post or a thread."))
        if len(post.alts) > self.limits.pictures:
            found.append(Problem(message=f"It has {len(post.alts)} pictures; at most {self.limits.pictures} go."))
        if any(len(alt) > self.limits.alt_characters for alt in post.alts):
            most = self.limits.alt_characters
            found.append(Problem(message=f"The description of a picture is longer than {most} characters."))
        return found

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """A step for each post. Visible to all, whatever is usual on the server, and taken as plain text."""
        return Intent(steps=tuple(_step(seed, place, text) for place, text in enumerate(post.parts)), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Get into an account with an access token that the user made in its settings."""
        token = given.get("token", "").strip()
        if not token:
            raise LoginError("There is no access token.", hint="Connect in the browser, or give one.")
        return await self._connected(address_of(server), {"token": token})

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Register with the server, and send the user there."""
        return await oauth.begin(Server(self._caller, address_of(server), self._clock), redirect)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Get into the account with the code that came back."""
        address = address_of(server)
        secrets = await oauth.exchange(Server(self._caller, address, self._clock), sign_in, code)
        return await self._connected(address, secrets)

    async def disconnect(self, account: Account) -> None:
        """Give the access back. A token that the user made is the user's own to revoke."""
        secrets = dict(await self._secrets.read(account))
        if "client_id" in secrets:
            await oauth.revoke(Server(self._caller, account.server, self._clock), secrets)

    async def check(self, account: Account) -> Account:
        """The account with its name, and what its server is now."""
        server = await self._server(account)
        known = await self._known(server)
        if known.id != account.id:
            raise LoginError(f"The access token is not that of {account.name}.", hint=CONNECT_AGAIN)
        return known

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Make the next status; pictures go with the first."""
        step = intent.steps[len(made)]
        body = dict(step.body)
        if made:
            body["in_reply_to_id"] = _parent(made)
        server = await self._server(account)
        if pictures and not made:
            body["media_ids"] = await attached(server, pictures, self._pause)
        answer = await server.ask("POST", "/api/v1/statuses", headers={"idempotency-key": step.keys[0]}, json=body)
        if not answer.good:
            raise _explained(server.wrong(answer), answer.status, made)
        return made_of(answer.read(Posted), Evidence.ANSWERED)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The status that says the same in the same place; servers do not tell what key one was made with."""
        text = str(intent.steps[len(made)].body["status"])
        parent = _parent(made) if made else None
        status = await search.found(await self._server(account), account.id, text, parent, since - SLACK)
        return made_of(status, Evidence.READ_BACK) if status else None

    async def delete(self, account: Account, made: Made) -> None:
        """Delete statuses; one that is not there is deleted."""
        server = await self._server(account)
        for each in made.ids:
            answer = await server.ask("DELETE", _status(each))
            if not answer.good and answer.status not in (404, 410):
                raise unread(answer, server.host, self._clock(), says=saying(answer))

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Favourites, replies and boosts. What a list by ids leaves out is asked for by itself before it is gone."""
        server = await self._server(account)
        found: dict[str, Figures | None] = {}
        for start in range(0, len(ids), BATCH):
            query = urlencode([("id[]", each) for each in ids[start : start + BATCH]])
            counted = await server.read_if_there(f"/api/v1/statuses?{query}", list[Counted])
            if counted is None:  # before Mastodon 4.3, and elsewhere
                break
            found |= {each.id: _figures(each) for each in counted}
        for each in ids:
            if each not in found:
                found[each] = await self._figures_of(server, each)
        return {each: found[each] for each in ids}

    async def _figures_of(self, server: Server, status: str) -> Figures | None:
        answer = await server.look(_status(status))
        if answer.status in (404, 410):
            return None
        return _figures(server.understood(answer, Counted))

    async def _server(self, account: Account) -> Server:
        secrets = await self._secrets.read(account)
        return Server(self._caller, account.server, self._clock, secrets.get("token", ""))

    async def _connected(self, address: str, secrets: dict[str, str]) -> Connected:
        account = await self._known(Server(self._caller, address, self._clock, secrets["token"]))
        return Connected(account=account, secrets=secrets)

    async def _known(self, server: Server) -> Account:
        """The account that the token is for."""
        owner = await server.read("/api/v1/accounts/verify_credentials", Owner)
        known = await about(server)
        return Account(
            platform=self.name,
            server=server.address,
            id=owner.id,
            name=f"{owner.username}@{known.domain}",
            software=known.software,
            longest=known.longest,
        )


def _step(seed: str, place: int, text: str) -> Step:
    body: dict[str, object] = {"status": text, "visibility": "public", "content_type": "text/plain"}
    return Step(keys=(uuid_key(seed, place),), body=body)


def _parent(made: Sequence[Made]) -> str:
    """The status that the next one answers."""
    if made[-1].ids:
        return made[-1].ids[0]
    raise RefusedPostError("It is not known which post this one follows.", hint="Post the rest of the thread by hand.")


def _explained(problem: PostingError, status: int, made: Sequence[Made]) -> PostingError:
    """The same, where the server says no more than that something is not there."""
    if status != 404 or not isinstance(problem, RefusedPostError):
        return problem
    gone = "The post before it was deleted" if made else "It was made before and deleted"
    return RefusedPostError(problem.message, hint=f"{gone}, or this is not a server that speaks Mastodon's API.")


def _text_problems(text: str, part: int, account: Account) -> Iterable[Problem]:
    longest = account.longest or LIMITS["mastodon"]
    size = _size(text, account)
    if not text.strip():
        yield Problem(message="It is empty.", part=part)
    elif size > longest:
        yield Problem(
            message=f"It has {size} characters; {urlsplit(account.server).netloc} takes {longest}.", part=part
        )


def _size(text: str, account: Account) -> int:
    """Characters, as the server counts them: others than Mastodon count a link whole, and each code point."""
    size = length(text, "mastodon")
    return size if account.software.startswith("mastodon ") else max(size, len(text))


def _status(status: str) -> str:
    return f"/api/v1/statuses/{quote(status, safe='')}"


def _figures(counted: Counted) -> Figures:
    return Figures(likes=counted.favourites_count, replies=counted.replies_count, reposts=counted.reblogs_count)
