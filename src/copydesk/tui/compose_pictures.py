"""Thumbnails of the images in the compose form. Files are read; nothing is fetched from the web."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import Look
from copydesk.tui.compose_entry import GivenPicture
from copydesk.tui.gallery import lines_of
from copydesk.tui.pages.pictures import INDENT, Pictured

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp


class GivenPictures:
    """A cache of the images in the compose form, so that typing in the text does not read them again."""

    def __init__(self) -> None:
        self._cache: dict[str, Pictured] = {}

    def forget(self) -> None:
        """Clear the cache: another draft is being composed, and files may have changed."""
        self._cache.clear()

    def known(self, given: Sequence[GivenPicture]) -> list[Pictured]:
        """Return the images as far as they are cached, with their current alt texts."""
        return [self._cache.get(image.place, Pictured(""))._replace(alt=image.alt) for image in given]

    async def see(self, app: "DeskApp", desk: "Desk", given: Sequence[GivenPicture], room: int) -> list[Pictured]:
        """Load the images and render them in lines of at most `room` cells; return them in order."""
        for image in given:
            # An image without content was not readable last time: try again, the file may exist by now.
            cached = self._cache.get(image.place)
            thumbnail = (
                cached.look if cached and cached.look and cached.look.content else await _load_thumbnail(desk, image)
            )
            # One cell stays free next to the scroll bar.
            lines = await lines_of(app, desk, thumbnail, room - 1 - INDENT)
            self._cache[image.place] = Pictured(image.alt, thumbnail, lines)
        return self.known(given)


async def _load_thumbnail(desk: "Desk", image: GivenPicture) -> Look:
    if not image.is_address:
        return await desk.drafts.look_at_file(image.path)
    draft_image = DraftImage(id="", url=image.place, alt=None, position=0, source=ImageSource.UPLOAD)
    (thumbnail,) = await desk.drafts.look_at([draft_image])
    return thumbnail
