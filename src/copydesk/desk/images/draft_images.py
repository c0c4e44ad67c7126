"""Images of drafts, from their origin to bytes that a platform accepts.

The bytes are stored when they are first read, and the draft remembers their digest: every attempt to post sends the
same image, even if its URL returns something else by then.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from copydesk.desk.context import DeskContext
from copydesk.errors import FieldError, ImageError, InvalidError
from copydesk.images.alt_text import suggest_alt
from copydesk.images.page_images import find_agency, shows_story
from copydesk.images.resize import ImageBounds, fit_to_bounds
from copydesk.images.storage import MAX_BYTES, is_stored, load, read_file, renew, save
from copydesk.model.draft import DraftImage, ImageSource, stored_image_digest
from copydesk.model.item import Entry
from copydesk.model.requests import NewImage
from copydesk.model.source import ImagePolicy
from copydesk.network import user_agent
from copydesk.posting.platform import Limits, PostImage
from copydesk.store import stored_images
from copydesk.store.drafts import list_stored_image_urls, save_stored_image_url
from copydesk.store.ids import new_id

if TYPE_CHECKING:
    import httpx

    from copydesk.images.generator import Generator

GENERATORS = (ImageSource.AI_PROVIDER_A, ImageSource.AI_PROVIDER_B)


class PageImages(NamedTuple):
    """The images that a draft gets from its source."""

    attached: tuple[DraftImage, ...] = ()
    proposed: tuple[DraftImage, ...] = ()


def page_images(entry: Entry, policy: ImagePolicy, now: datetime) -> PageImages:
    """Return the entry's image as the source's policy has it, none if it does not show the story.

    The alt text is the page's own; it is None if the page has no useful one, and the user is asked to write it.
    """
    if not entry.image or policy is ImagePolicy.NEVER or not shows_story(entry.image):
        return PageImages()
    image = DraftImage(
        id=new_id(now),
        url=entry.image,
        alt=suggest_alt(entry.image, entry.image_alt, title=entry.title),
        position=0,
        source=ImageSource.OG,
        agency=find_agency(entry.image, entry.image_alt, f"{entry.summary}\n{entry.text}"),
    )
    return PageImages(attached=(image,)) if policy is ImagePolicy.ATTACH else PageImages(proposed=(image,))


async def load_images(ctx: DeskContext, images: Sequence[DraftImage], limits: Limits) -> tuple[PostImage, ...]:
    """Return the draft's images in order, converted for a platform with `limits`. Missing ones are downloaded.

    Raise ImageError, naming the image by its number, if any of them cannot be loaded: a post is sent with all of its
    images or not at all. `error.is_temporary` says that another attempt may succeed.
    """
    if len(images) > limits.max_images:
        maximum = f"at most {limits.max_images}" if limits.max_images else "none"
        raise ImageError(f"The draft has {len(images)} images; the platform allows {maximum} per post.")
    if not images:
        return ()
    stored_by_id = await ctx.read(list_stored_image_urls, [image.id for image in images])
    bounds = ImageBounds(bytes=limits.max_image_bytes or MAX_BYTES, types=limits.image_types)
    async with _open_transport(ctx) as transport:
        return tuple(
            [
                await _prepare_image(ctx, transport, image, number, stored_by_id.get(image.id), bounds)
                for number, image in enumerate(images, 1)
            ]
        )


async def store_file(ctx: DeskContext, path: Path) -> str:
    """Store the image in the user's file; return the URL that refers to it from now on.

    Conversion is tried at once, so that an unusable file is reported now and not when its post is due. Raise
    ImageError.
    """
    content = await asyncio.to_thread(read_file, path)
    try:
        return await store_content(ctx, content)
    except ImageError as error:
        raise _prefix_error(f"{path}", error) from None


async def store_content(ctx: DeskContext, content: bytes) -> str:
    """Store an image as `store_file` does."""
    await asyncio.to_thread(fit_to_bounds, content)
    return await _save(ctx, content)


async def generate_image(ctx: DeskContext, provider: ImageSource, prompt: str) -> str:
    """Generate an image with one of `GENERATORS`; return the URL under which it is stored. This costs the user money.

    Raise ImageError, also if the settings do not configure that generator. Requests are never retried.
    """
    from copydesk.images.generator import generate  # noqa: PLC0415 - imports httpx

    async with _open_transport(ctx) as transport:
        generator = _load_generator(ctx, provider)
        content = await generate(transport, generator, prompt, now=ctx.clock(), user_agent=_user_agent(ctx))
    return await _save(ctx, content)


async def _save(ctx: DeskContext, content: bytes) -> str:
    url = await asyncio.to_thread(save, ctx.settings.images_folder, content)
    digest = stored_image_digest(url)
    assert digest is not None
    await ctx.write(stored_images.add, digest, ctx.clock())
    return url


async def check_stored(ctx: DeskContext, images: Sequence[NewImage]) -> None:
    """Raise InvalidError if an image refers to a stored file that does not exist, or that only another user stored."""
    folder = ctx.settings.images_folder
    problems = []
    for index, image in enumerate(images):
        digest = stored_image_digest(image.url)
        if digest is None:
            continue
        is_own = await ctx.read(stored_images.has, digest)
        if not is_own or not await asyncio.to_thread(renew, folder, image.url):
            problems.append(FieldError(f"images[{index}].url", "refers to an image that is not stored here"))
    if problems:
        raise InvalidError(*problems)


async def _prepare_image(
    ctx: DeskContext,
    transport: "httpx.AsyncBaseTransport",
    image: DraftImage,
    number: int,
    stored_url: str | None,
    bounds: ImageBounds,
) -> PostImage:
    """Return image `number` of a draft. `stored_url` is the URL of its stored bytes, if known."""
    # Post an animation the user uploaded as it is or refuse it. For the preview image of a page the first frame is
    # enough.
    first_frame = image.source is not ImageSource.UPLOAD
    try:
        content = await _load_content(ctx, transport, image, stored_url)
        resized = await asyncio.to_thread(fit_to_bounds, content, bounds, first_frame=first_frame)
    except ImageError as error:
        raise _prefix_error(f"Image {number}", error) from None
    return PostImage(
        content=resized.content,
        media_type=resized.media_type,
        width=resized.width,
        height=resized.height,
        alt=image.alt or "",
    )


async def _load_content(
    ctx: DeskContext, transport: "httpx.AsyncBaseTransport", image: DraftImage, stored_url: str | None
) -> bytes:
    """Return the bytes of an image: the stored ones, or those at its URL, which are then stored."""
    from copydesk.images.download import fetch  # noqa: PLC0415 - imports httpx

    folder = ctx.settings.images_folder
    if stored_image_digest(image.url) is not None:
        return await asyncio.to_thread(load, folder, image.url)
    if stored_url is not None and is_stored(folder, stored_url):
        return await asyncio.to_thread(load, folder, stored_url)
    content = await fetch(transport, image.url, now=ctx.clock(), user_agent=_user_agent(ctx))
    url = await asyncio.to_thread(save, folder, content)
    # Another process may have recorded its download first, or the file may be lost. The recorded digest wins: if its
    # file is gone, today's response is not what was sent before.
    recorded_url = await ctx.write(save_stored_image_url, image.id, url)
    return content if recorded_url == url else await asyncio.to_thread(load, folder, recorded_url)


def _prefix_error(label: str, error: ImageError) -> ImageError:
    """Return the same error with the image's name in front of the message."""
    return ImageError(
        f"{label}: {error.message}", hint=error.hint, is_temporary=error.is_temporary, retry_after=error.retry_after
    )


