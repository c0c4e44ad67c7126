"""A picture to be looked at before it is posted: small, and packed anew. Pure; needs Pillow."""

from copydesk.model.picture import Look
from copydesk.pictures.decoded import size_of
from copydesk.pictures.fit import Bounds, fit
from copydesk.pictures.kind import MOST_BYTES, Kind

LONGEST_SIDE = 640
"""Pixels: what a terminal shows of it beside a text."""
_BOUNDS = Bounds(bytes=MOST_BYTES, types=(Kind.JPEG.value,), longest_side=LONGEST_SIDE)


def look(content: bytes, *, first_frame: bool = False) -> Look:
    """The picture `content` as a small JPEG, on white where it is see-through, with the figures of the whole one.

    Takes a second for a large one: call it in a thread. Raises PictureError, as posting it would.
    """
    made = fit(content, _BOUNDS, first_frame=first_frame)
    width, height = size_of(content)
    if (width - height) * (made.width - made.height) < 0:  # it lies in the file, and the camera was held upright
        width, height = height, width
    return Look(content=made.content, width=width, height=height, weight=len(content))
