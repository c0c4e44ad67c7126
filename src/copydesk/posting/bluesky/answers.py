"""Responses of a PDS and their conversion to our types."""

import re

import msgspec
from msgspec.structs import replace

from copydesk.model.wire import Struct
from copydesk.posting.bluesky import records
from copydesk.posting.bluesky.session import Session, pds_url
from copydesk.posting.platform import Account, DeliveryStep, PostMetrics, StepResult
from copydesk.text.length import BYTE_LIMITS, LIMITS, byte_length, length

_HANDLE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_NO_HANDLE = "handle.invalid"
# Handles copied from web pages often contain bidi marks and zero-width characters.
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


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

    The images are taken from `first`, because their blobs are not known before the upload. Empty if they cannot be
    ours.
    """
    writes = msgspec.convert(step.body, records.Writes)
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
    return PostMetrics(likes=counts.like_count, replies=counts.reply_count, reposts=counts.repost_count)


def normalize_handle(text: str) -> str:
    """Return a handle that was typed or pasted, without `@` and invisible characters."""
    return _INVISIBLE.sub("", text).removeprefix("@")


def text_problem(text: str, *, may_be_empty: bool) -> str:
    """Return why the server would reject `text` as a post; empty if it would accept it."""
    count, limit = length(text, "bluesky"), LIMITS["bluesky"]
    if count > limit:
        return f"It has {count} characters; Bluesky takes {limit}."
    size, limit = byte_length(text), BYTE_LIMITS["bluesky"]
    if size > limit:
        return f"It has {size} bytes; Bluesky takes {limit}. Emoji of several parts are large."
    return "" if text.strip() or may_be_empty else "It has no text."
