"""Bluesky: a post or a whole thread is one atomic request.

The record keys are chosen by us, so a repeated request creates nothing (the server answers 500), and each post can be
found by its key. Its CID must equal the hash of our own content; nothing else is taken for our post. Images are
uploaded before the post, in every attempt: equal bytes are the same blob, and the server deletes blobs that no post
refers to.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct, to_json_value
from copydesk.posting.bluesky import records
from copydesk.posting.bluesky.records import COLLECTION, Writes
from copydesk.posting.bluesky.session import PASSWORD, REFRESH, Session, SessionClient, decode_error, pds_url
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import (
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
    PostMetrics,
    Problem,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    reported_metrics,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import parse_server_url
from copydesk.text.length import byte_length

_HANDLE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_NO_HANDLE = "handle.invalid"
# Handles copied from web pages often contain bidi marks and zero-width characters.
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

MAX_PARTS = 100
"""Limited by `tid_key`; the server would accept 200 posts at once."""
MAX_RECORDS = 100
"""Records per request; the maximum of listRecords."""
MAX_IDS_PER_REQUEST = 25
"""Posts per request for metrics (app.bsky.feed.getPosts)."""


class CreatedRecord(Struct, frozen=True):
    """A created record."""

    uri: str
    cid: str


class ApplyWritesResponse(Struct, frozen=True):
    """The response of applyWrites."""

    results: list[CreatedRecord]


class UploadBlobResponse(Struct, frozen=True):
    """The response of uploadBlob."""

    blob: records.Blob


class GetRecordResponse(Struct, frozen=True):
    """The response of getRecord."""

    cid: str
    value: dict[str, object]


class ListedPost(Struct, frozen=True):
    """The part of a post record that shows how its author writes."""

    text: str = ""
    reply: object = None


class ListedRecord(Struct, frozen=True):
    """A record in a list."""

    value: ListedPost


class ListRecordsResponse(Struct, frozen=True):
    """The response of com.atproto.repo.listRecords."""

    records: list[ListedRecord]


class PostCounts(Struct, frozen=True):
    """The counters of one post."""

    uri: str
    like_count: int | None = None
    reply_count: int | None = None
    repost_count: int | None = None


class GetPostsResponse(Struct, frozen=True):
    """The response of getPosts."""

    posts: list[PostCounts]


def account_from_session(account: Account, session: Session) -> Account:
    """Return the account with the handle and server of the session. An invalid handle is replaced by the DID."""
    handle = session.handle
    name = handle if _HANDLE.fullmatch(handle) and handle != _NO_HANDLE else session.did
    return replace(account, name=name, server=pds_url(session, account.server))


def step_result(account: Account, step: DeliveryStep) -> StepResult:
    """Return the step's posts with their URLs on bsky.app."""
    # bsky.app accepts a DID in place of a handle.
    profile = account.name if _HANDLE.fullmatch(account.name) else account.id
    return StepResult(
        ids=step.expects, urls=tuple(f"https://bsky.app/profile/{profile}/post/{key}" for key in step.keys)
    )


def expected_cids(step: DeliveryStep, first: GetRecordResponse) -> list[str]:
    """Return the CIDs that the posts of a step must have if `first` is the post that we sent.

    The images are taken from `first`, because their blobs are not known before the upload, and so is the time, which
    differs if the draft was posted before without a trace in the database. Empty if they cannot be ours.
    """
    writes = msgspec.convert(step.body, records.Writes)
    created_at = first.value.get("createdAt")
    if isinstance(created_at, str):
        writes = records.with_time(writes, created_at)
    planned = records.images_of(writes)
    try:
        # An embed that does not decode as images was not created by us.
        actual = msgspec.convert(first.value.get("embed"), records.Embed).images if planned else []
    except msgspec.ValidationError:
        return []
    if len(actual) != len(planned):
        return []
    images = [replace(image, alt=image_plan.alt) for image, image_plan in zip(actual, planned, strict=True)]
    return records.with_images_and_cids(writes, images)[1]


def to_metrics(counts: PostCounts) -> PostMetrics:
    """Return the metrics; Bluesky counts no views and no clicks."""
    return reported_metrics(likes=counts.like_count, replies=counts.reply_count, reposts=counts.repost_count)


def normalize_handle(text: str) -> str:
    """Return a handle that was typed or pasted, without `@` and invisible characters."""
    return _INVISIBLE.sub("", text).removeprefix("@")


