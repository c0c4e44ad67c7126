"""Lengths of texts by the names of platforms."""

from copydesk.posting.registry import PLATFORMS
from copydesk.text.length import grapheme_length

LIMITS = {name: info.limits.max_length for name, info in PLATFORMS.items() if info.limits.max_length is not None}

BYTE_LIMITS = {name: info.limits.max_bytes for name, info in PLATFORMS.items() if info.limits.max_bytes is not None}


def length(text: str, platform: str) -> int:
    """Return the length of `text` in the platform's own units, in graphemes on an unknown platform."""
    return PLATFORMS[platform].count(text) if platform in PLATFORMS else grapheme_length(text)


def fits(text: str, platform: str) -> bool:
    """Return True if `platform` accepts `text` as one post, or if it is not known."""
    return platform not in PLATFORMS or PLATFORMS[platform].fits(text)
