"""Convert images to what a platform accepts, and make thumbnails for review. Requires Pillow.

Every image is decoded to its pixels (upright, in sRGB, 8 bits per channel) and encoded again, even if it would fit.
This removes everything hidden in the file, such as the location of a photo or a web page after the pixels. Equal bytes
and bounds give an equal result with the same Pillow.

Images are untrusted, so limits are checked before decoding: a few hundred bytes can decompress to gigabytes or keep a
decoder busy for an hour.
"""

import math
import re
import warnings
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

from copydesk.errors import ImageError
from copydesk.images.storage import MAX_BYTES, ImageFormat, validate_format
from copydesk.model.draft import Thumbnail
from copydesk.model.serialization import Struct

if TYPE_CHECKING:
    from PIL.Image import Image


MAX_PIXELS = {ImageFormat.JPEG: 2**26, ImageFormat.PNG: 2**25, ImageFormat.GIF: 2**25, ImageFormat.WEBP: 2**25}
"""67 megapixels for photos, and 34 for other formats (larger than an 8K screen). They take up to 500 MB."""
MAX_SCANS = 100
"""Scans of a progressive JPEG. Each one processes all pixels; ten are usual."""
MAX_PROFILE_BYTES = 2**20
"""Bytes of a color profile."""
_SCAN_HEADER = re.compile(rb"\xff\xda\x00(?:\x06\x00|\x08\x01|\x0a\x02|\x0c\x03|\x0e\x04)")
"""The marker alone is found by chance in the video after a motion photo. Decoders refuse a length that does not fit the
number of components."""
_ORIENTATION = 0x0112

QUALITIES = (90, 82, 74)
"""JPEG qualities, best first. A smaller image looks better than one with strong compression."""
MAX_ATTEMPTS = 12
"""Attempts to make an image smaller; after these it would be a dot."""
_MIN_SCALE, _MAX_SCALE = 0.4, 0.9
_memory_lock = Lock()
"""A large image takes 300 MB while it is processed."""

MAX_THUMBNAIL_SIDE = 640
"""Pixels: what a terminal displays of an image beside the text."""


def decode(content: bytes, max_side: int, *, first_frame: bool) -> "Image":
    """Return the decoded image, at most `max_side` pixels wide and high, as RGB, or RGBA if it is transparent.

    Of an animation the first frame is returned if `first_frame`, else it is refused. Raise ImageError if the image is
    damaged or too large.
    """
    kind = validate_format(content)
    require_pillow()
    # Only the decoder of the detected format runs. Pillow raises exceptions of any class on damaged files.
    try:
        image = _open(content, kind, first_frame=first_frame)
        return _strip_metadata(_load_scaled(image, max_side), image)
    except ImageError:
        raise
    except MemoryError:
        raise ImageError("Not enough memory to read it.", hint="Save it smaller.", is_temporary=True) from None
    except Exception:
        raise ImageError("It is damaged or incomplete.", hint="Save it again, or use another image.") from None


def image_size(content: bytes) -> tuple[int, int]:
    """Return width and height in pixels, as stored in the file, of an image that has been decoded before."""
    return _open(content, validate_format(content), first_frame=True).size


def require_pillow() -> None:
    """Raise ImageError if Pillow is not installed; suppress its warnings if it is."""
    try:
        import PIL.Image  # noqa: F401, PLC0415 - an optional dependency that takes 20 ms to import
    except ImportError:
        raise ImageError("Images need Pillow, which is not installed.", hint="Install it: pip install pillow") from None
    # Problems are detected below; Pillow's warnings would be printed over the console's screen.
    warnings.filterwarnings("ignore", module=r"PIL\b")


def _open(content: bytes, kind: ImageFormat, *, first_frame: bool) -> "Image":
    """Return the image with its header read and its size validated; pixels are not decoded yet."""
    from PIL import Image  # noqa: PLC0415

    if kind is ImageFormat.WEBP:
        _check_size(kind, *_webp_size(content))  # the WebP decoder allocates its memory on open
    if kind is ImageFormat.JPEG and len(_SCAN_HEADER.findall(content)) > MAX_SCANS:
        raise _too_large_error(kind)
    try:
        image = Image.open(BytesIO(content), formats=(kind.name,))
    except Image.DecompressionBombError:
        raise _too_large_error(kind) from None
    _check_size(kind, *image.size)
    # A JPEG may contain further images, for example one per eye (MPO). They are not frames of an animation.
    if kind is not ImageFormat.JPEG and getattr(image, "is_animated", False) and not first_frame:
        raise ImageError("It is animated; only still images can be posted.", hint="Save a single frame.")
    return image


def _check_size(kind: ImageFormat, width: int, height: int) -> None:
    if width * height > MAX_PIXELS[kind]:
        raise _too_large_error(kind)


def _too_large_error(kind: ImageFormat) -> ImageError:
    return ImageError(
        f"It has more than {MAX_PIXELS[kind] // 10**6} million pixels.",
        hint="Save it smaller.",
    )


