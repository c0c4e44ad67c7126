"""The pictures of drafts, from where they come to bytes that a platform takes.

The bytes of a picture are kept when they are first read, and noted beside it: every attempt to post it sends the same,
whatever its address answers by then.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from copydesk import __version__
from copydesk.desk.ground import Ground
from copydesk.errors import FieldError, InvalidError
from copydesk.model.change import NewImage
from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import kept_digest
from copydesk.pictures.errors import PictureError
from copydesk.pictures.fit import Bounds, fit
from copydesk.pictures.keep import is_stored, keep, read_file, stored
from copydesk.pictures.kind import MOST_BYTES
from copydesk.posting.platform import Limits, Picture
from copydesk.store.pictures import note_stored, stored_urls

if TYPE_CHECKING:
    import httpx

    from copydesk.pictures.ai import Generator

GENERATORS = (ImageSource.AI_PROVIDER_A, ImageSource.AI_PROVIDER_B)


async def pictures_of(ground: Ground, images: Sequence[DraftImage], limits: Limits) -> tuple[Picture, ...]:
    """The pictures of a draft in their order, fit for a platform with `limits`; what was not read yet is fetched.

    Raises PictureError, which names the picture by its place, if only one of them cannot be had: a post is sent with
    all of its pictures or not at all. `later` where the same may work another time.
    """
    if len(images) > limits.pictures:
        most = f"at most {limits.pictures}" if limits.pictures else "no"
        raise PictureError(f"The draft has {len(images)} pictures, and the platform takes {most} pictures of one post.")
    if not images:
        return ()
    noted = await ground.read(stored_urls, [image.id for image in images])
    bounds = Bounds(bytes=limits.picture_bytes or MOST_BYTES, types=limits.picture_types)
    async with _network(ground) as transport:
        return tuple(
            [
                await _picture(ground, transport, image, number, noted.get(image.id), bounds)
                for number, image in enumerate(images, 1)
            ]
        )


async def keep_file(ground: Ground, path: Path) -> str:
    """Keep the picture in a file of the user's; returns the url that stands for it from now on.

    It is tried whether it can be posted, so that a wrong one is told now and not when its post is due. Raises
    PictureError.
    """
    content = await asyncio.to_thread(read_file, path)
    try:
        await asyncio.to_thread(fit, content)
    except PictureError as error:
        raise _of(f"{path}", error) from None
    return await asyncio.to_thread(keep, ground.settings.pictures_folder, content)


async def make_picture(ground: Ground, provider: ImageSource, prompt: str) -> str:
    """Have a picture made by one of GENERATORS, which costs what it costs; returns the url under which it is kept.

    Raises PictureError, also where the settings name no such generator. Nothing is asked twice.
    """
    from copydesk.pictures.ai import generate  # noqa: PLC0415 - beside httpx

    async with _network(ground) as transport:
        generator = _generator(ground, provider)
        content = await generate(transport, generator, prompt, now=ground.clock(), agent=_agent(ground))
    return await asyncio.to_thread(keep, ground.settings.pictures_folder, content)


def check_kept(ground: Ground, images: Sequence[NewImage]) -> None:
    """Raise InvalidError for pictures that are said to be kept here and are not."""
    folder = ground.settings.pictures_folder
    problems = [
        FieldError(f"images[{place}].url", "names a picture that is not kept here")
        for place, image in enumerate(images)
        if kept_digest(image.url) is not None and not is_stored(folder, image.url)
    ]
    if problems:
        raise InvalidError(*problems)


async def _picture(
    ground: Ground,
    transport: "httpx.AsyncBaseTransport",
    image: DraftImage,
    number: int,
    noted: str | None,
    bounds: Bounds,
) -> Picture:
    """One picture of a draft, the `number`th; `noted` is where its bytes are kept, if that is known."""
    # What the user chose is posted as it is or not at all; of what a page shows of itself the first frame will do.
    still = image.source is not ImageSource.UPLOAD
    try:
        content = await _content(ground, transport, image, noted)
        made = await asyncio.to_thread(fit, content, bounds, first_frame=still)
    except PictureError as error:
        raise _of(f"Picture {number}", error) from None
    return Picture(
        content=made.content, media_type=made.media_type, width=made.width, height=made.height, alt=image.alt or ""
    )


async def _content(
    ground: Ground, transport: "httpx.AsyncBaseTransport", image: DraftImage, noted: str | None
) -> bytes:
    """The bytes of a picture: those that are kept, or those at its address, which are kept from now on."""
    from copydesk.pictures.fetch import fetch  # noqa: PLC0415 - beside httpx

    folder = ground.settings.pictures_folder
    if kept_digest(image.url) is not None:
        return await asyncio.to_thread(stored, folder, image.url)
    if noted is not None and is_stored(folder, noted):
        return await asyncio.to_thread(stored, folder, noted)
    content = await fetch(transport, image.url, now=ground.clock(), agent=_agent(ground))
    url = await asyncio.to_thread(keep, folder, content)
    # Another process may have been first, or the file is lost: what was noted counts, and if it is not there any more,
    # what its address answers now is not what was sent.
    first = await ground.write(note_stored, image.id, url)
    return content if first == url else await asyncio.to_thread(stored, folder, first)


def _of(what: str, error: PictureError) -> PictureError:
    """The same error, with the picture that it is about."""
    return PictureError(f"{what}: {error.message}", hint=error.hint, later=error.later, retry_after=error.retry_after)


def _generator(ground: Ground, provider: ImageSource) -> "Generator":
    """The generator as the settings have it."""
    from copydesk.pictures.ai import Generator  # noqa: PLC0415 - beside httpx

    if provider not in GENERATORS:
        raise PictureError(f"{provider} makes no pictures.", hint=f"Take {' or '.join(GENERATORS)}.")
    settings = ground.settings
    section, chosen = (
        ("images_a", settings.images_a) if provider is ImageSource.AI_PROVIDER_A else ("images_b", settings.images_b)
    )
    return Generator(
        section=section,
        base_url=chosen.base_url,
        model=chosen.model,
        key=chosen.key,
        size=chosen.size,
        seconds=chosen.timeout,
    )


def _agent(ground: Ground) -> str:
    """Who asks; what is no ASCII has no place in a header."""
    contact = ground.settings.network.contact.encode("ascii", "ignore").decode()
    return f"Copydesk/{__version__} (+{contact})" if contact else f"Copydesk/{__version__}"


@asynccontextmanager
async def _network(ground: Ground) -> AsyncIterator["httpx.AsyncBaseTransport"]:
    """The guarded way to the network, or what stands in for it."""
    if ground.transport is not None:
        yield ground.transport
        return
    from copydesk.network.transport import GuardedTransport  # noqa: PLC0415 - beside httpx

    asked = ground.settings.network
    transport = GuardedTransport(allow_private=asked.allow_private, concurrency=asked.concurrency)
    try:
        yield transport
    finally:
        await transport.aclose()
