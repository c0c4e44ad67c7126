"""Thumbnails of images for review. Requires Pillow."""

from copydesk.model.picture import Look
from copydesk.pictures.decoded import size_of
from copydesk.pictures.fit import Bounds, fit
from copydesk.pictures.kind import MOST_BYTES, Kind

LONGEST_SIDE = 640
"""Pixels: what a terminal displays of an image beside the text."""
_BOUNDS = Bounds(bytes=MOST_BYTES, types=(Kind.JPEG.value,), longest_side=LONGEST_SIDE)


def look(content: bytes, *, first_frame: bool = False) -> Look:
    """Return a small JPEG of the image, on white if it is transparent, with the size of the original.

    Takes a second for large images, so call it in a thread. Raise ImageError, as posting the image would.
    """
    resized = fit(content, _BOUNDS, first_frame=first_frame)
    width, height = size_of(content)
    if (width - height) * (resized.width - resized.height) < 0:  # the file is stored rotated; report the upright size
        width, height = height, width
    return Look(content=resized.content, width=width, height=height, weight=len(content))
