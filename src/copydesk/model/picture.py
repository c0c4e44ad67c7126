"""How a picture is named whose bytes Copydesk keeps itself, by what is in it and never by a path; and how it looks."""

import re

from copydesk.model.wire import Struct

KEPT = re.compile(r"copydesk:picture/([0-9a-f]{64})")
"""Matched whole; the group is the SHA-256 of the bytes."""


def kept_url(digest: str) -> str:
    """The url of the kept picture whose SHA-256 is `digest`, in hexadecimal."""
    return f"copydesk:picture/{digest}"


def kept_digest(url: str) -> str | None:
    """The SHA-256, in hexadecimal, of the kept picture at `url`; None for the url of anything else."""
    found = KEPT.fullmatch(url)
    return found[1] if found else None


class Look(Struct, frozen=True):
    """A picture to be looked at, or why it cannot be."""

    content: bytes = b""
    """It as a JPEG of a few hundred pixels, made here; empty where there is none to see."""
    width: int = 0
    """Pixels of the picture itself."""
    height: int = 0
    weight: int = 0
    """Bytes of the picture itself."""
    says: str = ""
    """Why there is none to see."""
