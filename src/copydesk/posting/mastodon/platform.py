"""Mastodon: one status per post of a thread, each a reply to the one before.

Images are uploaded before the post that shows them; until that post is created nothing is visible. A lost post is found
on its own account by its text and the post it replies to.
"""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import quote, urlencode, urlsplit

from copydesk.model.platform import PlatformInfo
from copydesk.posting.client import PlatformClient, encode_form_with_image, error_for_read, image_file_name
from copydesk.posting.mastodon.server import (
    CreatedStatus,
    CredentialAccount,
    MediaAttachment,
    Server,
    Status,
    StatusCounts,
    StatusSource,
    error_text,
    exchange_code,
    load_server_info,
    parse_server_address,
    revoke,
    start_sign_in,
    step_result,
)
from copydesk.posting.platform import (
    CLOCK_ERROR,
    RECONNECT_HINT,
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
    reported_metrics,
    uuid_key,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.text.html_tags import BLANK_LINE_MARK, LINE_MARK, strip_tags, unescape_html
from copydesk.text.length import mastodon_length
from copydesk.text.links import MENTION

PAGE_SIZE = 40
"""Statuses per request; Mastodon's maximum."""
MAX_PAGES = 25
PUBLIC = frozenset({"public", "unlisted"})
"""Visibilities of posts that anyone may read."""

Sleep = Callable[[float], Awaitable[None]]
"""Wait for a number of seconds."""

CHECK_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds before each check of images that the server is still processing."""
_PARTIAL_CONTENT = 206
"""Status while the server is still processing an upload."""

MAX_IDS_PER_REQUEST = 20
"""Statuses per request by id; Mastodon's maximum."""
_WITH_KEYS = DeliveryGuarantees(idempotency_window=timedelta(minutes=50))
"""Mastodon keeps idempotency keys for an hour."""
_READ_BACK = DeliveryGuarantees()
# Pre-releases (`4.6.0-rc.1`) do not match and count as servers without reliable keys.
_MASTODON_VERSION = re.compile(r"mastodon (\d{1,4})\.(\d{1,4})\.\d{1,4}(?:\+.*)?")
_CONCURRENT_KEYS_SINCE = (4, 6)


async def find_status(server: Server, account: str, text: str, parent: str | None, since: datetime) -> Status | None:
    """Return the account's latest status since `since` with this text and parent; None if there is none."""
    expected = normalize_text(text)
    # The parent is compared first: the source text may cost a request for each status.
    async for status in _statuses_since(server, account, since):
        if status.in_reply_to_id == parent and expected == normalize_text(await _source_text(server, status)):
            return status
    return None


async def _statuses_since(server: Server, account: str, since: datetime) -> AsyncIterator[Status]:
    """Yield the account's statuses since `since`, latest first. Raise `UnknownOutcomeError` if there are too many."""
    query = {"limit": str(PAGE_SIZE), "exclude_reblogs": "true"}
    for _ in range(MAX_PAGES):
        path = f"/api/v1/accounts/{quote(account, safe='')}/statuses?{urlencode(query)}"
        page = await server.get_json(path, list[Status])
        for status in page:
            if status.created_at >= since and status.reblog is None:
                yield status
        # Some servers list pinned statuses first, however old: only the last one of a page tells its age.
        if not page or page[-1].created_at < since:
            return
        # A server that ignores `max_id` would return the same page for ever.
        if page[-1].id == query.get("max_id"):
            break
        query["max_id"] = page[-1].id
    raise UnknownOutcomeError(f"Too many newer posts on {server.host} to search.")


async def _source_text(server: Server, status: Status) -> str:
    """Return the author's text: from the list, else the status source, else the HTML content."""
    if status.text:
        return status.text
    source = await server.get_json_or_none(f"/api/v1/statuses/{status.id}/source", StatusSource)
    return source.text if source else html_to_text(status.content)


def html_to_text(content: str) -> str:
    """Return the text of a status's HTML. Links are complete in it, although partly in invisible elements."""
    return unescape_html(strip_tags(content))


def html_to_lines(content: str) -> str:
    """Return the text of a status's HTML with its line breaks."""
    text = html_to_text(content).replace(BLANK_LINE_MARK, "\n\n").replace(LINE_MARK, "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def normalize_text(text: str) -> str:
    """Return `text` reduced to what no server changes: no white space, and mentions without their server.

    Mastodon strips white space and rewrites mentions; in HTML, lines are elements.
    """
    short_mentions = MENTION.sub(lambda match: "@" + match[0].split("@")[1].lower(), unicodedata.normalize("NFC", text))
    return "".join(short_mentions.split())


async def upload_images(server: Server, images: Sequence[PostImage], sleep: Sleep) -> list[str]:
    """Upload the images and return their media ids in order, when all are ready.

    Raise `LoginError`, `RefusedPostError` or `NotSentError`: whatever fails here, no post was created. Unused uploads
    are deleted by the server within a day.
    """
    ids: list[str] = []
    processing: list[str] = []
    for image in images:
        media, ready = await _upload(server, image)
        ids.append(media)
        if not ready:
            # Upload everything first and wait once: the server processes images in the background.
            processing.append(media)
    await _wait_until_ready(server, processing, sleep)
    return ids


async def _upload(server: Server, image: PostImage) -> tuple[str, bool]:
    """Return the media id of an image and True if the server has finished processing it."""
    content_type, content = encode_form_with_image({"description": image.alt}, image, image_file_name(image, "picture"))
    try:
        response = await server.request(
            "POST", "/api/v2/media", headers={"content-type": content_type}, content=content
        )
        if not response.is_success:
            raise server.error_for_write(response)
        # 202: the upload is accepted and processed in the background.
        return response.decode(MediaAttachment).id, response.status != 202
    except UnknownOutcomeError as error:
        message = f"Image upload failed; nothing was posted. {error.message}"
        not_sent = NotSentError(message, retry_after=error.retry_after)
    except RefusedPostError as error:
        raise RefusedPostError(f"An image was rejected; nothing was posted. {error.message}") from None
    raise not_sent


async def _wait_until_ready(server: Server, processing: list[str], sleep: Sleep) -> None:
    """Wait until the server has processed the images."""
    for seconds in CHECK_DELAYS:
        if not processing:
            return
        await sleep(seconds)
        processing = [media for media in processing if await _is_processing(server, media)]
    if processing:
        raise NotSentError(f"{server.host} is still processing an image; nothing was posted yet.")


async def _is_processing(server: Server, media: str) -> bool:
    response = await server.get(f"/api/v1/media/{media}")
    if response.status == 422:
        raise RefusedPostError(f"{server.host} cannot process an image; nothing was posted.")
    if response.is_success:
        return response.status == _PARTIAL_CONTENT
    error = server.error_for_write(response)
    if isinstance(error, LoginError | NotSentError):
        raise error
    raise NotSentError(f"An image is not ready; nothing was posted. {error.message}", retry_after=error.retry_after)


class Mastodon:
    """Accounts on Mastodon and compatible servers. `sleep` waits for a number of seconds."""

    info: ClassVar[PlatformInfo] = PLATFORMS["mastodon"]

    def __init__(
        self,
        client: PlatformClient,
        credential_store: CredentialStore,
        *,
        clock: Callable[[], datetime],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock
        self._sleep = sleep

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees that depend on the server's version.

        Mastodon recognizes repeated posts by key since 2017, but only since 4.6 also while the first request is still
        being processed (mastodon#37879): before that, two concurrent requests created two posts (mastodon#21840). The
        key is always sent. Where it cannot be relied on, a missing post is sent again only after a lookup.
        """
        # Other servers are not trusted with keys, however compatible they are otherwise.
        version = _MASTODON_VERSION.fullmatch(account.software)
        if version is None or (int(version[1]), int(version[2])) < _CONCURRENT_KEYS_SINCE:
            return _READ_BACK
        return _WITH_KEYS

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: text too long or empty, articles, too many images, alt texts too long."""
        problems = [
            problem for index, text in enumerate(post.parts) for problem in _text_problems(text, index, account)
        ]
        if post.format not in self.info.limits.formats:
            problems.append(Problem(message="Mastodon does not support articles; use a short post or a thread."))
        if len(post.alts) > self.info.limits.max_images:
            problems.append(Problem(message=f"{len(post.alts)} images; the limit is {self.info.limits.max_images}."))
        if any(len(alt) > self.info.limits.max_alt_length for alt in post.alts):
            limit = self.info.limits.max_alt_length
            problems.append(Problem(message=f"Alt texts are limited to {limit} characters."))
        return problems

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step per post, as public plain text whatever the server's defaults are."""
        return Intent(steps=tuple(_step(seed, index, text) for index, text in enumerate(post.parts)), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Sign in with an access token that the user created in the server's settings."""
        token = credentials.get("token", "").strip()
        if not token:
            raise LoginError("The access token is missing.", hint="Connect with the browser, or enter a token.")
        return await self._connect_with(parse_server_address(server), {"token": token})

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        """Register with the server and return the sign-in with its authorization page."""
        return await start_sign_in(Server(self._client, parse_server_address(server), self._clock), redirect_uri)

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        """Exchange the returned code for credentials."""
        server_url = parse_server_address(server)
        secrets = await exchange_code(Server(self._client, server_url, self._clock), sign_in, code)
        return await self._connect_with(server_url, secrets)

    async def disconnect(self, account: Account) -> None:
        """Revoke the access. A token that the user created is left for the user to revoke."""
        secrets = dict(await self._credential_store.read(account))
        # Stored only for accounts that were connected in the browser.
        if "client_id" in secrets:
            await revoke(Server(self._client, account.server, self._clock), secrets)

    async def check(self, account: Account) -> Account:
        """Return the account with its current name and the properties of its server."""
        server = await self._open_server(account)
        current = await self._load_account(server)
        # The user may have entered a token of another account on the same server.
        if current.id != account.id:
            raise LoginError(f"The access token does not belong to {account.name}.", hint=RECONNECT_HINT)
        return current

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the next status; images belong to the first one."""
        step = intent.steps[len(completed)]
        body = dict(step.body)
        if completed:
            body["in_reply_to_id"] = _parent_id(completed)
        server = await self._open_server(account)
        if images and not completed:
            # Upload before the status: a status cannot be created with images that are still processed.
            body["media_ids"] = await upload_images(server, images, self._sleep)
        response = await server.request(
            "POST", "/api/v1/statuses", headers={"idempotency-key": step.keys[0]}, json=body
        )
        if not response.is_success:
            raise _with_hint(server.error_for_write(response), response.status, completed)
        return step_result(response.decode(CreatedStatus), Evidence.ANSWERED)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the status with the same text and parent; servers do not tell which key a status was created with."""
        text = str(intent.steps[len(completed)].body["status"])
        parent = _parent_id(completed) if completed else None
        status = await find_status(await self._open_server(account), account.id, text, parent, since - CLOCK_ERROR)
        return step_result(status, Evidence.READ_BACK) if status else None

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete statuses; one that does not exist any more is no error."""
        server = await self._open_server(account)
        for status_id in result.ids:
            response = await server.request("DELETE", _status_path(status_id))
            if not response.is_success and response.status not in (404, 410):
                raise error_for_read(response, server.host, self._clock(), explanation=error_text(response))

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return favourites, replies and boosts.

        A status missing from a request by ids is requested by itself before it counts as deleted.
        """
        server = await self._open_server(account)
        metrics: dict[str, PostMetrics | None] = {}
        for start in range(0, len(ids), MAX_IDS_PER_REQUEST):
            query = urlencode([("id[]", status_id) for status_id in ids[start : start + MAX_IDS_PER_REQUEST]])
            statuses = await server.get_json_or_none(f"/api/v1/statuses?{query}", list[StatusCounts])
            if statuses is None:  # before Mastodon 4.3, and elsewhere
                break
            metrics |= {status.id: _to_metrics(status) for status in statuses}
        for status_id in ids:
            if status_id not in metrics:
                metrics[status_id] = await self._load_metrics(server, status_id)
        return {status_id: metrics[status_id] for status_id in ids}

    async def list_posts(self, account: Account, limit: int) -> Sequence[str]:
        """Return the account's newest public posts, without replies and boosts."""
        server = await self._open_server(account)
        query = {"limit": f"{min(limit, PAGE_SIZE)}", "exclude_reblogs": "true", "exclude_replies": "true"}
        path = f"/api/v1/accounts/{quote(account.id, safe='')}/statuses?{urlencode(query)}"
        statuses = await server.get_json(path, list[Status])
        # Some servers ignore the parameters.
        own = (status for status in statuses if status.reblog is None and status.in_reply_to_id is None)
        public = [status for status in own if status.visibility in PUBLIC]
        return [status.text or html_to_lines(status.content) for status in public[:limit]]

    async def _load_metrics(self, server: Server, status_id: str) -> PostMetrics | None:
        response = await server.get(_status_path(status_id))
        if response.status in (404, 410):
            return None
        return _to_metrics(server.decode(response, StatusCounts))

    async def _open_server(self, account: Account) -> Server:
        secrets = await self._credential_store.read(account)
        return Server(self._client, account.server, self._clock, secrets.get("token", ""))

    async def _connect_with(self, server_url: str, secrets: dict[str, str]) -> ConnectResult:
        account = await self._load_account(Server(self._client, server_url, self._clock, secrets["token"]))
        return ConnectResult(account=account, credentials=secrets)

    async def _load_account(self, server: Server) -> Account:
        """Return the account that the token belongs to."""
        owner = await server.get_json("/api/v1/accounts/verify_credentials", CredentialAccount)
        info = await load_server_info(server)
        return Account(
            platform=self.info.name,
            server=server.url,
            id=owner.id,
            name=f"{owner.username}@{info.domain}",
            software=info.software,
            max_length=info.max_characters,
        )


def _step(seed: str, index: int, text: str) -> DeliveryStep:
    # Explicit, because defaults of the account or server could make the post private or parse it as Markdown.
    body: dict[str, object] = {"status": text, "visibility": "public", "content_type": "text/plain"}
    return DeliveryStep(keys=(uuid_key(seed, index),), body=body)


def _parent_id(completed: Sequence[StepResult]) -> str:
    """Return the id of the status that the next one replies to."""
    # A step that the user marked as posted has no id.
    if completed[-1].ids:
        return completed[-1].ids[0]
    raise RefusedPostError("Unknown which post this one replies to.", hint="Post the rest of the thread by hand.")


def _with_hint(error: PostingError, status: int, completed: Sequence[StepResult]) -> PostingError:
    """Return the error with a hint for a 404, about which the server says no more than "not found"."""
    if status != 404 or not isinstance(error, RefusedPostError):
        return error
    explanation = "The post before it was deleted" if completed else "It was made before and deleted"
    return RefusedPostError(error.message, hint=f"{explanation}, or this is not a server that speaks Mastodon's API.")


def _text_problems(text: str, index: int, account: Account) -> Iterable[Problem]:
    size = _server_length(text, account)
    limit = account.max_length or PLATFORMS["mastodon"].limits.max_length or size
    if not text.strip():
        yield Problem(message="The text is empty.", part=index)
    elif size > limit:
        yield Problem(
            message=f"{size} characters; the limit of {urlsplit(account.server).netloc} is {limit}.", part=index
        )


def _server_length(text: str, account: Account) -> int:
    """Return the length as the server counts it: others than Mastodon count URLs in full and code points."""
    # Mastodon counts every link as 23 characters and a mention without its server.
    size = mastodon_length(text)
    return size if account.software.startswith("mastodon ") else max(size, len(text))


def _status_path(status_id: str) -> str:
    return f"/api/v1/statuses/{quote(status_id, safe='')}"


def _to_metrics(counted: StatusCounts) -> PostMetrics:
    return reported_metrics(
        likes=counted.favourites_count, replies=counted.replies_count, reposts=counted.reblogs_count
    )
