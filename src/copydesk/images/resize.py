"""Convert images to what a platform accepts, and make thumbnails for review. Requires Pillow.

Every image is decoded and encoded again, even if it would fit. This removes everything hidden in the file, such as the
location of a photo or a web page after the pixels. Equal bytes and bounds give an equal result with the same Pillow.
"""

import math
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

from copydesk.errors import ImageError
from copydesk.images.decode import decode, image_size, scale_size
from copydesk.images.media_type import MAX_BYTES, ImageFormat
from copydesk.model.draft import Thumbnail
from copydesk.model.serialization import Struct

if TYPE_CHECKING:
    from PIL.Image import Image


QUALITIES = (90, 82, 74)
"""JPEG qualities, best first. A smaller image looks better than one with strong compression."""
MAX_ATTEMPTS = 12
"""Attempts to make an image smaller; after these it would be a dot."""
_MIN_SCALE, _MAX_SCALE = 0.4, 0.9
_memory_lock = Lock()
"""A large image takes 300 MB while it is processed."""


class ImageBounds(Struct, frozen=True):
    """Limits of a platform."""

    bytes: int = MAX_BYTES
    types: tuple[str, ...] = ("image/jpeg", "image/png")
    max_side: int = 4096
    """Pixels. 4096 x 4096 is the limit of the oldest Mastodon servers, and the most that screens show."""


class ResizedImage(Struct, frozen=True):
    """An image within bounds."""

    content: bytes
    media_type: str
    width: int
    height: int


def fit_to_bounds(content: bytes, bounds: ImageBounds = ImageBounds(), *, first_frame: bool = False) -> ResizedImage:  # noqa: B008 - immutable
    """Return `content` as a JPEG or PNG within `bounds`: upright, in sRGB, without metadata.

    Drawings and transparent images stay PNG if that fits, else they become a JPEG on white. Of an animation the first
    frame is used if `first_frame`, else it is refused. Large images take seconds, so call it in a thread. Raise
    ImageError.
    """
    if not {ImageFormat.JPEG, ImageFormat.PNG} & set(bounds.types):
        raise ImageError("The platform accepts neither JPEG nor PNG.", hint="Remove the images.")
    with _memory_lock:
        image = decode(content, bounds.max_side, first_frame=first_frame)
        # Photos are JPEGs already; as PNG they would be several times larger.
        is_photo = content.startswith(b"\xff\xd8") and ImageFormat.JPEG in bounds.types
        result = None if is_photo else _as_png(image, bounds)
        if result is None and ImageFormat.JPEG in bounds.types:
            result = _as_jpeg(image, bounds)
        if result is None:
            raise ImageError(f"It cannot be reduced to {bounds.bytes:,} bytes.", hint="Use a simpler image.")
        return result


def _as_png(image: "Image", bounds: ImageBounds) -> ResizedImage | None:
    """Return the image as PNG, or None if it does not fit. It is scaled down only if JPEG is not accepted."""
    if ImageFormat.PNG not in bounds.types:
        return None
    scale = 1.0
    for _ in range(1 if ImageFormat.JPEG in bounds.types else MAX_ATTEMPTS):
        small = _resize(image, scale)
        encoded = _encode(small, "PNG")
        if len(encoded) <= bounds.bytes:
            return _to_result(small, encoded, ImageFormat.PNG)
        scale *= _next_scale(bounds.bytes, len(encoded))
    return None


def _as_jpeg(image: "Image", bounds: ImageBounds) -> ResizedImage | None:
    """Return the image as JPEG in the largest size and best quality that fit, or None."""
    flat = _on_white(image)
    scale = 1.0
    for _ in range(MAX_ATTEMPTS):
        small, size = _resize(flat, scale), 0
        for quality in QUALITIES:
            encoded = _encode(small, "JPEG", quality=quality)
            size = len(encoded)
            if size <= bounds.bytes:
                return _to_result(small, encoded, ImageFormat.JPEG)
        scale *= _next_scale(bounds.bytes, size)
    return None


def _next_scale(allowed: int, size: int) -> float:
    """Return the scale for the next attempt: the size in bytes is roughly proportional to the area."""
    return min(_MAX_SCALE, max(_MIN_SCALE, 0.97 * math.sqrt(allowed / size)))


def _resize(image: "Image", scale: float) -> "Image":
    from PIL import Image  # noqa: PLC0415 - optional dependency

    return image if scale == 1.0 else image.resize(scale_size(image.size, scale), Image.Resampling.LANCZOS)


def _on_white(image: "Image") -> "Image":
    from PIL import Image  # noqa: PLC0415

    if image.mode == "RGB":
        return image
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def _encode(image: "Image", format: str, **options: int) -> bytes:
    buffer = BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def _to_result(image: "Image", content: bytes, kind: ImageFormat) -> ResizedImage:
    return ResizedImage(content=content, media_type=kind.value, width=image.width, height=image.height)


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
