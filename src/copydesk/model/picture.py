"""URLs of images stored by Copydesk, addressed by content and never by path; and thumbnails."""

import re

from copydesk.model.wire import Struct

STORED_URL_PATTERN = re.compile(r"copydesk:picture/([0-9a-f]{64})")
"""Must match completely; the group is the SHA-256 of the content."""


def stored_image_url(digest: str) -> str:
    """Return the URL of the stored image with this SHA-256 (hexadecimal)."""
    return f"copydesk:picture/{digest}"


def stored_image_digest(url: str) -> str | None:
    """Return the SHA-256 (hexadecimal) of the stored image at `url`, or None for any other URL."""
    match = STORED_URL_PATTERN.fullmatch(url)
    return match[1] if match else None


class Thumbnail(Struct, frozen=True):
    """A thumbnail, or why there is none."""

    content: bytes = b""
    """A JPEG of a few hundred pixels; empty if there is none."""
    width: int = 0
    """Pixels of the original image."""
    height: int = 0
    size: int = 0
    """Bytes of the original image."""
    message: str = ""
    """Why there is no thumbnail."""
