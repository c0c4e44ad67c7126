"""Payload of a post: the draft's text as it was approved, and its images."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache, partial
from typing import ParamSpec, TypeVar

from copydesk.desk.ground import Ground
from copydesk.model.draft import Format, ListedDraft
from copydesk.model.wire import Struct
from copydesk.posting.platform import Limits, NotSentError, Picture, Post, RefusedPostError
from copydesk.store import lists
from copydesk.store.deliveries import KeptDelivery
from copydesk.text.thread import split_parts

P = ParamSpec("P")
T = TypeVar("T")


class Material(Struct, frozen=True):
    post: Post
    pictures: tuple[Picture, ...] = ()


async def material_of(ground: Ground, kept: KeptDelivery, limits: Limits) -> Material:
    """Return the payload of a delivery.

    Raise RefusedPostError if its draft or images cannot be used, NotSentError if an image cannot be loaded now but may
    be later.
    """
    draft = await ground.read(lists.one, kept.draft_id)
    if draft is None:
        raise RefusedPostError("Its draft is gone.")
    images = await _load_images(ground, draft, limits) if draft.images else ()
    # Dated `due_at`, not now: the rendered post must be the same for every attempt.
    return Material(post=draft_post(draft, kept.due_at), pictures=images)


async def apart(post: Post, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args, **kwargs)`; for an article, run it in the article thread.

    Rendering an article can take seconds of CPU time and would block the event loop. Other formats are rendered inline.
    """
    if post.format is not Format.BLOG:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_article_executor(), partial(work, *args, **kwargs))


@cache
def _article_executor() -> ThreadPoolExecutor:
    """Return an executor with a single thread: the article renderer cannot run twice at the same time."""
    return ThreadPoolExecutor(1, thread_name_prefix="articles")


async def _load_images(ctx: Ground, draft: ListedDraft, limits: Limits) -> tuple[Picture, ...]:
    """Return all images of the draft. Raise if one cannot be loaded: a post never goes out with an image missing."""
    from copydesk.desk.pictures import pictures_of  # noqa: PLC0415 - only for drafts with images
    from copydesk.pictures.errors import PictureError  # noqa: PLC0415

    try:
        return await pictures_of(ctx, draft.images, limits)
    except PictureError as error:
        if error.later:
            raise NotSentError(error.message, hint=error.hint) from None
        raise RefusedPostError(error.message, hint=error.hint) from None


def draft_post(draft: ListedDraft, at: datetime) -> Post:
    """Return `draft` as a `Post` that goes out at `at`."""
    return Post(
        format=draft.format,
        parts=parts_of(draft.format, draft.text),
        at=at,
        tags=draft.tags,
        alts=tuple(image.alt or "" for image in sorted(draft.images, key=lambda image: image.position)),
    )


def parts_of(format: Format, text: str) -> tuple[str, ...]:
    """Return the posts of a thread; for any other format a tuple with the one text, stripped."""
    parts: Sequence[str] = split_parts(text) if format is Format.THREAD else [text.strip()]
    return tuple(parts)
