"""Thumbnails of images for review. Requires Pillow."""

from copydesk.model.picture import Thumbnail
from copydesk.pictures.decoded import image_size
from copydesk.pictures.fit import ImageBounds, fit_to_bounds
from copydesk.pictures.kind import MAX_BYTES, ImageFormat

MAX_SIDE = 640
"""Pixels: what a terminal displays of an image beside the text."""
_BOUNDS = ImageBounds(bytes=MAX_BYTES, types=(ImageFormat.JPEG.value,), max_side=MAX_SIDE)


def thumbnail(content: bytes, *, first_frame: bool = False) -> Thumbnail:
    """Return a small JPEG of the image, on white if it is transparent, with the size of the original.

    Takes a second for large images, so call it in a thread. Raise ImageError, as posting the image would.
    """
    resized = fit_to_bounds(content, _BOUNDS, first_frame=first_frame)
    width, height = image_size(content)
    if (width - height) * (resized.width - resized.height) < 0:  # the file is stored rotated; report the upright size
        width, height = height, width
    return Thumbnail(content=resized.content, width=width, height=height, size=len(content))
