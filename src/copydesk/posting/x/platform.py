"""X over its API v2: threads are sent post by post; lost requests are looked up in the account's own posts.

X has no idempotency keys. It rejects a text that the account has posted before, without naming that post, for an
undocumented time. Self-serve access may be denied replies unless the author was mentioned; whether that includes
replies to oneself is not documented (developer docs, "Integrate", 2026-02-23).
"""

import unicodedata
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import ClassVar

import msgspec

from copydesk.model.platform import Limits, PlatformInfo
from copydesk.posting import oauth
from copydesk.posting.client import PlatformClient, Response, as_repeatable, error_for_read, error_for_write
from copydesk.posting.oauth import AuthorizedClient, TokenResponse
from copydesk.posting.platform import (
    CLOCK_ERROR,
    RECONNECT_HINT,
    Account,
    ConnectResult,
    Cost,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Evidence,
    Intent,
    LoginError,
    Post,
    PostImage,
    PostingError,
    PostMetrics,
    Problem,
    RefusedPostError,
    SignIn,
    StepResult,
    UnknownOutcomeError,
    require_credential,
    uuid_key,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import parse_server_url
from copydesk.posting.x.api_models import (
    HOST,
    Handle,
    PostId,
    Timeline,
    XPost,
    error_for_post,
    error_text,
    fetch_metrics,
    find_match,
    is_valid_id,
)
from copydesk.text.links import all_spans

POST_PRICE, LINK_POST_PRICE, ALT_TEXT_PRICE = Decimal("0.015"), Decimal("0.20"), Decimal("0.005")
"""US dollars for a post, a post with a link, and an alt text (developer docs, "Pricing", 2026-08)."""

AUTHORIZE = "https://x.com/i/oauth2/authorize"
SCOPES = "tweet.read tweet.write users.read media.write offline.access"
REFRESH_BEFORE = timedelta(minutes=10)
"""Refresh tokens this long before they expire. A pair lasts two hours and can be refreshed once."""
MAX_PAGES = 10
"""Pages of 100 posts when searching for one."""
SETTLE_TIME = timedelta(seconds=90)
"""Wait this long after a lost request before its absence counts."""


def post_price(post: Post) -> Cost:
    """Return the price of `post`: each part, much more for one with a link, and each alt text."""
    parts = sum((LINK_POST_PRICE if all_spans(text) else POST_PRICE for text in post.parts), Decimal(0))
    return Cost(amount=parts + ALT_TEXT_PRICE * sum(1 for alt in post.alts if alt))


def validate_post(post: Post, limits: Limits) -> list[Problem]:
    """Return the reasons why X would reject `post`."""
    if post.format not in limits.formats:
        return [Problem(message="X accepts short posts and threads only.")]
    results = [Problem(message=message, part=0) for message in _image_problems(post, limits)]
    for index in range(len(post.parts)):
        results += [Problem(message=message, part=index) for message in _text_problems(post, index)]
    return results


def _image_problems(post: Post, limits: Limits) -> list[str]:
    messages = []
    if len(post.alts) > limits.max_images:
        messages.append(f"X accepts at most {limits.max_images} images.")
    if any(len(alt) > limits.max_alt_length for alt in post.alts):
        messages.append(f"Alt texts on X are limited to {limits.max_alt_length} characters.")
    return messages


def _text_problems(post: Post, index: int) -> list[str]:
    text = post.parts[index]
    messages = []
    if not text.strip() and not (index == 0 and post.alts):
        messages.append("The text is empty.")
    info = PLATFORMS["x"]
    if info.is_too_long(text):
        size, limit = info.count(text), info.limits.max_length
        messages.append(f"{size} characters as X counts; the limit is {limit}.")
    # X would reject the second one as a duplicate, in the middle of the thread.
    if text in post.parts[:index]:
        messages.append("X rejects duplicate texts.")
    return messages


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

    info: ClassVar[PlatformInfo] = PLATFORMS["x"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._clock = clock
        self._access = AuthorizedClient(
            client, credential_store, clock, refresh=self._refresh, refresh_before=REFRESH_BEFORE
        )

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees without idempotent keys; posts can be read back."""
        return DeliveryGuarantees(settle_time=SETTLE_TIME)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: text empty or too long, too many images, the same text twice in one thread."""
        return validate_post(post, self.info.limits)

    def cost(self, post: Post, account: Account) -> Cost | None:
        """Return the price that X charges for the post."""
        return post_price(post)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step per part.

        Texts are in NFC, the form that X stores. The ids of images and of the part before are added when a step is
        sent.
        """
        # Normalize before sending, so that the stored intent equals what X returns.
        texts = [unicodedata.normalize("NFC", text) for text in post.parts]
        steps = (DeliveryStep(keys=(uuid_key(seed, index),), body={"text": text}) for index, text in enumerate(texts))
        return Intent(steps=tuple(steps), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("X accounts are connected with the browser.")

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        """Return the sign-in with its authorization page."""
        app = {"client_id": credentials.get("client_id", ""), "client_secret": credentials.get("client_secret", "")}
        client_id = app["client_id"]
        if not client_id:
            raise LoginError("X needs the client ID of an app.", hint="Create one at developer.x.com.")
        return oauth.start_sign_in(
            AUTHORIZE, client_id=client_id, redirect_uri=redirect_uri, scope=SCOPES, pkce=True, context=app
        )

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        """Exchange the returned code, valid for 30 seconds, for credentials."""
        server = parse_server_url(server)
        context = sign_in.context
        tokens = await as_repeatable(
            self._request_tokens(
                server,
                context,
                grant_type="authorization_code",
                code=code,
                redirect_uri=sign_in.redirect_uri,
                code_verifier=context["code_verifier"],
            )
        )
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        response = await as_repeatable(self._client.request("GET", f"{server}/2/users/me", headers=bearer))
        account = self._decode_account(server, response)
        app = {"client_id": context["client_id"], "client_secret": context.get("client_secret", "")}
        return ConnectResult(account=account, credentials={**app, **oauth.to_credentials(tokens, self._clock())})

    async def close(self) -> None:
        """Store tokens that could not be stored when they were granted."""
        await self._access.close()

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        response = await as_repeatable(self._access.request(account, "GET", f"{account.server}/2/users/me"))
        current = self._decode_account(account.server, response)
        oauth.require_same_account(current, account)
        return current

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the next part of the thread as a reply to the one before; images belong to the first."""
        body = dict(intent.steps[len(completed)].body)
        if completed:
            body["reply"] = {"in_reply_to_tweet_id": completed[-1].ids[0]}
        elif images:
            body["media"] = {"media_ids": await self._upload_images(account, images)}
        response = await self._access.request(account, "POST", f"{account.server}/2/tweets", json=body)
        if not response.is_success:
            raise error_for_post(response, self._clock(), is_reply=bool(completed))
        return _step_result(account, response.decode(_CreatedResponse).data.id, Evidence.ANSWERED)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the account's own post with the same text and parent."""
        text = str(intent.steps[len(completed)].body["text"])
        post = find_match(
            await self._posts_since(account, since), text, completed[-1].ids[0] if completed else None, since
        )
        return _step_result(account, post.id, Evidence.READ_BACK) if post else None

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the post; X charges a cent for that."""
        for post_id in result.ids:
            response = await self._access.request(
                account, "DELETE", f"{account.server}/2/tweets/{_validate_id(post_id)}"
            )
            if not response.is_success and response.status != 404:
                raise self._error_for_write(response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return likes, replies, reposts without quotes, impressions, and link clicks for 30 days."""
        request = partial(self._get, account, "/2/tweets")
        return await fetch_metrics(request, ids, self._clock())

    async def _posts_since(self, account: Account, since: datetime) -> list[XPost]:
        """Return everything that the account posted since `since`.

        Raise `UnknownOutcomeError` if the list is incomplete.
        """
        params = {
            "max_results": "100",
            # X accepts UTC times with whole seconds only.
            "start_time": (since - CLOCK_ERROR).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tweet.fields": "created_at,entities,referenced_tweets,conversation_id",
        }
        posts: list[XPost] = []
        for _ in range(MAX_PAGES):
            response = await self._get(account, f"/2/users/{_validate_id(account.id)}/tweets", params)
            if not response.is_success:
                raise error_for_read(response, HOST, self._clock(), explanation=error_text(response))
            page = response.decode(Timeline)
            # X may withhold posts; then absence from this list proves nothing.
            if len(page.data) != page.meta.result_count:
                raise UnknownOutcomeError("X did not return all posts of the account.")
            posts += page.data
            if not page.meta.next_token:
                return posts
            params["pagination_token"] = page.meta.next_token
        raise UnknownOutcomeError("Too many posts on the account to search.")

    async def _get(self, account: Account, path: str, params: Mapping[str, str]) -> Response:
        return await as_repeatable(self._access.request(account, "GET", account.server + path, params=params))

    async def _upload_images(self, account: Account, images: Sequence[PostImage]) -> list[str]:
        """Upload the images and return their media ids; they stay invisible until a post uses them."""
        if len(images) > self.info.limits.max_images:
            raise RefusedPostError(f"X accepts at most {self.info.limits.max_images} images.")
        return [await as_repeatable(self._upload_image(account, image)) for image in images]

    async def _upload_image(self, account: Account, image: PostImage) -> str:
        body = {"media": b64encode(image.content).decode(), "media_category": "tweet_image"}
        response = await self._access.request(account, "POST", f"{account.server}/2/media/upload", json=body)
        if not response.is_success:
            raise self._error_for_write(response)
        # Alt texts are set with a request of their own, before the post is created.
        media_id = response.decode(_CreatedResponse).data.id
        if image.alt:
            alt_text = {"id": media_id, "metadata": {"alt_text": {"text": image.alt}}}
            response = await self._access.request(account, "POST", f"{account.server}/2/media/metadata", json=alt_text)
            if not response.is_success:
                raise self._error_for_write(response)
        return media_id

    def _error_for_write(self, response: Response) -> PostingError:
        # A 403 concerns this post or image, not the account, so only 401 asks for a new login.
        return error_for_write(
            response, HOST, self._clock(), explanation=error_text(response), login_statuses=frozenset({401})
        )

    def _decode_account(self, server: str, response: Response) -> Account:
        if not response.is_success:
            raise error_for_read(response, HOST, self._clock(), explanation=error_text(response))
        me = response.decode(_MeResponse).data
        return Account(platform=self.info.name, server=server, id=me.id, name=me.username)

    async def _refresh(self, account: Account, credentials: Mapping[str, str]) -> TokenResponse:
        token = credentials.get("refresh_token", "")
        if not token:
            raise LoginError("The access to X has expired.", hint=RECONNECT_HINT)
        return await self._request_tokens(account.server, credentials, grant_type="refresh_token", refresh_token=token)

    async def _request_tokens(self, server: str, credentials: Mapping[str, str], **form: str) -> TokenResponse:
        """Request tokens with `form`. An app with a secret sends it in a header, one without sends only its id."""
        client_id, client_secret = require_credential(credentials, "client_id"), credentials.get("client_secret", "")
        headers = {}
        if client_secret:
            headers["authorization"] = "Basic " + b64encode(f"{client_id}:{client_secret}".encode()).decode()
        url = f"{server}/2/oauth2/token"
        form = {**form, "client_id": client_id}
        return await oauth.request_tokens(self._client, url, form, self._clock(), headers=headers)


def _step_result(account: Account, post_id: str, evidence: Evidence) -> StepResult:
    url = f"https://x.com/{account.name}/status/{post_id}"
    return StepResult(ids=(post_id,), urls=(url,), evidence=evidence)


def _validate_id(value: str) -> str:
    """Return `value` if it is an id: it becomes part of a URL. Raise `UnknownOutcomeError` otherwise."""
    if not is_valid_id(value):
        raise UnknownOutcomeError("X returned an invalid id.")
    return value
