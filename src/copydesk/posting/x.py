"""X over its API v2: threads are sent post by post; lost requests are looked up in the account's own posts.

X has no idempotency keys. It rejects a text that the account has posted before, without naming that post, for an
undocumented time. Self-serve access may be denied replies unless the author was mentioned; whether that includes
replies to oneself is not documented (developer docs, "Integrate", 2026-02-23).
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
"""X compares the redirect URI literally with the registered one, including the port."""
EARLY = timedelta(minutes=10)
"""Refresh tokens this long before they expire. A pair lasts two hours and can be refreshed once."""
MOST_PAGES = 10
"""Pages of 100 posts when searching for one."""
QUIET = timedelta(seconds=90)
"""Wait this long after a lost request before its absence counts."""


class _Id(msgspec.Struct, frozen=True):
    id: PostId


class _CreatedResponse(msgspec.Struct, frozen=True):
    data: _Id


class _User(msgspec.Struct, frozen=True):
    id: PostId
    username: Handle


class _MeResponse(msgspec.Struct, frozen=True):
    data: _User


class X:
    """X, with an app that the user registered. `clock` returns aware datetimes."""

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
        self._client = caller
        self._clock = clock
        self._access = Access(caller, secrets, clock, renew=self._refresh, early=EARLY)

    def trust(self, account: Account) -> Trust:
        """Return guarantees without idempotent keys; posts can be read back."""
        return Trust(quiet=QUIET)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: text empty or too long, too many images, the same text twice in one thread."""
        return problems(post, self.limits)

    def cost(self, post: Post, account: Account) -> Cost | None:
        """Return the price that X charges for the post."""
        return price(post)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step per part.

        Texts are in NFC, the form that X stores. The ids of images and of the part before are added when a step is
        sent.
        """
        # Normalize before sending, so that the stored intent equals what X returns.
        texts = [unicodedata.normalize("NFC", text) for text in post.parts]
        steps = (Step(keys=(uuid_key(seed, index),), body={"text": text}) for index, text in enumerate(texts))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("An account on X is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Return the sign-in with its authorization page."""
        app = {"client_id": given.get("client_id", ""), "client_secret": given.get("client_secret", "")}
        client_id = app["client_id"]
        if not client_id:
            raise LoginError("X wants the client ID of an app.", hint="Create one at developer.x.com.")
        return oauth.begin(AUTHORIZE, client_id=client_id, redirect=redirect, scope=SCOPES, pkce=True, kept=app)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Exchange the returned code, valid for 30 seconds, for credentials."""
        server = own_server(server)
        context = sign_in.kept
        tokens = await harmless(
            self._request_tokens(
                server,
                context,
                grant_type="authorization_code",
                code=code,
                redirect_uri=sign_in.redirect,
                code_verifier=context["code_verifier"],
            )
        )
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._client.ask("GET", f"{server}/2/users/me", headers=bearer))
        account = self._decode_account(server, answer)
        app = {"client_id": context["client_id"], "client_secret": context.get("client_secret", "")}
        return Connected(account=account, secrets={**app, **oauth.as_secrets(tokens, self._clock())})

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        answer = await harmless(self._access.ask(account, "GET", f"{account.server}/2/users/me"))
        current = self._decode_account(account.server, answer)
        if current.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return current

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Create the next part of the thread as a reply to the one before; images belong to the first."""
        body = dict(intent.steps[len(made)].body)
        if made:
            body["reply"] = {"in_reply_to_tweet_id": made[-1].ids[0]}
        elif pictures:
            body["media"] = {"media_ids": await self._upload_images(account, pictures)}
        answer = await self._access.ask(account, "POST", f"{account.server}/2/tweets", json=body)
        if not answer.good:
            raise refusal(answer, self._clock(), reply=bool(made))
        return _step_result(account, answer.read(_CreatedResponse).data.id, Evidence.ANSWERED)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Return the account's own post with the same text and parent."""
        text = str(intent.steps[len(made)].body["text"])
        post = the_one(await self._posts_since(account, since), text, made[-1].ids[0] if made else None, since)
        return _step_result(account, post.id, Evidence.READ_BACK) if post else None

    async def delete(self, account: Account, made: Made) -> None:
        """Delete the post; X charges a cent for that."""
        for post_id in made.ids:
            answer = await self._access.ask(account, "DELETE", f"{account.server}/2/tweets/{_validate_id(post_id)}")
            # A 403 concerns this post, not the account, so only 401 asks for a new login.
            if not answer.good and answer.status != 404:
                raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Return likes, replies, reposts without quotes, impressions, and link clicks for 30 days."""
        request = partial(self._get, account, "/2/tweets")
        return await x_figures.figures(request, ids, self._clock())

    async def _posts_since(self, account: Account, since: datetime) -> list[XPost]:
        """Return everything that the account posted since `since`.

        Raise `UnknownOutcomeError` if the list is incomplete.
        """
        params = {
            "max_results": "100",
            # X accepts UTC times with whole seconds only.
            "start_time": (since - SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tweet.fields": "created_at,entities,referenced_tweets,conversation_id",
        }
        posts: list[XPost] = []
        for _ in range(MOST_PAGES):
            answer = await self._get(account, f"/2/users/{_validate_id(account.id)}/tweets", params)
            if not answer.good:
                raise unread(answer, HOST, self._clock(), says=says(answer))
            page = answer.read(Timeline)
            # X may withhold posts; then absence from this list proves nothing.
            if len(page.data) != page.meta.result_count:
                raise UnknownOutcomeError("X did not show all of the account's posts.")
            posts += page.data
            if not page.meta.next_token:
                return posts
            params["pagination_token"] = page.meta.next_token
        raise UnknownOutcomeError("There are too many posts on the account to look through.")

    async def _get(self, account: Account, path: str, params: Mapping[str, str]) -> Answer:
        return await harmless(self._access.ask(account, "GET", account.server + path, params=params))

    async def _upload_images(self, account: Account, images: Sequence[Picture]) -> list[str]:
        """Upload the images and return their media ids; they stay invisible until a post uses them."""
        if len(images) > self.limits.pictures:
            raise RefusedPostError(f"X takes at most {self.limits.pictures} pictures.")
        return [await harmless(self._upload_image(account, image)) for image in images]

    async def _upload_image(self, account: Account, image: Picture) -> str:
        body = {"media": b64encode(image.content).decode(), "media_category": "tweet_image"}
        answer = await self._access.ask(account, "POST", f"{account.server}/2/media/upload", json=body)
        if not answer.good:
            raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))
        # Alt texts are set with a request of their own, before the post is created.
        media_id = answer.read(_CreatedResponse).data.id
        if image.alt:
            alt_text = {"id": media_id, "metadata": {"alt_text": {"text": image.alt}}}
            answer = await self._access.ask(account, "POST", f"{account.server}/2/media/metadata", json=alt_text)
            if not answer.good:
                raise wrong(answer, HOST, self._clock(), says=says(answer), login=frozenset({401}))
        return media_id

    def _decode_account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unread(answer, HOST, self._clock(), says=says(answer))
        me = answer.read(_MeResponse).data
        return Account(platform=self.name, server=server, id=me.id, name=me.username)

    async def _refresh(self, account: Account, credentials: Mapping[str, str]) -> Granted:
        token = credentials.get("refresh_token", "")
        if not token:
            raise LoginError("The access to X has run out.", hint=CONNECT_AGAIN)
        return await self._request_tokens(account.server, credentials, grant_type="refresh_token", refresh_token=token)

    async def _request_tokens(self, server: str, credentials: Mapping[str, str], **form: str) -> Granted:
        """Request tokens with `form`. An app with a secret sends it in a header, one without sends only its id."""
        client_id, client_secret = credentials["client_id"], credentials.get("client_secret", "")
        headers = {}
        if client_secret:
            headers["authorization"] = "Basic " + b64encode(f"{client_id}:{client_secret}".encode()).decode()
        url = f"{server}/2/oauth2/token"
        form = {**form, "client_id": client_id}
        return await oauth.granted(self._client, url, form, self._clock(), headers=headers)


def _step_result(account: Account, post_id: str, evidence: Evidence) -> Made:
    url = f"https://x.com/{account.name}/status/{post_id}"
    return Made(ids=(post_id,), urls=(url,), evidence=evidence)


def _validate_id(value: str) -> str:
    """Return `value` if it is an id: it becomes part of a URL. Raise `UnknownOutcomeError` otherwise."""
    if not is_id(value):
        raise UnknownOutcomeError("X gave an id that is none.")
    return value
