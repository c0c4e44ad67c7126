"""Makes a picture that a platform takes of one from outside. Pure; needs Pillow.

Every picture is unpacked and packed anew, also one that would fit: so nothing comes along that was hidden in the file,
be it where a photo was taken or a web page behind the pixels. The same bytes and bounds give the same result, for as
long as the same Pillow is installed.
"""

import math
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

from copydesk.model.wire import Struct
from copydesk.pictures.decoded import decoded, scaled
from copydesk.pictures.errors import PictureError
from copydesk.pictures.kind import MOST_BYTES, Kind

if TYPE_CHECKING:
    from PIL.Image import Image

QUALITIES = (90, 82, 74)
"""Of a JPEG, the best first; a smaller picture looks better than a coarser one."""
MOST_STEPS = 12
"""Times that a picture is made smaller: after these it would be a dot."""
_LEAST_STEP, _GREATEST_STEP = 0.4, 0.9
_one_at_a_time = Lock()
"""A large picture takes 300 MB while it is at work."""


class Bounds(Struct, frozen=True):
    """What a platform takes."""

    bytes: int = MOST_BYTES
    types: tuple[str, ...] = ("image/jpeg", "image/png")
    longest_side: int = 4096
    """Pixels. 4096 by 4096 is what the oldest Mastodon servers take, and the most that screens show."""


class Fitted(Struct, frozen=True):
    """A picture within bounds."""

    content: bytes
    media_type: str
    width: int
    height: int


def fit(content: bytes, bounds: Bounds = Bounds(), *, first_frame: bool = False) -> Fitted:  # noqa: B008 - frozen
    """The picture `content` as JPEG or PNG within `bounds`, upright, in sRGB, without metadata.

    Drawings and what is see-through stay PNG where that fits; else they become a JPEG, on white. Of one that moves the
    first frame is taken where `first_frame`; else it is refused. Takes seconds for large ones: call it in a thread.
    Raises PictureError.
    """
    if not {Kind.JPEG, Kind.PNG} & set(bounds.types):
        raise PictureError("Neither JPEG nor PNG is taken there.", hint="Leave the pictures out.")
    with _one_at_a_time:
        picture = decoded(content, bounds.longest_side, first_frame=first_frame)
        photo = content.startswith(b"\xff\xd8") and Kind.JPEG in bounds.types
        found = None if photo else _as_png(picture, bounds)
        if found is None and Kind.JPEG in bounds.types:
            found = _as_jpeg(picture, bounds)
        if found is None:
            raise PictureError(f"It does not fit into {bounds.bytes:,} bytes.", hint="Take a simpler picture.")
        return found


def _as_png(picture: "Image", bounds: Bounds) -> Fitted | None:
    """As PNG; made smaller only where JPEG is not taken."""
    if Kind.PNG not in bounds.types:
        return None
    by = 1.0
    for _ in range(1 if Kind.JPEG in bounds.types else MOST_STEPS):
        small = _smaller(picture, by)
        made = _packed(small, "PNG")
        if len(made) <= bounds.bytes:
            return _fitted(small, made, Kind.PNG)
        by *= _step(bounds.bytes, len(made))
    return None


def _as_jpeg(picture: "Image", bounds: Bounds) -> Fitted | None:
    """As JPEG, in the largest size and the best quality that fit."""
    flat = _on_white(picture)
    by = 1.0
    for _ in range(MOST_STEPS):
        small, size = _smaller(flat, by), 0
        for quality in QUALITIES:
            made = _packed(small, "JPEG", quality=quality)
            size = len(made)
            if size <= bounds.bytes:
                return _fitted(small, made, Kind.JPEG)
        by *= _step(bounds.bytes, size)
    return None


def _step(allowed: int, had: int) -> float:
    """How much smaller to make a picture of `had` bytes: they go with its area, more or less."""
    return min(_GREATEST_STEP, max(_LEAST_STEP, 0.97 * math.sqrt(allowed / had)))


def _smaller(picture: "Image", by: float) -> "Image":
    from PIL import Image  # noqa: PLC0415 - an extra

    return picture if by == 1.0 else picture.resize(scaled(picture.size, by), Image.Resampling.LANCZOS)


def _on_white(picture: "Image") -> "Image":
    from PIL import Image  # noqa: PLC0415

    if picture.mode == "RGB":
        return picture
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture).convert("RGB")


def _packed(picture: "Image", format: str, **how: int) -> bytes:
    out = BytesIO()
    picture.save(out, format, **how)
    return out.getvalue()


def _fitted(picture: "Image", content: bytes, kind: Kind) -> Fitted:
    return Fitted(content=content, media_type=kind.value, width=picture.width, height=picture.height)
