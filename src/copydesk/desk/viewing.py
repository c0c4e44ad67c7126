"""The pictures of drafts, to be looked at. Nothing is asked of the network: what was not read yet is not to be seen."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from copydesk.desk.ground import Ground
from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import Look, kept_digest

PATIENCE = 10.0
"""Seconds for one picture. What is large beyond reason is refused before it is read; a disk can be slow."""
ON_THE_WEB = Look(says="It is fetched when it is posted.")
_SLOW = Look(says="It takes too long to read.")


class Viewing:
    """What the user looks at."""

    _ground: Ground

    async def look_at(self, images: Sequence[DraftImage]) -> tuple[Look, ...]:
        """The pictures of a draft, in the order given; one that cannot be looked at says why."""
        if not images:
            return ()
        from copydesk.store.pictures import stored_urls  # noqa: PLC0415 - for drafts that have some

        noted = await self._ground.read(stored_urls, [image.id for image in images])
        return tuple([await self._look_at(image, noted.get(image.id)) for image in images])

    async def look_at_file(self, path: Path) -> Look:
        """The picture in a file of the user's, or why it cannot be posted."""
        from copydesk.pictures.keep import read_file  # noqa: PLC0415 - as above

        return await _looked(lambda: read_file(path), first_frame=False)

    async def _look_at(self, image: DraftImage, noted: str | None) -> Look:
        url = image.url if kept_digest(image.url) is not None else noted
        if url is None:
            return ON_THE_WEB
        from copydesk.pictures.keep import stored  # noqa: PLC0415 - for those that can be seen

        folder = self._ground.settings.pictures_folder
        return await _looked(lambda: stored(folder, url), first_frame=image.source is not ImageSource.UPLOAD)


async def _looked(read: Callable[[], bytes], *, first_frame: bool) -> Look:
    """What `read` gives as it looks; it is read and unpacked in a thread."""
    from copydesk.pictures.errors import PictureError  # noqa: PLC0415 - as above
    from copydesk.pictures.look import look  # noqa: PLC0415

    try:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(lambda: look(read(), first_frame=first_frame))
    except PictureError as error:
        return Look(says=error.message)
    except TimeoutError:
        return _SLOW