def _load_generator(ctx: DeskContext, provider: ImageSource) -> "Generator":
    """Return the generator as configured in the settings."""
    from copydesk.images.generator import Generator  # noqa: PLC0415 - imports httpx

    if provider not in GENERATORS:
        raise ImageError(f"{provider} does not generate images.", hint=f"Choose {' or '.join(GENERATORS)}.")
    settings = ctx.settings
    section, config = (
        ("images_a", settings.images_a) if provider is ImageSource.AI_PROVIDER_A else ("images_b", settings.images_b)
    )
    return Generator(
        section=section,
        base_url=config.base_url,
        model=config.model,
        key=config.key,
        size=config.size,
        timeout=config.timeout,
    )


def _user_agent(ctx: DeskContext) -> str:
    return user_agent(ctx.settings.network.contact)


@asynccontextmanager
async def _open_transport(ctx: DeskContext) -> AsyncIterator["httpx.AsyncBaseTransport"]:
    """Yield the guarded transport, or the one that replaces it in tests and on the sample desk."""
    if ctx.transport is not None:
        yield ctx.transport
        return
    from copydesk.network.transport import GuardedTransport  # noqa: PLC0415 - imports httpx

    network = ctx.settings.network
    transport = GuardedTransport(
        allow_private=network.allow_private, concurrency=network.concurrency, proxy=network.proxy
    )
    try:
        yield transport
    finally:
        await transport.aclose()
