"""Threads: for each post a container that nobody sees, and then its publication by id.

What became of a publication whose answer was lost is read from the container's status, and the post is then found among
the account's own. Whether Threads would publish a container twice is not documented; it is never asked to.
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
"""Before its end a token is renewed: it is good for 60 days, and for 60 more each time."""
MOST_PAGES = 10
"""Of a hundred posts each, when one is looked for."""
SOON = timedelta(seconds=30)
"""Until a container is asked about again that is not ready."""


class Threads:
    """Threads, for one app of the user's own; `clock` gives aware times."""

    name: ClassVar[str] = "threads"
    limits: ClassVar[Limits] = Limits(formats=frozenset({Format.SHORT, Format.THREAD}))
    home: ClassVar[str] = "https://graph.threads.net"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="client_id", question="Threads app ID, from the settings of your app at developers.facebook.com"),
        Wanted(name="client_secret", question="Threads app secret", secret=True),
    )
    fixed_port: ClassVar[int | None] = 8397
    by_hand: ClassVar[str] = "https://localhost:8397/callback"
    """Threads wants https, which nobody serves there: the code is then in the browser's address bar."""

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._clock = clock
        self._access = Access(caller, secrets, clock, renew=self._renew, early=EARLY)

    def trust(self, account: Account) -> Trust:
        """Containers and posts can be read."""
        return Trust()

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Pictures, which Threads takes from public addresses only, and parts that are too long."""
        if post.format not in self.limits.formats:
            return [Problem(message="Threads takes short posts and threads.")]
        found = []
        if post.alts:
            found.append(Problem(message="Threads takes pictures from a public address only, not from here.", part=0))
        for place, text in enumerate(post.parts):
            if not text.strip():
                found.append(Problem(message="It is empty.", part=place))
            if (long := counted(text)) > (most := LIMITS["threads"]):
                found.append(Problem(message=f"It is {long} characters long; {most} are allowed.", part=place))
        return found

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Two steps for each part: its container, and its publication."""
        steps = []
        for place, text in enumerate(post.parts):
            body: dict[str, object] = {"media_type": "TEXT", "text": text}
            steps.append(Step(keys=(uuid_key(seed, 2 * place),), body=body, hidden=True))
            steps.append(Step(keys=(uuid_key(seed, 2 * place + 1),), body={}))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Not without a browser."""
        raise LoginError("An account on Threads is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Where the user says yes."""
        kept = {name: given.get(name, "") for name in ("client_id", "client_secret")}
        if not all(kept.values()):
            raise LoginError("Threads wants the ID and the secret of an app.")
        client_id = kept["client_id"]
        return oauth.begin(AUTHORIZE, client_id=client_id, redirect=redirect, scope=SCOPES, pkce=False, kept=kept)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Get in with the code, and change its token, which is good for an hour, for one that is good for 60 days."""
        server = own_server(server)
        code = code.removesuffix("#_")  # Meta's redirect ends in this
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": sign_in.redirect, **sign_in.kept}
        now = self._clock()
        short = await harmless(oauth.granted(self._caller, f"{server}/oauth/access_token", form, now))
        # The one request that has secrets in its address: Meta documents no other way to ask.
        asked = {"grant_type": "th_exchange_token", "client_secret": sign_in.kept["client_secret"]}
        asked["access_token"] = short.access_token
        url = f"{server}/access_token"
        answer = await harmless(self._caller.ask("GET", url, params=asked))
        tokens = oauth.grant(answer, url, now)
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._caller.ask("GET", f"{server}/v1.0/me", headers=bearer, params=_ME))
        return Connected(account=self._account(server, answer), secrets=oauth.as_secrets(tokens, now))

    async def check(self, account: Account) -> Account:
        """The account under the name that it has now."""
        found = self._account(account.server, await self._look(account, "me", _ME))
        if found.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return found

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Make the container of the next part, or publish it."""
        if pictures:
            raise RefusedPostError("Threads takes pictures from a public address only, not from here.")
        place = len(made)
        if intent.steps[place].hidden:
            container = await self._contain(account, intent, made, place)
            return Made(ids=(container,), urls=())
        container = await self._ready(account, intent, made)
        answer = await self._make(account, "threads_publish", {"creation_id": container})
        post_id = proper(answer.read(Named).id)
        return Made(ids=(post_id,), urls=(await self._url(account, post_id),))

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The post that the container became. A container nobody sees: a lost one is simply made again."""
        place = len(made)
        if intent.steps[place].hidden:
            return None
        status = await self._status(account, made[-1].ids[0])
        if status in {"FINISHED", "IN_PROGRESS"}:
            return None
        text, parent = str(intent.steps[place - 1].body["text"]), _parent(made, place - 1)
        found = await self._find(account, text, parent, since)
        if found is None and status == "PUBLISHED":
            raise UnknownOutcomeError("Threads says that it is published, and does not show it among your posts yet.")
        # Whether a container that was published expires, too, is not documented: then the list of posts decides.
        if found is None:
            return None
        return Made(ids=(found.id,), urls=(shown(found, account),), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, made: Made) -> None:
        """Take the post back. A container cannot be taken back, and expires by itself."""
        for post_id in made.ids if made.urls else ():
            url = f"{account.server}/v1.0/{proper(post_id)}"
            answer = await self._access.ask(account, "DELETE", url)
            if not answer.good and not gone(answer):
                raise refusal(answer, self._clock())

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Views, likes, replies, reposts without quotes, of one post at a time."""
        found: dict[str, Figures | None] = {}
        for post_id in filter(is_id, ids):
            answer = await self._look(account, f"{post_id}/insights", {"metric": "views,likes,replies,reposts"})
            if answer.good:
                found[post_id] = answer.read(Insights).figures
            elif not gone(answer):
                raise unseen(answer, self._clock())
            elif gone(await self._look(account, post_id, {"fields": "id"})):  # it is not the insights that are closed
                found[post_id] = None
        return found

    async def _ready(self, account: Account, intent: Intent, made: Sequence[Made]) -> str:
        """The container that is to be published; another one where the first cannot be any more."""
        container = made[-1].ids[0]
        status = await self._status(account, container)
        if status in {"EXPIRED", "ERROR"}:
            container = await harmless(self._contain(account, intent, made, len(made) - 1))
            status = await self._status(account, container)
        if status == "PUBLISHED":
            raise UnknownOutcomeError("Threads says that it is published already.")
        if status != "FINISHED":
            raise NotSentError("Threads is not ready to publish it.", retry_after=self._clock() + SOON)
        return container

    async def _contain(self, account: Account, intent: Intent, made: Sequence[Made], place: int) -> str:
        form = {name: str(value) for name, value in intent.steps[place].body.items()}
        if parent := _parent(made, place):
            form["reply_to_id"] = parent
        return proper((await self._make(account, "threads", form)).read(Named).id)

    async def _make(self, account: Account, what: str, form: Mapping[str, str]) -> Answer:
        url = f"{account.server}/v1.0/{proper(account.id)}/{what}"
        answer = await self._access.ask(account, "POST", url, form=form)
        if not answer.good:
            raise refusal(answer, self._clock())
        return answer

    async def _status(self, account: Account, container: str) -> str:
        answer = await self._look(account, proper(container), {"fields": "id,status"})
        if gone(answer):
            return "EXPIRED"
        if not answer.good:
            raise unseen(answer, self._clock())
        status = answer.read(Container).status
        if status not in _STATUSES:
            raise NotSentError("Threads says what cannot be understood of the post that it is to publish.")
        return status

    async def _find(self, account: Account, text: str, parent: str, since: datetime) -> ThreadsPost | None:
        """The oldest post of the account that says `text` in answer to `parent` and is not older than `since`."""
        params = {"fields": "id,text,timestamp,permalink" + (",replied_to" if parent else ""), "limit": "100"}
        earliest = since - SLACK
        posts: list[ThreadsPost] = []
        for _ in range(MOST_PAGES):
            answer = await self._look(account, "me/replies" if parent else "me/threads", params)
            if not answer.good:
                raise unseen(answer, self._clock())
            page = answer.read(Page)
            young = [post for post in page.data if post.at >= earliest]
            posts += young
            if not page.after or (page.data and not young):
                return the_one(posts, text, parent)
            params["after"] = page.after
        raise UnknownOutcomeError("There are too many posts on the account to look through.")

    async def _url(self, account: Account, post_id: str) -> str:
        """Where the post is seen. It is made, whatever becomes of this question."""
        with suppress(PostingError):
            answer = await self._look(account, post_id, {"fields": "id,timestamp,permalink"})
            if answer.good:
                return shown(answer.read(ThreadsPost), account)
        return page_of(account)

    async def _look(self, account: Account, path: str, params: Mapping[str, str]) -> Answer:
        return await harmless(self._access.ask(account, "GET", f"{account.server}/v1.0/{path}", params=params))

    def _account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unseen(answer, self._clock())
        user = answer.read(User)
        if not is_id(user.id) or not is_name(user.username):
            raise LoginError("Threads does not say whose account it is.")
        return Account(platform=self.name, server=server, id=user.id, name=user.username)

    async def _renew(self, account: Account, held: Mapping[str, str]) -> Granted:
        url = f"{account.server}/refresh_access_token"
        bearer = {"authorization": f"Bearer {held.get('access_token', '')}"}
        params = {"grant_type": "th_refresh_token"}
        return oauth.grant(await self._caller.ask("GET", url, headers=bearer, params=params), url, self._clock())


_ME = {"fields": "id,username"}
_STATUSES = frozenset({"EXPIRED", "ERROR", "FINISHED", "IN_PROGRESS", "PUBLISHED"})


def _parent(made: Sequence[Made], place: int) -> str:
    """The published part before the container at `place`; empty for the first."""
    return made[place - 1].ids[0] if place else ""
