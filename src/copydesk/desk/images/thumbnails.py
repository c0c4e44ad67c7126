"""Thumbnails of draft images. Only stored bytes are used: nothing is fetched for a preview."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from copydesk.desk.context import DeskContext
from copydesk.model.draft import DraftImage, ImageSource, Thumbnail, stored_image_digest

RENDER_TIMEOUT = 10.0
"""Seconds per image. Oversized files are refused before they are read, but a disk can be slow."""
NOT_DOWNLOADED = Thumbnail(message="Downloaded when posted.")
_TIMED_OUT = Thumbnail(message="Reading it takes too long.")


class Thumbnails:
    """Thumbnails of draft images and of local files."""

    _ctx: DeskContext

    async def thumbnails(self, images: Sequence[DraftImage]) -> tuple[Thumbnail, ...]:
        """Return a thumbnail per image, in the given order; one that cannot be rendered has a message instead."""
        if not images:
            return ()
        from copydesk.store.drafts import list_stored_image_urls  # noqa: PLC0415 - only for drafts with images

        stored_by_id = await self._ctx.read(list_stored_image_urls, [image.id for image in images])
        return tuple([await self._image_thumbnail(image, stored_by_id.get(image.id)) for image in images])

    async def file_thumbnail(self, path: Path) -> Thumbnail:
        """Return a thumbnail of the user's file, or a message why it cannot be posted."""
        from copydesk.images.storage import read_file  # noqa: PLC0415 - as above

        return await _render_thumbnail(lambda: read_file(path), first_frame=False)

    async def _image_thumbnail(self, image: DraftImage, stored_url: str | None) -> Thumbnail:
        # An image given by URL has stored bytes only if it was downloaded for posting before.
        url = image.url if stored_image_digest(image.url) is not None else stored_url
        if url is None:
            return NOT_DOWNLOADED
        from copydesk.images.storage import load  # noqa: PLC0415 - seldom needed

        folder = self._ctx.settings.images_folder
        return await _render_thumbnail(lambda: load(folder, url), first_frame=image.source is not ImageSource.UPLOAD)


async def _render_thumbnail(read: Callable[[], bytes], *, first_frame: bool) -> Thumbnail:
    """Return the thumbnail of the bytes that `read` returns. Both reading and decoding run in a thread."""
    from copydesk.errors import ImageError  # noqa: PLC0415 - as above
    from copydesk.images.resize import thumbnail  # noqa: PLC0415

    try:
        async with asyncio.timeout(RENDER_TIMEOUT):
            return await asyncio.to_thread(lambda: thumbnail(read(), first_frame=first_frame))
    except ImageError as error:
        return Thumbnail(message=error.message)
    except TimeoutError:
        return _TIMED_OUT
