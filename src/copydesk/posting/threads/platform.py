"""Threads: each post is an invisible container that is then published by id.

If the response to a publication is lost, the container's status tells its outcome, and the post is then found among the
account's own. It is not documented whether Threads would publish a container twice, so that is never tried.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import ClassVar

from copydesk.model.platform import PlatformInfo
from copydesk.posting import oauth
from copydesk.posting.client import PlatformClient, Response, as_repeatable
from copydesk.posting.oauth import AuthorizedClient, TokenResponse
from copydesk.posting.platform import (
    CLOCK_ERROR,
    Account,
    ConnectResult,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Evidence,
    Intent,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    PostingError,
    PostMetrics,
    Problem,
    RefusedPostError,
    SignIn,
    StepResult,
    UnknownOutcomeError,
    uuid_key,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import parse_server_url
from copydesk.posting.threads.api_models import (
    Container,
    Insights,
    ObjectId,
    Page,
    ThreadsPost,
    User,
    error_for_read,
    error_for_response,
    find_match,
    is_missing,
    is_valid_id,
    is_valid_name,
    length_on_threads,
    profile_url,
    public_url,
    validate_id,
)

AUTHORIZE = "https://threads.com/oauth/authorize"
SCOPES = (
    "threads_basic,threads_content_publish,threads_manage_replies,threads_read_replies,"
    "threads_manage_insights,threads_delete"
)
REFRESH_BEFORE = timedelta(days=10)
"""Refresh tokens this long before they expire. They last 60 days, and 60 more after each refresh."""
MAX_PAGES = 10
"""Pages of 100 posts when searching for one."""
CONTAINER_RETRY_DELAY = timedelta(seconds=30)
"""Delay before a container that is not ready is checked again."""

_ME_PARAMS = {"fields": "id,username"}
_STATUSES = frozenset({"EXPIRED", "ERROR", "FINISHED", "IN_PROGRESS", "PUBLISHED"})


class Threads:
    """Threads, with an app that the user registered. `clock` returns aware datetimes."""

    info: ClassVar[PlatformInfo] = PLATFORMS["threads"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._clock = clock
        self._access = AuthorizedClient(
            client, credential_store, clock, refresh=self._refresh, refresh_before=REFRESH_BEFORE
        )

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return the defaults: containers and posts can be read back."""
        return DeliveryGuarantees()

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: images, which Threads loads from public URLs only, and parts that are empty or too long."""
        if post.format not in self.info.limits.formats:
            return [Problem(message="Threads accepts short posts and threads only.")]
        problems = []
        if post.alts:
            problems.append(Problem(message="Threads accepts images from public addresses only.", part=0))
        for index, text in enumerate(post.parts):
            if not text.strip():
                problems.append(Problem(message="The text is empty.", part=index))
            if (size := length_on_threads(text)) > (limit := self.info.limits.max_length or size):
                problems.append(Problem(message=f"{size} characters; the limit is {limit}.", part=index))
        return problems

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return two steps for each part: its container and its publication."""
        steps = []
        for index, text in enumerate(post.parts):
            body: dict[str, object] = {"media_type": "TEXT", "text": text}
            steps.append(DeliveryStep(keys=(uuid_key(seed, 2 * index),), body=body, hidden=True))
            # Without a body: the container's id is known only when it is sent.
            steps.append(DeliveryStep(keys=(uuid_key(seed, 2 * index + 1),), body={}))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("Threads accounts are connected with the browser.")

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        """Return the sign-in with its authorization page."""
        app = {name: credentials.get(name, "") for name in ("client_id", "client_secret")}
        if not all(app.values()):
            raise LoginError("Threads needs the ID and secret of an app.")
        client_id = app["client_id"]
        return oauth.start_sign_in(
            AUTHORIZE, client_id=client_id, redirect_uri=redirect_uri, scope=SCOPES, pkce=False, context=app
        )

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        """Exchange the code for a token that lasts an hour, and that one for a token that lasts 60 days."""
        server = parse_server_url(server)
        code = code.removesuffix("#_")  # Meta appends this to its redirects
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": sign_in.redirect_uri,
            **sign_in.context,
        }
        now = self._clock()
        short_lived = await as_repeatable(oauth.request_tokens(self._client, f"{server}/oauth/access_token", form, now))
        # The only request with secrets in its URL: Meta documents no other way.
        params = {"grant_type": "th_exchange_token", "client_secret": sign_in.context["client_secret"]}
        params["access_token"] = short_lived.access_token
        url = f"{server}/access_token"
        response = await as_repeatable(self._client.request("GET", url, params=params))
        tokens = oauth.parse_token_response(response, url, now)
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        response = await as_repeatable(
            self._client.request("GET", f"{server}/v1.0/me", headers=bearer, params=_ME_PARAMS)
        )
        return ConnectResult(
            account=self._decode_account(server, response), credentials=oauth.to_credentials(tokens, now)
        )

    async def close(self) -> None:
        """Store tokens that could not be stored when they were granted."""
        await self._access.close()

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        current = self._decode_account(account.server, await self._get(account, "me", _ME_PARAMS))
        oauth.require_same_account(current, account)
        return current

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the container of the next part, or publish it."""
        if images:
            raise RefusedPostError("Threads accepts images from public addresses only.")
        index = len(completed)
        if intent.steps[index].hidden:
            container = await self._create_container(account, intent, completed, index)
            return StepResult(ids=(container,), urls=())
        container = await self._ready_container(account, intent, completed)
        response = await self._post(account, "threads_publish", {"creation_id": container})
        post_id = validate_id(response.decode(ObjectId).id)
        return StepResult(ids=(post_id,), urls=(await self._post_url(account, post_id),))

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the post that the container became.

        A container itself cannot be found: it is invisible, so a lost one is simply created again. Only if its post is
        online, which the database may not know after it was restored, the post is returned in its place.
        """
        index = len(completed)
        if intent.steps[index].hidden:
            text, parent = str(intent.steps[index].body["text"]), _parent_id(completed, index)
            post = await self._find_post(account, text, parent, since)
            return StepResult(ids=(post.id,), urls=(), evidence=Evidence.READ_BACK) if post else None
        is_post = completed[-1].evidence is Evidence.READ_BACK
        status = "PUBLISHED" if is_post else await self._container_status(account, completed[-1].ids[0])
        # Not published yet, so the step can be repeated without a second post.
        if status in {"FINISHED", "IN_PROGRESS"}:
            return None
        text, parent = str(intent.steps[index - 1].body["text"]), _parent_id(completed, index - 1)
        post = await self._find_post(account, text, parent, since)
        if post is None and status == "PUBLISHED":
            raise UnknownOutcomeError("Threads reports the post as published but does not list it yet.")
        # It is not documented whether published containers expire, too, so the list of posts decides.
        if post is None:
            return None
        return StepResult(ids=(post.id,), urls=(public_url(post, account),), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the post. Containers cannot be deleted; they expire."""
        # Results of hidden steps have no URL.
        for post_id in result.ids if result.urls else ():
            url = f"{account.server}/v1.0/{validate_id(post_id)}"
            response = await self._access.request(account, "DELETE", url)
            if not response.is_success and not is_missing(response):
                raise error_for_response(response, self._clock())

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return views, likes, replies and reposts without quotes; one request per post."""
        metrics: dict[str, PostMetrics | None] = {}
        for post_id in filter(is_valid_id, ids):
            response = await self._get(account, f"{post_id}/insights", {"metric": "views,likes,replies,reposts"})
            if response.is_success:
                metrics[post_id] = response.decode(Insights).metrics
            # Any other failure says nothing about the post.
            elif not is_missing(response):
                raise error_for_read(response, self._clock())
            # The post itself may be there without insights.
            elif is_missing(await self._get(account, post_id, {"fields": "id"})):
                metrics[post_id] = None
        return metrics

    async def _ready_container(self, account: Account, intent: Intent, completed: Sequence[StepResult]) -> str:
        """Return the container to publish; create another one if the first has expired or failed."""
        container = completed[-1].ids[0]
        status = await self._container_status(account, container)
        # Creating another container is harmless: only a published one is visible.
        if status in {"EXPIRED", "ERROR"}:
            container = await as_repeatable(self._create_container(account, intent, completed, len(completed) - 1))
            status = await self._container_status(account, container)
        if status == "PUBLISHED":
            raise UnknownOutcomeError("Threads reports the post as already published.")
        if status != "FINISHED":
            raise NotSentError("Threads is not ready to publish it.", retry_after=self._clock() + CONTAINER_RETRY_DELAY)
        return container

    async def _create_container(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], index: int
    ) -> str:
        form = {name: str(value) for name, value in intent.steps[index].body.items()}
        if parent := _parent_id(completed, index):
            form["reply_to_id"] = parent
        return validate_id((await self._post(account, "threads", form)).decode(ObjectId).id)

    async def _post(self, account: Account, endpoint: str, form: Mapping[str, str]) -> Response:
        url = f"{account.server}/v1.0/{validate_id(account.id)}/{endpoint}"
        response = await self._access.request(account, "POST", url, form=form)
        if not response.is_success:
            raise error_for_response(response, self._clock())
        return response

    async def _container_status(self, account: Account, container: str) -> str:
        response = await self._get(account, validate_id(container), {"fields": "id,status"})
        if is_missing(response):
            # Treat a missing container like an expired one: another one is created.
            return "EXPIRED"
        if not response.is_success:
            raise error_for_read(response, self._clock())
        status = response.decode(Container).status
        if status not in _STATUSES:
            raise NotSentError("Threads returned an unknown status of the post.")
        return status

    async def _find_post(self, account: Account, text: str, parent: str, since: datetime) -> ThreadsPost | None:
        """Return the account's post with this text and parent that is nearest to `since`."""
        params = {"fields": "id,text,timestamp,permalink" + (",replied_to" if parent else ""), "limit": "100"}
        not_before = since - CLOCK_ERROR
        posts: list[ThreadsPost] = []
        for _ in range(MAX_PAGES):
            response = await self._get(account, "me/replies" if parent else "me/threads", params)
            if not response.is_success:
                raise error_for_read(response, self._clock())
            page = response.decode(Page)
            recent = [post for post in page.data if post.published_at >= not_before]
            posts += recent
            # Lists are newest first, so a page without recent posts is the last one needed.
            if not page.after or (page.data and not recent):
                return find_match(posts, text, parent, since)
            params["after"] = page.after
        raise UnknownOutcomeError("Too many posts on the account to search.")

    async def _post_url(self, account: Account, post_id: str) -> str:
        """Return the URL of the post. Errors are ignored: the post exists whatever this request returns."""
        with suppress(PostingError):
            response = await self._get(account, post_id, {"fields": "id,timestamp,permalink"})
            if response.is_success:
                return public_url(response.decode(ThreadsPost), account)
        return profile_url(account)

    async def _get(self, account: Account, path: str, params: Mapping[str, str]) -> Response:
        return await as_repeatable(self._access.request(account, "GET", f"{account.server}/v1.0/{path}", params=params))

    def _decode_account(self, server: str, response: Response) -> Account:
        if not response.is_success:
            raise error_for_read(response, self._clock())
        user = response.decode(User)
        # Both become part of URLs.
        if not is_valid_id(user.id) or not is_valid_name(user.username):
            raise LoginError("Threads did not identify the account.")
        return Account(platform=self.info.name, server=server, id=user.id, name=user.username)

    async def _refresh(self, account: Account, credentials: Mapping[str, str]) -> TokenResponse:
        url = f"{account.server}/refresh_access_token"
        bearer = {"authorization": f"Bearer {credentials.get('access_token', '')}"}
        params = {"grant_type": "th_refresh_token"}
        return oauth.parse_token_response(
            await self._client.request("GET", url, headers=bearer, params=params), url, self._clock()
        )


def _parent_id(completed: Sequence[StepResult], index: int) -> str:
    """Return the id of the post before step `index`; empty for the first part."""
    return completed[index - 1].ids[0] if index else ""
