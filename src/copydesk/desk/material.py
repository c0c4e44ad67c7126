"""What a post is made of: the draft's text as it was approved, and its pictures."""

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
    """A post and its pictures."""

    post: Post
    pictures: tuple[Picture, ...] = ()


async def material_of(ground: Ground, kept: KeptDelivery, limits: Limits) -> Material:
    """What a delivery posts. RefusedPostError where it cannot be used, NotSentError where a picture comes later."""
    draft = await ground.read(lists.one, kept.draft_id)
    if draft is None:
        raise RefusedPostError("Its draft is gone.")
    pictures = await _pictures(ground, draft, limits) if draft.images else ()
    return Material(post=draft_post(draft, kept.due_at), pictures=pictures)


async def apart(post: Post, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` makes of a post. An article can take it seconds, and nothing else may stand still for so long."""
    if post.format is not Format.BLOG:
        return work(*given, **named)
    return await asyncio.get_running_loop().run_in_executor(_one_thread(), partial(work, *given, **named))


@cache
def _one_thread() -> ThreadPoolExecutor:
    """One alone: what turns articles into pages cannot do two at a time."""
    return ThreadPoolExecutor(1, thread_name_prefix="articles")


async def _pictures(ground: Ground, draft: ListedDraft, limits: Limits) -> tuple[Picture, ...]:
    """The draft's pictures, all of them or none: a post never goes out without one."""
    from copydesk.desk.pictures import pictures_of  # noqa: PLC0415 - for drafts that have some
    from copydesk.pictures.errors import PictureError  # noqa: PLC0415

    try:
        return await pictures_of(ground, draft.images, limits)
    except PictureError as error:
        if error.later:
            raise NotSentError(error.message, hint=error.hint) from None
        raise RefusedPostError(error.message, hint=error.hint) from None


def draft_post(draft: ListedDraft, at: datetime) -> Post:
    """A draft as a post that goes out at a time."""
    return Post(
        format=draft.format,
        parts=parts_of(draft.format, draft.text),
        at=at,
        tags=draft.tags,
        alts=tuple(image.alt or "" for image in sorted(draft.images, key=lambda image: image.position)),
    )


def parts_of(format: Format, text: str) -> tuple[str, ...]:
    """The posts of a thread; of any other format the one text."""
    parts: Sequence[str] = split_parts(text) if format is Format.THREAD else [text.strip()]
    return tuple(parts)
