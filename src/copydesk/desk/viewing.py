"""Thumbnails of draft images. Only stored bytes are used: nothing is fetched for a preview."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from copydesk.desk.ground import Ground
from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import Look, kept_digest

PATIENCE = 10.0
"""Seconds per image. Oversized files are refused before they are read, but a disk can be slow."""
ON_THE_WEB = Look(says="It is fetched when it is posted.")
_TIMED_OUT = Look(says="It takes too long to read.")


class Viewing:
    """Thumbnails of draft images and of local files."""

    _ground: Ground

    async def look_at(self, images: Sequence[DraftImage]) -> tuple[Look, ...]:
        """Return a thumbnail per image, in the given order; one that cannot be rendered has a message instead."""
        if not images:
            return ()
        from copydesk.store.pictures import stored_urls  # noqa: PLC0415 - only for drafts with images

        stored_by_id = await self._ground.read(stored_urls, [image.id for image in images])
        return tuple([await self._image_thumbnail(image, stored_by_id.get(image.id)) for image in images])

    async def look_at_file(self, path: Path) -> Look:
        """Return a thumbnail of the user's file, or a message why it cannot be posted."""
        from copydesk.pictures.keep import read_file  # noqa: PLC0415 - as above

        return await _render_thumbnail(lambda: read_file(path), first_frame=False)

    async def _image_thumbnail(self, image: DraftImage, stored_url: str | None) -> Look:
        # An image given by URL has stored bytes only if it was downloaded for posting before.
        url = image.url if kept_digest(image.url) is not None else stored_url
        if url is None:
            return ON_THE_WEB
        from copydesk.pictures.keep import stored  # noqa: PLC0415 - see `look_at`

        folder = self._ground.settings.pictures_folder
        return await _render_thumbnail(lambda: stored(folder, url), first_frame=image.source is not ImageSource.UPLOAD)


async def _render_thumbnail(read: Callable[[], bytes], *, first_frame: bool) -> Look:
    """Return the thumbnail of the bytes that `read` returns. Both reading and decoding run in a thread."""
    from copydesk.pictures.errors import PictureError  # noqa: PLC0415 - as above
    from copydesk.pictures.look import look  # noqa: PLC0415

    try:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(lambda: look(read(), first_frame=first_frame))
    except PictureError as error:
        return Look(says=error.message)
    except TimeoutError:
        return _TIMED_OUT
