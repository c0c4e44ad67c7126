"""The pixels of a picture from outside, and nothing else of it: upright, in sRGB, on 8 bits, without metadata. Pure.

Needs Pillow. What a file asks for is looked at before it is done: a few hundred bytes can unpack to
gigabytes, or keep a decoder busy for an hour.
"""

import math
import warnings
from io import BytesIO
from typing import TYPE_CHECKING

from copydesk.pictures.errors import PictureError
from copydesk.pictures.kind import Kind, checked_kind

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = {Kind.JPEG: 2**26, Kind.PNG: 2**25, Kind.GIF: 2**25, Kind.WEBP: 2**25}
"""67 megapixels of a photo and 34 of any other kind, which is the largest screen's; they take up to 500 MB."""
MOST_SCANS = 100
"""Of a progressive JPEG. Each goes over all of its pixels; ten are usual."""
MOST_PROFILE = 2**20
"""Bytes of a colour profile."""
_SCAN = b"\xff\xda"
_ORIENTATION = 0x0112


def decoded(content: bytes, longest_side: int, *, first_frame: bool) -> "Image":
    """The picture `content`, at most `longest_side` pixels wide and high: RGB, or RGBA where it is see-through.

    Of one that moves the first frame where `first_frame`; else it is refused. Raises PictureError for what is no
    whole picture, or is too large to be unpacked.
    """
    kind = checked_kind(content)
    pillow()
    # Of the decoder for this one kind only. What it fails with on a damaged file can be of any class.
    try:
        picture = _opened(content, kind, first_frame=first_frame)
        return _bare(_small(picture, longest_side), picture)
    except PictureError:
        raise
    except MemoryError:
        raise PictureError("There is not enough memory to read it.", hint="Save it smaller.", later=True) from None
    except Exception:
        raise PictureError(
            "It is damaged or cut off: it cannot be read to its end.", hint="Save it anew, or take another one."
        ) from None


def size_of(content: bytes) -> tuple[int, int]:
    """Width and height of a picture that was decoded before, as its file has them, in pixels."""
    return _opened(content, checked_kind(content), first_frame=True).size


def pillow() -> None:
    """Raise PictureError where Pillow is not installed; where it is, keep it from printing warnings."""
    try:
        import PIL.Image  # noqa: F401, PLC0415 - an extra, and 20 ms
    except ImportError:
        raise PictureError(
            "Pictures need Pillow, which is not installed.", hint="Install it: pip install pillow"
        ) from None
    # What is wrong with a file is found out below; on the terminal, Pillow's words would land in the console.
    warnings.filterwarnings("ignore", module=r"PIL\b")


def _opened(content: bytes, kind: Kind, *, first_frame: bool) -> "Image":
    """The picture with its header read and its size known to be in bounds."""
    from PIL import Image  # noqa: PLC0415

    if kind is Kind.WEBP:
        _check_size(kind, *_webp_size(content))  # its decoder takes the memory when it is opened
    if kind is Kind.JPEG and content.count(_SCAN) > MOST_SCANS:
        raise _too_many_pixels(kind)
    try:
        picture = Image.open(BytesIO(content), formats=(kind.name,))
    except Image.DecompressionBombError:
        raise _too_many_pixels(kind) from None
    _check_size(kind, *picture.size)
    # A JPEG may have more pictures in it, such as one for each eye; they are no frames.
    if kind is not Kind.JPEG and getattr(picture, "is_animated", False) and not first_frame:
        raise PictureError("It moves, and only still pictures are posted.", hint="Save the frame that you want.")
    return picture


def _check_size(kind: Kind, width: int, height: int) -> None:
    if width * height > MOST_PIXELS[kind]:
        raise _too_many_pixels(kind)


def _too_many_pixels(kind: Kind) -> PictureError:
    return PictureError(
        f"It has more than {MOST_PIXELS[kind] // 10**6} million pixels, or takes as long to unpack.",
        hint="Save it smaller.",
    )


def _webp_size(content: bytes) -> tuple[int, int]:
    """Width and height as a WebP file's first chunk has them (RFC 9649)."""
    chunk, inside = content[12:16], content[20:30]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(inside[4:7], "little"), 1 + int.from_bytes(inside[7:10], "little")
    if chunk == b"VP8L":
        bits = int.from_bytes(inside[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(inside[6:8], "little") & 0x3FFF, int.from_bytes(inside[8:10], "little") & 0x3FFF


def _small(picture: "Image", longest_side: int) -> "Image":
    """The pixels, decoded and scaled down; in a mode that knows colours."""
    size = scaled(picture.size, min(1.0, longest_side / max(picture.size)))
    picture.draft(None, size)  # a JPEG can be decoded at a half, a quarter or an eighth of its size
    picture.load()
    coloured = _coloured(picture)
    if coloured.size == size:
        return coloured
    from PIL import Image  # noqa: PLC0415

    return coloured.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def scaled(size: tuple[int, int], by: float) -> tuple[int, int]:
    """Width and height times `by`, at least 1."""
    return max(1, math.floor(size[0] * by + 0.5)), max(1, math.floor(size[1] * by + 0.5))


def _coloured(picture: "Image") -> "Image":
    """The picture as L, RGB, RGBA or CMYK."""
    if picture.mode.startswith("I"):
        # Sixteen bits: converted as they are, everything above 255 would be white.
        picture = picture.point(lambda value: value * (1 / 256)).convert("L")
    if picture.mode in ("L", "RGB", "CMYK", "RGBA") and "transparency" not in picture.info:
        return picture  # without a copy, which may be a large one
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _bare(picture: "Image", original: "Image") -> "Image":
    """`picture` in sRGB and upright as `original` says, without anything but its pixels."""
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    profile = original.info.get("icc_profile")
    plain = _in_srgb(picture.convert("RGB") if alpha else picture, profile)
    if alpha and alpha.getextrema() != (255, 255):
        plain = _see_through(plain, alpha)
    plain = _upright(plain, original)
    plain.info = {}
    return plain


def _see_through(plain: "Image", alpha: "Image") -> "Image":
    """`plain` with `alpha`; what nobody can see, such as what was erased, is gone."""
    from PIL import Image  # noqa: PLC0415

    seen = Image.composite(plain, Image.new("RGB", plain.size), alpha.point(lambda value: 255 if value else 0))
    seen.putalpha(alpha)
    return seen


def _in_srgb(picture: "Image", profile: object) -> "Image":
    """The colours as screens take them; a profile that cannot be used counts for nothing."""
    if isinstance(profile, bytes) and 0 < len(profile) <= MOST_PROFILE:
        from PIL import ImageCms  # noqa: PLC0415

        try:
            given = ImageCms.ImageCmsProfile(BytesIO(profile))
            made = ImageCms.profileToProfile(picture, given, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            made = None
        if made is not None:
            return made
    return picture.convert("RGB")


def _upright(picture: "Image", original: "Image") -> "Image":
    """`picture` turned and mirrored as the camera says (EXIF 2.32, Orientation)."""
    from PIL import Image  # noqa: PLC0415

    turn = Image.Transpose
    turns = {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_270,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_90,
    }
    try:
        said = original.getexif().get(_ORIENTATION)
    except Exception:  # damaged, or made to be: the picture is taken as it lies
        said = None
    how = turns.get(said) if isinstance(said, int) else None
    return picture if how is None else picture.transpose(how)
