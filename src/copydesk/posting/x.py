"""X over its API v2: a thread post by post, read back from the account's own posts where an answer was lost.

X knows no keys of ours. It refuses a text that the account has posted before, without saying where, for a time that it
does not document. Answers to posts may be refused to self-serve access unless their author was mentioned; whether that
holds for answers to oneself is not documented (developer docs, "Integrate", 2026-02-23).
"""

import unicodedata
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import ClassVar

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import oauth, x_figures
from copydesk.posting.cost import Cost
from copydesk.posting.http import Answer, Caller, unread, wrong
from copydesk.posting.keys import uuid_key
from copydesk.posting.oauth import Access, Granted, harmless
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
    Problem,
    RefusedPostError,
    Secrets,
    SignIn,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import own_server
from copydesk.posting.x_errors import HOST, refusal, says
from copydesk.posting.x_posts import SLACK, Handle, PostId, Timeline, XPost, is_id, the_one
from copydesk.posting.x_terms import price, problems

AUTHORIZE = "https://x.com/i/oauth2/authorize"
SCOPES = "tweet.read tweet.write users.read media.write offline.access"
PORT = 8399
"""X wants the address that the browser comes back to letter by letter as it was registered, and so the port."""
EARLY = timedelta(minutes=10)
"""Before its end a token is renewed: each pair of them is good for two hours, and can be renewed once."""
MOST_PAGES = 10
"""Of a hundred posts each, when one is looked for."""
QUIET = timedelta(seconds=90)


class _Id(msgspec.Struct, frozen=True):
    id: PostId


class _New(msgspec.Struct, frozen=True):
    data: _Id


class _User(msgspec.Struct, frozen=True):
    id: PostId
    username: Handle


class _Me(msgspec.Struct, frozen=True):
    data: _User