def _webp_size(content: bytes) -> tuple[int, int]:
    """Return width and height from the first chunk of a WebP file (RFC 9649)."""
    chunk, inside = content[12:16], content[20:30]
    # 24 bits each, stored less one.
    if chunk == b"VP8X":
        return 1 + int.from_bytes(inside[4:7], "little"), 1 + int.from_bytes(inside[7:10], "little")
    # 14 bits each, stored less one, after a signature byte.
    if chunk == b"VP8L":
        bits = int.from_bytes(inside[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(inside[6:8], "little") & 0x3FFF, int.from_bytes(inside[8:10], "little") & 0x3FFF


def _load_scaled(image: "Image", max_side: int) -> "Image":
    """Return the decoded image, scaled down to `max_side`, in a color or gray mode."""
    size = scale_size(image.size, min(1.0, max_side / max(image.size)))
    image.draft(None, size)  # JPEG decodes at 1/2, 1/4 or 1/8 of its size at a fraction of the cost
    image.load()
    converted = _to_supported_mode(image)
    if converted.size == size:
        return converted
    from PIL import Image  # noqa: PLC0415

    return converted.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def scale_size(size: tuple[int, int], factor: float) -> tuple[int, int]:
    """Return width and height multiplied by `factor`, each at least 1."""
    # Not round(), which rounds halves to the even number.
    return max(1, math.floor(size[0] * factor + 0.5)), max(1, math.floor(size[1] * factor + 0.5))


def _to_supported_mode(image: "Image") -> "Image":
    """Return the image as L, RGB, RGBA or CMYK."""
    if image.mode.startswith("I"):
        # 16 bits per channel: `convert` would clip all values above 255 to white.
        image = image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode in ("L", "RGB", "CMYK", "RGBA") and "transparency" not in image.info:
        return image  # avoid copying up to 500 MB
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _strip_metadata(image: "Image", original: "Image") -> "Image":
    """Return `image` in sRGB and upright according to the metadata of `original`, without metadata."""
    # The profile describes colors only, so transparency is taken off and put back.
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    profile = original.info.get("icc_profile")
    result = _to_srgb(image.convert("RGB") if alpha else image, profile)
    # A fully opaque alpha channel only makes the file larger.
    if alpha and alpha.getextrema() != (255, 255):
        result = _apply_alpha(result, alpha)
    result = _apply_orientation(result, original)
    result.info = {}
    return result


def _apply_alpha(image: "Image", alpha: "Image") -> "Image":
    """Return `image` with the alpha channel. Transparent pixels become black: they may hold erased content."""
    from PIL import Image  # noqa: PLC0415

    visible = Image.composite(image, Image.new("RGB", image.size), alpha.point(lambda value: 255 if value else 0))
    visible.putalpha(alpha)
    return visible


def _to_srgb(image: "Image", profile: object) -> "Image":
    """Return the image converted to sRGB. An unusable color profile is ignored."""
    # A profile is untrusted input for a C library; real ones are a few kilobytes.
    if isinstance(profile, bytes) and 0 < len(profile) <= MAX_PROFILE_BYTES:
        from PIL import ImageCms  # noqa: PLC0415

        try:
            source_profile = ImageCms.ImageCmsProfile(BytesIO(profile))
            converted = ImageCms.profileToProfile(
                image, source_profile, ImageCms.createProfile("sRGB"), outputMode="RGB"
            )
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            converted = None
        if converted is not None:
            return converted
    return image.convert("RGB")


def _apply_orientation(image: "Image", original: "Image") -> "Image":
    """Return the image rotated and mirrored according to EXIF Orientation (EXIF 2.32)."""
    from PIL import Image  # noqa: PLC0415

    transpose = Image.Transpose
    operations = {
        2: transpose.FLIP_LEFT_RIGHT,
        3: transpose.ROTATE_180,
        4: transpose.FLIP_TOP_BOTTOM,
        5: transpose.TRANSPOSE,
        6: transpose.ROTATE_270,
        7: transpose.TRANSVERSE,
        8: transpose.ROTATE_90,
    }
    try:
        orientation = original.getexif().get(_ORIENTATION)
    except Exception:  # damaged or hostile EXIF: keep the image as it is stored
        orientation = None
    operation = operations.get(orientation) if isinstance(orientation, int) else None
    return image if operation is None else image.transpose(operation)


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
    # One image at a time: several threads together could exhaust the memory.
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
    # A PNG that does not fit at full size is better off as a JPEG than as a smaller PNG.
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


_THUMBNAIL_BOUNDS = ImageBounds(bytes=MAX_BYTES, types=(ImageFormat.JPEG.value,), max_side=MAX_THUMBNAIL_SIDE)


def thumbnail(content: bytes, *, first_frame: bool = False) -> Thumbnail:
    """Return a small JPEG of the image, on white if it is transparent, with the size of the original.

    Takes a second for large images, so call it in a thread. Raise ImageError, as posting the image would.
    """
    resized = fit_to_bounds(content, _THUMBNAIL_BOUNDS, first_frame=first_frame)
    width, height = image_size(content)
    if (width - height) * (resized.width - resized.height) < 0:  # the file is stored rotated; report the upright size
        width, height = height, width
    return Thumbnail(content=resized.content, width=width, height=height, size=len(content))
