"""Tells what a file is by its first bytes; its name, and what a server calls it, count for nothing. Pure."""

from enum import StrEnum

from copydesk.pictures.errors import PictureError

MiB = 2**20
MOST_BYTES = 20 * MiB
"""Of a picture as it comes; no camera's JPEG is larger."""

_AS_JPEG = "Save it as a JPEG or PNG."
_NO_PICTURE = "It takes a JPEG, PNG, GIF or WebP."
_LOOKED_AT = 1024
"""Bytes in which a text says what it is."""


class Kind(StrEnum):
    """The kinds of pictures that are read, by their media types."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    GIF = "image/gif"
    WEBP = "image/webp"


_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "HEIC"),
}
"""Of ISO media files (ISO/IEC 23008-12, the AV1 image format); they are named to be refused."""


def kind_of(content: bytes) -> Kind | None:
    """The kind of picture that `content` begins as, or None."""
    if content.startswith(b"\xff\xd8\xff"):
        return Kind.JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return Kind.PNG
    if content.startswith((b"GIF87a", b"GIF89a")):
        return Kind.GIF
    return Kind.WEBP if content.startswith(b"RIFF") and content[8:12] == b"WEBP" else None


def checked_kind(content: bytes) -> Kind:
    """The kind of picture; PictureError for what is none of those that are read, or too large to be one."""
    if len(content) > MOST_BYTES:
        raise too_large()
    kind = kind_of(content)
    if kind is None:
        says, hint = _not_read(content)
        raise PictureError(says, hint=hint)
    return kind


def too_large() -> PictureError:
    """The error about more than MOST_BYTES."""
    return PictureError(f"It is larger than {MOST_BYTES // MiB} MB.", hint="Save it smaller.")


def _not_read(content: bytes) -> tuple[str, str]:
    """What `content` is instead, and what to do."""
    start = content[:_LOOKED_AT].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not content:
        return "It is an empty file.", _NO_PICTURE
    if content[4:8] == b"ftyp" and (name := _BRANDS.get(content[8:12])):
        return f"It is in the format {name}, which platforms do not take.", _AS_JPEG
    if b"<svg" in start:
        return "It is an SVG drawing, which platforms do not take.", _AS_JPEG
    if start.startswith((b"<!doctype html", b"<html")):
        return "It is a web page and no picture.", "Give the address of the picture itself."
    return "It is no picture that can be read.", _NO_PICTURE