def text_problem(text: str, *, may_be_empty: bool) -> str:
    """Return why the server would reject `text` as a post; empty if it would accept it."""
    info = PLATFORMS["bluesky"]
    if info.is_too_long(text):
        return f"{info.count(text)} characters; the Bluesky limit is {info.limits.max_length}."
    if not info.fits(text):
        size, limit = byte_length(text), info.limits.max_bytes
        return f"{size} bytes; the Bluesky limit is {limit}. Composed emoji count many bytes."
    return "" if text.strip() or may_be_empty else "The text is empty."


class Bluesky:
    """Accounts on bsky.social or any other PDS, with an app password."""

    info: ClassVar[PlatformInfo] = PLATFORMS["bluesky"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._sessions = SessionClient(client, credential_store, clock)

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees with idempotent keys: a record key can be created once."""
        return DeliveryGuarantees(idempotent=True)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: posts too long or empty, threads too long, too many images."""
        if post.format not in self.info.limits.formats:
            return [Problem(message="Bluesky does not support articles.")]
        problems = [] if post.parts else [Problem(message="The text is empty.")]
        if len(post.parts) > MAX_PARTS:
            problems.append(Problem(message=f"{len(post.parts)} posts; the limit per thread is {MAX_PARTS}."))
        if len(post.alts) > self.info.limits.max_images:
            problems.append(
                Problem(message=f"{len(post.alts)} images; the Bluesky limit is {self.info.limits.max_images}.")
            )
        for index, text in enumerate(post.parts):
            if problem := text_problem(text, may_be_empty=bool(post.alts) and index == 0):
                problems.append(Problem(message=problem, part=index))
        return problems

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step for the post or the whole thread. Mentions stay plain text, see `render_text`."""
        writes = records.writes_for(post, account.id, seed)
        keys = tuple(create.rkey for create in writes.writes)
        expects = tuple(records.uri_of(account.id, key) for key in keys)
        body = to_json_value(writes)
        assert isinstance(body, dict)
        return Intent(steps=(DeliveryStep(keys=keys, body=body, expects=expects),), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Sign in with handle and app password."""
        server_url = parse_server_url(server)
        session = await self._sessions.sign_in(
            server_url, normalize_handle(credentials["handle"]), credentials[PASSWORD].strip()
        )
        account = account_from_session(
            Account(platform=self.info.name, server=server_url, id=session.did, name=""), session
        )
        return ConnectResult(
            account=account, credentials={PASSWORD: credentials[PASSWORD].strip(), REFRESH: session.refresh_jwt}
        )

    async def check(self, account: Account) -> Account:
        """Return the account with its current handle and server."""
        session = await self._sessions.get(account, "com.atproto.server.getSession", Session)
        if session.did != account.id:
            raise LoginError(f"{account.name} now belongs to another account.", hint="Connect it again.")
        return account_from_session(account, session)

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Upload the images and create all posts at once."""
        step = intent.steps[len(completed)]
        writes = msgspec.convert(step.body, Writes)
        planned = records.images_of(writes)
        # The alt texts were fixed together with the post, so each one needs its file.
        if len(planned) != len(images):
            raise RefusedPostError(f"The post needs {len(planned)} images, but {len(images)} are available.")
        pairs = zip(images, planned, strict=True)
        record_images = [records.image_of(image, planned_image.alt) for image, planned_image in pairs]
        for image in images:
            await self._upload_image(account, image)
        complete_writes, cids = records.with_images_and_cids(writes, record_images)
        response = await self._sessions.request(
            account, "POST", "com.atproto.repo.applyWrites", json=to_json_value(complete_writes)
        )
        if not response.is_success:
            raise self._sessions.error_for_write(account.server, response)
        results = response.decode(ApplyWritesResponse).results
        if [(result.uri, result.cid) for result in results] != list(zip(step.expects, cids, strict=True)):
            raise UnknownOutcomeError("Bluesky reports a different record than requested.")
        return step_result(account, step)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the posts if all are there with the content that was sent, None if none of them is there.

        Raise `UnknownOutcomeError` for anything in between.
        """
        step = intent.steps[len(completed)]
        lookups = [await self._get_record(account, key) for key in step.keys]
        existing = [record for record in lookups if record is not None]
        if not existing:
            return None
        # The request was atomic, so a part of a thread means that the rest was deleted later.
        if len(existing) < len(lookups):
            raise UnknownOutcomeError(
                f"{len(existing)} of {len(lookups)} posts of the thread exist: the others were deleted.",
                hint="Check the thread, then mark it as posted or resend it.",
            )
        if [record.cid for record in existing] != expected_cids(step, existing[0]):
            raise UnknownOutcomeError(
                "A different post exists under the same key.",
                hint="Check your profile, then mark it as posted or resend it.",
            )
        return msgspec.structs.replace(step_result(account, step), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the posts, the last one first."""
        # Only posts of the account itself are deleted, whatever id is stored.
        own_prefix = records.uri_of(account.id, "")
        for uri in reversed(result.ids):
            if not uri.startswith(own_prefix):
                raise RefusedPostError(f"{uri} is not a post of {account.name}.")
            params = {"repo": account.id, "collection": COLLECTION, "rkey": uri.removeprefix(own_prefix)}
            response = await self._sessions.request(account, "POST", "com.atproto.repo.deleteRecord", json=params)
            if not response.is_success:
                raise self._sessions.error_for_write(account.server, response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return the counters of Bluesky's index, which has no views and no clicks.

        The index lags behind and does not cover all servers. A post is None only if its own server says that it is
        deleted; a post that only the index lacks has empty metrics.
        """
        metrics: dict[str, PostMetrics | None] = dict.fromkeys(ids)
        for start in range(0, len(ids), MAX_IDS_PER_REQUEST):
            query = [("uris", uri) for uri in ids[start : start + MAX_IDS_PER_REQUEST]]
            response = await self._sessions.get(account, "app.bsky.feed.getPosts", GetPostsResponse, query)
            metrics.update((counts.uri, to_metrics(counts)) for counts in response.posts if counts.uri in metrics)
        for uri in [uri for uri, value in metrics.items() if value is None]:
            if await self._get_record(account, uri.rpartition("/")[2]):
                metrics[uri] = PostMetrics()
        return metrics

    async def list_posts(self, account: Account, limit: int) -> Sequence[str]:
        """Return the newest posts from the account's repository, without replies. Reposts are other records."""
        params = {"repo": account.id, "collection": COLLECTION, "limit": f"{min(limit, MAX_RECORDS)}"}
        url = f"{account.server}/xrpc/com.atproto.repo.listRecords"
        try:
            response = await self._client.request("GET", url, params=params)
            if not response.is_success:
                raise self._sessions.error_for_read(account.server, response)
            listed = response.decode(ListRecordsResponse).records
        except UnknownOutcomeError as error:
            raise NotSentError(f"Cannot read the account: {error.message}") from None
        return [record.value.text for record in listed[:limit] if record.value.reply is None]

    async def _upload_image(self, account: Account, image: PostImage) -> None:
        """Upload an image. Any failure means that no post was created."""
        name = "com.atproto.repo.uploadBlob"
        try:
            response = await self._sessions.request(
                account, "POST", name, content=image.content, media_type=image.media_type
            )
            # The record is hashed with our own reference, so the server's must be the same.
            if response.is_success and response.decode(UploadBlobResponse).blob == records.blob_of(image):
                return
        except UnknownOutcomeError as error:
            raise NotSentError(f"Image upload failed: {error.message}") from None
        if response.is_success:
            raise NotSentError("Image upload failed: the server stored different data.")
        upload_error = self._sessions.error_for_write(account.server, response)
        if isinstance(upload_error, UnknownOutcomeError):
            raise NotSentError(upload_error.message, retry_after=upload_error.retry_after)
        raise upload_error

    async def _get_record(self, account: Account, key: str) -> GetRecordResponse | None:
        """Return the record with this key; None if the server says that there is none."""
        params = {"repo": account.id, "collection": COLLECTION, "rkey": key}
        url = f"{account.server}/xrpc/com.atproto.repo.getRecord"
        try:
            response = await self._client.request("GET", url, params=params)
            if response.is_success:
                return response.decode(GetRecordResponse)
        except UnknownOutcomeError as error:
            raise NotSentError(f"Cannot check the account: {error.message}") from None
        if response.status in (400, 404) and decode_error(response).error == "RecordNotFound":
            return None
        raise self._sessions.error_for_read(account.server, response)
