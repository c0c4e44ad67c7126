"""Detect the media type of a file by its first bytes. File names and Content-Type headers are ignored."""

from enum import StrEnum

from copydesk.errors import ImageError

MiB = 2**20
MAX_BYTES = 20 * MiB
"""Maximum size of an input image; no camera's JPEG is larger."""

_CONVERT_HINT = "Save it as a JPEG or PNG."
_FORMATS_HINT = "Use a JPEG, PNG, GIF or WebP."
_SNIFF_BYTES = 1024
"""Bytes in which a text format identifies itself."""


class ImageFormat(StrEnum):
    """Accepted input formats, by media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    GIF = "image/gif"
    WEBP = "image/webp"


_UNSUPPORTED_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "HEIC"),
}
"""Brands of ISO media files (ISO/IEC 23008-12; AV1 Image File Format), for a better error message."""


def sniff(content: bytes) -> ImageFormat | None:
    """Return the format that `content` begins with, or None."""
    if content.startswith(b"\xff\xd8\xff"):
        return ImageFormat.JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageFormat.PNG
    if content.startswith((b"GIF87a", b"GIF89a")):
        return ImageFormat.GIF
    return ImageFormat.WEBP if content.startswith(b"RIFF") and content[8:12] == b"WEBP" else None


def validate_format(content: bytes) -> ImageFormat:
    """Return the format. Raise ImageError if it is not accepted or the content is too large."""
    if len(content) > MAX_BYTES:
        raise too_large_error()
    kind = sniff(content)
    if kind is None:
        message, hint = _unsupported_message(content)
        raise ImageError(message, hint=hint)
    return kind


def too_large_error() -> ImageError:
    """Return the error for content over `MAX_BYTES`."""
    return ImageError(f"It is larger than {MAX_BYTES // MiB} MB.", hint="Save it in a smaller size.")


def _unsupported_message(content: bytes) -> tuple[str, str]:
    """Return the message and hint for an unsupported format."""
    prefix = content[:_SNIFF_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not content:
        return "The file is empty.", _FORMATS_HINT
    if content[4:8] == b"ftyp" and (name := _UNSUPPORTED_BRANDS.get(content[8:12])):
        return f"Platforms do not accept the format {name}.", _CONVERT_HINT
    if b"<svg" in prefix:
        return "Platforms do not accept SVG.", _CONVERT_HINT
    if prefix.startswith((b"<!doctype html", b"<html")):
        return "It is a web page, not an image.", "Use the address of the image itself."
    return "It is not a readable image.", _FORMATS_HINT
