"""What a PDS answers, and what Copydesk makes of it."""

import re

import msgspec
from msgspec.structs import replace

from copydesk.model.wire import Struct
from copydesk.posting.bluesky import records
from copydesk.posting.bluesky.session import Session, server_of
from copydesk.posting.platform import Account, Figures, Made, Step
from copydesk.text.length import BYTE_LIMITS, LIMITS, byte_length, length

_HANDLE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_NO_HANDLE = "handle.invalid"
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Place(Struct, frozen=True):
    """A record that was made."""

    uri: str
    cid: str


class Done(Struct, frozen=True):
    """The answer of applyWrites."""

    results: list[Place]


class Uploaded(Struct, frozen=True):
    """The answer of uploadBlob."""

    blob: records.Blob


class Found(Struct, frozen=True):
    """The answer of getRecord."""

    cid: str
    value: dict[str, object]


class Counts(Struct, frozen=True):
    """Of one post."""

    uri: str
    like_count: int | None = None
    reply_count: int | None = None
    repost_count: int | None = None


class Counted(Struct, frozen=True):
    """The answer of getPosts."""

    posts: list[Counts]


def known(account: Account, session: Session) -> Account:
    """The account as the server just called it. A handle that does not lead to it is none."""
    handle = session.handle
    shown = handle if _HANDLE.fullmatch(handle) and handle != _NO_HANDLE else session.did
    return replace(account, name=shown, server=server_of(session, account.server))


def made(account: Account, step: Step) -> Made:
    """The posts of a step, with where people see them."""
    who = account.name if _HANDLE.fullmatch(account.name) else account.id
    return Made(ids=step.expects, urls=tuple(f"https://bsky.app/profile/{who}/post/{key}" for key in step.keys))


def expected(step: Step, first: Found) -> list[str]:
    """The CIDs that the posts of a step have, where the pictures are those of the post that was found.

    Empty where its pictures are none that could have come from us.
    """
    writes = msgspec.convert(step.body, records.Writes)
    planned = records.images_of(writes)
    try:
        theirs = msgspec.convert(first.value.get("embed"), records.Embed).images if planned else []
    except msgspec.ValidationError:
        return []
    if len(theirs) != len(planned):
        return []
    images = [replace(image, alt=ours.alt) for image, ours in zip(theirs, planned, strict=True)]
    return records.completed(writes, images)[1]


def figures(counts: Counts) -> Figures:
    """What is counted; views and clicks are not."""
    return Figures(likes=counts.like_count, replies=counts.reply_count, reposts=counts.repost_count)


def typed(text: str) -> str:
    """A handle as people paste it, without the @ and what cannot be seen."""
    return _INVISIBLE.sub("", text).removeprefix("@")


def wrong_with(text: str, *, may_be_empty: bool) -> str:
    """Why the server would not take `text` as a post; empty where it would."""
    count, most = length(text, "bluesky"), LIMITS["bluesky"]
    if count > most:
        return f"It has {count} characters; Bluesky takes {most}."
    size, most = byte_length(text), BYTE_LIMITS["bluesky"]
    if size > most:
        return f"It has {size} bytes; Bluesky takes {most}. Emoji of several parts are large."
    return "" if text.strip() or may_be_empty else "It has no text."
