"""Thumbnails of the images in the compose form. Files are read; nothing is fetched from the web."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import Thumbnail
from copydesk.tui.compose_entry import ImageInput
from copydesk.tui.gallery import render_thumbnail
from copydesk.tui.pages.pictures import INDENT, ImageView

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp


class ImageInputCache:
    """A cache of the images in the compose form, so that typing in the text does not read them again."""

    def __init__(self) -> None:
        self._cache: dict[str, ImageView] = {}

    def clear(self) -> None:
        """Clear the cache: another draft is being composed, and files may have changed."""
        self._cache.clear()

    def get_cached(self, images: Sequence[ImageInput]) -> list[ImageView]:
        """Return the images as far as they are cached, with their current alt texts."""
        return [self._cache.get(image.location, ImageView(""))._replace(alt=image.alt) for image in images]

    async def load(self, app: "DeskApp", desk: "Desk", images: Sequence[ImageInput], room: int) -> list[ImageView]:
        """Load the images and render them in lines of at most `room` cells; return them in order."""
        for image in images:
            # An image without content was not readable last time: try again, the file may exist by now.
            cached = self._cache.get(image.location)
            thumbnail = (
                cached.thumbnail
                if cached and cached.thumbnail and cached.thumbnail.content
                else await _load_thumbnail(desk, image)
            )
            # One cell stays free next to the scroll bar.
            lines = await render_thumbnail(app, desk, thumbnail, room - 1 - INDENT)
            self._cache[image.location] = ImageView(image.alt, thumbnail, lines)
        return self.get_cached(images)


async def _load_thumbnail(desk: "Desk", image: ImageInput) -> Thumbnail:
    if not image.is_url:
        return await desk.drafts.file_thumbnail(image.path)
    draft_image = DraftImage(id="", url=image.location, alt=None, position=0, source=ImageSource.UPLOAD)
    (thumbnail,) = await desk.drafts.thumbnails([draft_image])
    return thumbnail
