"""Payload of a post: the draft's text as it was approved, and its images. Also the user's own rules for posts."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cache, partial
from typing import ParamSpec, TypeVar

from copydesk.desk.context import DeskContext
from copydesk.errors import ImageError
from copydesk.model.draft import Format, ListedDraft
from copydesk.model.serialization import Struct
from copydesk.posting.platform import Limits, NotSentError, Post, PostImage, RefusedPostError
from copydesk.scheduling.time_text import MONTHS
from copydesk.settings import Posting
from copydesk.store import deliveries, draft_queries, schedule
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow
from copydesk.text.thread import split_parts

P = ParamSpec("P")
T = TypeVar("T")


DUPLICATE_TEXT_WINDOW = timedelta(days=30)
"""Refuse the same text on the same account within this window unless the user forces it."""


class PostPayload(Struct, frozen=True):
    post: Post
    images: tuple[PostImage, ...] = ()


async def load_payload(ctx: DeskContext, row: DeliveryRow, limits: Limits) -> PostPayload:
    """Return the payload of a delivery.

    Raise RefusedPostError if its draft or images cannot be used, NotSentError if an image cannot be loaded now but may
    be later.
    """
    draft = await ctx.read(draft_queries.get, row.draft_id)
    if draft is None:
        raise RefusedPostError("Its draft was deleted.")
    images = await _load_images(ctx, draft, limits) if draft.images else ()
    # Dated `due_at`, not now: the rendered post must be the same for every attempt.
    return PostPayload(post=to_post(draft, row.due_at), images=images)


async def run_in_article_thread(post: Post, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `func(*args, **kwargs)`; for an article, run it in the article thread.

    Rendering an article can take seconds of CPU time and would block the event loop. Other formats are rendered inline.
    """
    if post.format is not Format.BLOG:
        return func(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_article_executor(), partial(func, *args, **kwargs))


@cache
def _article_executor() -> ThreadPoolExecutor:
    """Return an executor with a single thread: the article renderer cannot run twice at the same time."""
    return ThreadPoolExecutor(1, thread_name_prefix="articles")


async def _load_images(ctx: DeskContext, draft: ListedDraft, limits: Limits) -> tuple[PostImage, ...]:
    """Return all images of the draft. Raise if one cannot be loaded: a post never goes out with an image missing."""
    from copydesk.desk.images.draft_images import load_images  # noqa: PLC0415 - only for drafts with images

    try:
        return await load_images(ctx, draft.images, limits)
    except ImageError as error:
        if error.is_temporary:
            later = None if error.retry_after is None else ctx.clock() + timedelta(seconds=error.retry_after)
            raise NotSentError(error.message, hint=error.hint, retry_after=later) from None
        raise RefusedPostError(error.message, hint=error.hint) from None


async def find_duplicate(ctx: DeskContext, draft_id: str, digest: str, account_id: str | None) -> str | None:
    """Return when another draft with the same text was posted to the account, as a sentence without its full stop.

    Return None if there was none within DUPLICATE_TEXT_WINDOW.
    """
    since = ctx.clock() - DUPLICATE_TEXT_WINDOW
    sent_at = await ctx.read(_load_duplicate_sent_at, draft_id, digest, account_id, since)
    if sent_at is None:
        return None
    # Not strftime's name, which follows the machine's locale.
    return f"The same text was posted there on {sent_at.day} {MONTHS[sent_at.month - 1].title()}"


def _load_duplicate_sent_at(
    conn: Transaction, user_id: str, draft_id: str, digest: str, account_id: str | None, since: datetime
) -> datetime | None:
    """Return when the duplicate was sent, in the user's time zone."""
    sent_at = deliveries.last_duplicate_sent_at(conn, user_id, draft_id, digest, account_id, since)
    return sent_at.astimezone(schedule.get_time_zone(conn, user_id)) if sent_at else None


def to_post(draft: ListedDraft, at: datetime) -> Post:
    """Return `draft` as a `Post` that goes out at `at`."""
    return Post(
        format=draft.format,
        parts=split_text(draft.format, draft.text),
        at=at,
        tags=draft.tags,
        alts=tuple(image.alt or "" for image in sorted(draft.images, key=lambda image: image.position)),
    )


def split_text(format: Format, text: str) -> tuple[str, ...]:
    """Return the posts of a thread; for any other format, and for a blank text, a tuple with the one text, stripped."""
    parts: Sequence[str] = split_parts(text) if format is Format.THREAD else ()
    return tuple(parts) or (text.strip(),)


def rule_violations(post: Post, rules: Posting) -> tuple[str, ...]:
    """Return a message for each rule that `post` violates."""
    # A preview of a text that is still to be typed has no parts.
    if post.parts and not any(part.strip() for part in post.parts):
        return ("The text is empty.",)
    if not rules.require_alt:
        return ()
    missing = [f"{number}" for number, alt in enumerate(post.alts, 1) if not alt.strip()]
    if not missing:
        return ()
    subject = f"Image {missing[0]} has" if len(missing) == 1 else f"Images {', '.join(missing)} have"
    return (f"{subject} no alt text, required by the setting posting.require_alt.",)