class X:
    """X, for one app of the user's own; `clock` gives aware times."""

    name: ClassVar[str] = "x"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.SHORT, Format.THREAD}),
        pictures=4,
        picture_bytes=5_000_000,
        picture_types=("image/jpeg", "image/png", "image/webp"),
        alt_characters=1000,
    )
    home: ClassVar[str] = "https://api.x.com"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="client_id", question="Client ID of your app at developer.x.com (OAuth 2.0)"),
        Wanted(name="client_secret", question="Its client secret, if it has one", secret=True, optional=True),
    )
    fixed_port: ClassVar[int | None] = PORT
    by_hand: ClassVar[str] = ""

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._clock = clock
        self._access = Access(caller, secrets, clock, renew=self._renew, early=EARLY)

    def trust(self, account: Account) -> Trust:
        """It can be read back, and nothing else."""
        return Trust(quiet=QUIET)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """What X would refuse of itself: length, too many pictures, the same text twice in one thread."""
        return problems(post, self.limits)

    def cost(self, post: Post, account: Account) -> Cost | None:
        """What X asks for the post."""
        return price(post)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """A step for each part; X keeps texts in NFC. The ids of pictures and of the part before are added later."""
        texts = [unicodedata.normalize("NFC", text) for text in post.parts]
        steps = (Step(keys=(uuid_key(seed, place),), body={"text": text}) for place, text in enumerate(texts))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Not without a browser."""
        raise LoginError("An account on X is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Where the user says yes."""
        kept = {"client_id": given.get("client_id", ""), "client_secret": given.get("client_secret", "")}
        client_id = kept["client_id"]
        if not client_id:
            raise LoginError("X wants the client ID of an app.", hint="Create one at developer.x.com.")
        return oauth.begin(AUTHORIZE, client_id=client_id, redirect=redirect, scope=SCOPES, pkce=True, kept=kept)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Get in with the code, which X takes for 30 seconds."""
        server = own_server(server)
        kept = sign_in.kept
        tokens = await harmless(
            self._tokens(
                server,
                kept,
                grant_type="authorization_code",
                code=code,
                redirect_uri=sign_in.redirect,
                code_verifier=kept["code_verifier"],
            )
        )
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._caller.ask("GET", f"{server}/2/users/me", headers=bearer))
        account = self._account(server, answer)
        ours = {"client_id": kept["client_id"], "client_secret": kept.get("client_secret", "")}
        return Connected(account=account, secrets={**ours, **oauth.as_secrets(tokens, self._clock())})

    async def check(self, account: Account) -> Account:
        """The account under the name that it has now."""
        answer = await harmless(self._access.ask(account, "GET", f"{account.server}/2/users/me"))
        found = self._account(account.server, answer)
        if found.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return found

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """The next part of the thread, in answer to the one before; pictures go with the first."""
        body = dict(intent.steps[len(made)].body)
        if made:
            body["reply"] = {"in_reply_to_tweet_id": made[-1].ids[0]}
        elif pictures:
            body["media"] = {"media_ids": await self._uploaded(account, pictures)}
        answer = await self._access.ask(account, "POST", f"{account.server}/2/tweets", json=body)
        if not answer.good:
            raise refusal(answer, self._clock(), reply=bool(made))
        return _made(account, answer.read(_New).data.id, Evidence.ANSWERED)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The account's own post with the same text in answer to the same part."""
        text = str(intent.steps[len(made)].body["text"])
        found = the_one(await self._posts(account, since), text, made[-1].ids[0] if made else None, since)
        return _made(account, found.id, Evidence.READ_BACK) if found else None

    async def delete(self, account: Account, made: Made) -> None:
        """Take the post back; X takes a cent for it."""
        for post_id in made.ids:
            answer = await self._access.ask(account, "DELETE", f"{account.server}/2/tweets/{_proper(post_id)}")
            if not answer.good and answer.status != 404:
                raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Likes, replies, reposts without quotes, impressions; clicks on links for 30 days."""
        asked = partial(self._look, account, "/2/tweets")
        return await x_figures.figures(asked, ids, self._clock())

    async def _posts(self, account: Account, since: datetime) -> list[XPost]:
        """Everything that the account posted since then."""
        params = {
            "max_results": "100",
            "start_time": (since - SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tweet.fields": "created_at,entities,referenced_tweets,conversation_id",
        }
        found: list[XPost] = []
        for _ in range(MOST_PAGES):
            answer = await self._look(account, f"/2/users/{_proper(account.id)}/tweets", params)
            if not answer.good:
                raise unread(answer, HOST, self._clock(), says=says(answer))
            page = answer.read(Timeline)
            if len(page.data) != page.meta.result_count:
                raise UnknownOutcomeError("X did not show all of the account's posts.")
            found += page.data
            if not page.meta.next_token:
                return found
            params["pagination_token"] = page.meta.next_token
        raise UnknownOutcomeError("There are too many posts on the account to look through.")

    async def _look(self, account: Account, path: str, params: Mapping[str, str]) -> Answer:
        return await harmless(self._access.ask(account, "GET", account.server + path, params=params))

    async def _uploaded(self, account: Account, pictures: Sequence[Picture]) -> list[str]:
        """The ids of pictures that nobody sees yet."""
        if len(pictures) > self.limits.pictures:
            raise RefusedPostError(f"X takes at most {self.limits.pictures} pictures.")
        return [await harmless(self._upload(account, picture)) for picture in pictures]

    async def _upload(self, account: Account, picture: Picture) -> str:
        body = {"media": b64encode(picture.content).decode(), "media_category": "tweet_image"}
        answer = await self._access.ask(account, "POST", f"{account.server}/2/media/upload", json=body)
        if not answer.good:
            raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))
        media_id = answer.read(_New).data.id
        if picture.alt:
            described = {"id": media_id, "metadata": {"alt_text": {"text": picture.alt}}}
            answer = await self._access.ask(account, "POST", f"{account.server}/2/media/metadata", json=described)
            if not answer.good:
                raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))
        return media_id

    def _account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unread(answer, HOST, self._clock(), says=says(answer))
        me = answer.read(_Me).data
        return Account(platform=self.name, server=server, id=me.id, name=me.username)

    async def _renew(self, account: Account, held: Mapping[str, str]) -> Granted:
        token = held.get("refresh_token", "")
        if not token:
            raise LoginError("The access to X has run out.", hint=CONNECT_AGAIN)
        return await self._tokens(account.server, held, grant_type="refresh_token", refresh_token=token)

    async def _tokens(self, server: str, held: Mapping[str, str], **form: str) -> Granted:
        """Tokens for `form`. An app with a secret shows it in a header, one without only says who it is."""
        client_id, client_secret = held["client_id"], held.get("client_secret", "")
        headers = {}
        if client_secret:
            headers["authorization"] = "Basic " + b64encode(f"{client_id}:{client_secret}".encode()).decode()
        url = f"{server}/2/oauth2/token"
        form = {**form, "client_id": client_id}
        return await oauth.granted(self._caller, url, form, self._clock(), headers=headers)


def _made(account: Account, post_id: str, evidence: Evidence) -> Made:
    url = f"https://x.com/{account.name}/status/{post_id}"
    return Made(ids=(post_id,), urls=(url,), evidence=evidence)


def _proper(found: str) -> str:
    """`found`, where it is an id: it becomes part of an address."""
    if not is_id(found):
        raise UnknownOutcomeError("X gave an id that is none.")
    return found
