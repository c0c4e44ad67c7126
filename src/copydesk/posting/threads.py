"""Threads: each post is an invisible container that is then published by id.

If the response to a publication is lost, the container's status tells its outcome, and the post is then found among the
account's own. It is not documented whether Threads would publish a container twice, so that is never tried.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import ClassVar

from copydesk.model.draft import Format
from copydesk.posting import oauth
from copydesk.posting.http import Answer, Caller
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
    NotSentError,
    Picture,
    Post,
    PostingError,
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
from copydesk.posting.threads_answers import Container, Named, User, gone, is_id, is_name, proper, refusal, unseen
from copydesk.posting.threads_posts import SLACK, Insights, Page, ThreadsPost, counted, page_of, shown, the_one
from copydesk.text.length import LIMITS

AUTHORIZE = "https://threads.com/oauth/authorize"
SCOPES = (
    "threads_basic,threads_content_publish,threads_manage_replies,threads_read_replies,"
    "threads_manage_insights,threads_delete"
)
EARLY = timedelta(days=10)
"""Refresh tokens this long before they expire. They last 60 days, and 60 more after each refresh."""
MOST_PAGES = 10
"""Pages of 100 posts when searching for one."""
SOON = timedelta(seconds=30)
"""Delay before a container that is not ready is checked again."""


class Threads:
    """Threads, with an app that the user registered. `clock` returns aware datetimes."""

    name: ClassVar[str] = "threads"
    limits: ClassVar[Limits] = Limits(formats=frozenset({Format.SHORT, Format.THREAD}))
    home: ClassVar[str] = "https://graph.threads.net"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="client_id", question="Threads app ID, from the settings of your app at developers.facebook.com"),
        Wanted(name="client_secret", question="Threads app secret", secret=True),
    )
    fixed_port: ClassVar[int | None] = 8397
    by_hand: ClassVar[str] = "https://localhost:8397/callback"
    """Threads requires https, which nothing serves there: the user copies the code from the address bar."""

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._client = caller
        self._clock = clock
        self._access = Access(caller, secrets, clock, renew=self._refresh, early=EARLY)

    def trust(self, account: Account) -> Trust:
        """Return the defaults: containers and posts can be read back."""
        return Trust()

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: images, which Threads loads from public URLs only, and parts that are empty or too long."""
        if post.format not in self.limits.formats:
            return [Problem(message="Threads takes short posts and threads.")]
        problems = []
        if post.alts:
            problems.append(
                Problem(message="Threads takes pictures from a public address only, not from here.", part=0)
            )
        for index, text in enumerate(post.parts):
            if not text.strip():
                problems.append(Problem(message="It is empty.", part=index))
            if (size := counted(text)) > (limit := LIMITS["threads"]):
                problems.append(Problem(message=f"It is {size} characters long; {limit} are allowed.", part=index))
        return problems

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return two steps for each part: its container and its publication."""
        steps = []
        for index, text in enumerate(post.parts):
            body: dict[str, object] = {"media_type": "TEXT", "text": text}
            steps.append(Step(keys=(uuid_key(seed, 2 * index),), body=body, hidden=True))
            steps.append(Step(keys=(uuid_key(seed, 2 * index + 1),), body={}))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("An account on Threads is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Return the sign-in with its authorization page."""
        app = {name: given.get(name, "") for name in ("client_id", "client_secret")}
        if not all(app.values()):
            raise LoginError("Threads wants the ID and the secret of an app.")
        client_id = app["client_id"]
        return oauth.begin(AUTHORIZE, client_id=client_id, redirect=redirect, scope=SCOPES, pkce=False, kept=app)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Exchange the code for a token that lasts an hour, and that one for a token that lasts 60 days."""
        server = own_server(server)
        code = code.removesuffix("#_")  # Meta appends this to its redirects
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": sign_in.redirect, **sign_in.kept}
        now = self._clock()
        short_lived = await harmless(oauth.granted(self._client, f"{server}/oauth/access_token", form, now))
        # The only request with secrets in its URL: Meta documents no other way.
        params = {"grant_type": "th_exchange_token", "client_secret": sign_in.kept["client_secret"]}
        params["access_token"] = short_lived.access_token
        url = f"{server}/access_token"
        answer = await harmless(self._client.ask("GET", url, params=params))
        tokens = oauth.grant(answer, url, now)
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._client.ask("GET", f"{server}/v1.0/me", headers=bearer, params=_ME_PARAMS))
        return Connected(account=self._decode_account(server, answer), secrets=oauth.as_secrets(tokens, now))

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        current = self._decode_account(account.server, await self._get(account, "me", _ME_PARAMS))
        if current.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return current

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Create the container of the next part, or publish it."""
        if pictures:
            raise RefusedPostError("Threads takes pictures from a public address only, not from here.")
        index = len(made)
        if intent.steps[index].hidden:
            container = await self._create_container(account, intent, made, index)
            return Made(ids=(container,), urls=())
        container = await self._ready_container(account, intent, made)
        answer = await self._post(account, "threads_publish", {"creation_id": container})
        post_id = proper(answer.read(Named).id)
        return Made(ids=(post_id,), urls=(await self._post_url(account, post_id),))

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Return the post that the container became.

        Containers are never looked up: they are invisible, so a lost one is simply created again.
        """
        index = len(made)
        if intent.steps[index].hidden:
            return None
        status = await self._container_status(account, made[-1].ids[0])
        if status in {"FINISHED", "IN_PROGRESS"}:
            return None
        text, parent = str(intent.steps[index - 1].body["text"]), _parent_id(made, index - 1)
        post = await self._find_post(account, text, parent, since)
        if post is None and status == "PUBLISHED":
            raise UnknownOutcomeError("Threads says that it is published, and does not show it among your posts yet.")
        # It is not documented whether published containers expire, too, so the list of posts decides.
        if post is None:
            return None
        return Made(ids=(post.id,), urls=(shown(post, account),), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, made: Made) -> None:
        """Delete the post. Containers cannot be deleted; they expire."""
        # Results of hidden steps have no URL.
        for post_id in made.ids if made.urls else ():
            url = f"{account.server}/v1.0/{proper(post_id)}"
            answer = await self._access.ask(account, "DELETE", url)
            if not answer.good and not gone(answer):
                raise refusal(answer, self._clock())

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Return views, likes, replies and reposts without quotes; one request per post."""
        metrics: dict[str, Figures | None] = {}
        for post_id in filter(is_id, ids):
            answer = await self._get(account, f"{post_id}/insights", {"metric": "views,likes,replies,reposts"})
            if answer.good:
                metrics[post_id] = answer.read(Insights).figures
            elif not gone(answer):
                raise unseen(answer, self._clock())
            elif gone(await self._get(account, post_id, {"fields": "id"})):  # the post itself, not only its insights
                metrics[post_id] = None
        return metrics

    async def _ready_container(self, account: Account, intent: Intent, completed: Sequence[Made]) -> str:
        """Return the container to publish; create another one if the first has expired or failed."""
        container = completed[-1].ids[0]
        status = await self._container_status(account, container)
        # Creating another container is harmless: only a published one is visible.
        if status in {"EXPIRED", "ERROR"}:
            container = await harmless(self._create_container(account, intent, completed, len(completed) - 1))
            status = await self._container_status(account, container)
        if status == "PUBLISHED":
            raise UnknownOutcomeError("Threads says that it is published already.")
        if status != "FINISHED":
            raise NotSentError("Threads is not ready to publish it.", retry_after=self._clock() + SOON)
        return container

    async def _create_container(self, account: Account, intent: Intent, completed: Sequence[Made], index: int) -> str:
        form = {name: str(value) for name, value in intent.steps[index].body.items()}
        if parent := _parent_id(completed, index):
            form["reply_to_id"] = parent
        return proper((await self._post(account, "threads", form)).read(Named).id)

    async def _post(self, account: Account, endpoint: str, form: Mapping[str, str]) -> Answer:
        url = f"{account.server}/v1.0/{proper(account.id)}/{endpoint}"
        answer = await self._access.ask(account, "POST", url, form=form)
        if not answer.good:
            raise refusal(answer, self._clock())
        return answer

    async def _container_status(self, account: Account, container: str) -> str:
        answer = await self._get(account, proper(container), {"fields": "id,status"})
        if gone(answer):
            # Treat a missing container like an expired one: another one is created.
            return "EXPIRED"
        if not answer.good:
            raise unseen(answer, self._clock())
        status = answer.read(Container).status
        if status not in _STATUSES:
            raise NotSentError("Threads says what cannot be understood of the post that it is to publish.")
        return status

    async def _find_post(self, account: Account, text: str, parent: str, since: datetime) -> ThreadsPost | None:
        """Return the account's oldest post with this text and parent that is not older than `since`."""
        params = {"fields": "id,text,timestamp,permalink" + (",replied_to" if parent else ""), "limit": "100"}
        not_before = since - SLACK
        posts: list[ThreadsPost] = []
        for _ in range(MOST_PAGES):
            answer = await self._get(account, "me/replies" if parent else "me/threads", params)
            if not answer.good:
                raise unseen(answer, self._clock())
            page = answer.read(Page)
            recent = [post for post in page.data if post.at >= not_before]
            posts += recent
            # Lists are newest first, so a page without recent posts is the last one needed.
            if not page.after or (page.data and not recent):
                return the_one(posts, text, parent)
            params["after"] = page.after
        raise UnknownOutcomeError("There are too many posts on the account to look through.")

    async def _post_url(self, account: Account, post_id: str) -> str:
        """Return the URL of the post. Errors are ignored: the post exists whatever this request returns."""
        with suppress(PostingError):
            answer = await self._get(account, post_id, {"fields": "id,timestamp,permalink"})
            if answer.good:
                return shown(answer.read(ThreadsPost), account)
        return page_of(account)

    async def _get(self, account: Account, path: str, params: Mapping[str, str]) -> Answer:
        return await harmless(self._access.ask(account, "GET", f"{account.server}/v1.0/{path}", params=params))

    def _decode_account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unseen(answer, self._clock())
        user = answer.read(User)
        if not is_id(user.id) or not is_name(user.username):
            raise LoginError("Threads does not say whose account it is.")
        return Account(platform=self.name, server=server, id=user.id, name=user.username)

    async def _refresh(self, account: Account, credentials: Mapping[str, str]) -> Granted:
        url = f"{account.server}/refresh_access_token"
        bearer = {"authorization": f"Bearer {credentials.get('access_token', '')}"}
        params = {"grant_type": "th_refresh_token"}
        return oauth.grant(await self._client.ask("GET", url, headers=bearer, params=params), url, self._clock())


_ME_PARAMS = {"fields": "id,username"}
_STATUSES = frozenset({"EXPIRED", "ERROR", "FINISHED", "IN_PROGRESS", "PUBLISHED"})


def _parent_id(completed: Sequence[Made], index: int) -> str:
    """Return the id of the post before step `index`; empty for the first part."""
    return completed[index - 1].ids[0] if index else ""
