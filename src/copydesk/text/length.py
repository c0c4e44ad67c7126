"""How long a text is, as each platform counts it.

X: twitter-text's configuration 3, after NFC: 1 for U+0000 to U+10FF and some punctuation, 2 for everything else, 2 for
an emoji however it is composed, 23 for a link. Bluesky: graphemes, and 3,000 bytes of UTF-8; a link counts whole.
Mastodon: graphemes, 23 for a link, the host of a mention is free. Threads and LinkedIn: UTF-16 units.
"""

import re
import unicodedata
from collections.abc import Callable

from copydesk.text import links

LIMITS = {"x": 280, "bluesky": 300, "mastodon": 500, "threads": 500, "linkedin": 3000}
"""The longest post of each platform, in its own units (Mastodon: the usual one; a server may say otherwise)."""
BYTE_LIMITS = {"bluesky": 3000}
"""The most bytes of UTF-8 that a post may have."""
LINK_LENGTH = 23
"""What X and Mastodon count for a link of whatever length."""

# In a text of these every character is a grapheme: no marks, joiners, emoji or line ends of two characters.
_SIMPLE = re.compile(
    "[\n -~\u00a0-\u00a8\u00aa-\u00ac\u00af-\u02ff\u0370-\u0373\u0400-\u0482\u2010-\u2027\u2030-\u203b]*"
)
_LIGHT = re.compile("[\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]+")
_REMOTE = re.compile(r"(?<![\w/.@])(@\w+(?:[.-]\w+)*)@\w+(?:[.-]\w+)+")


def graphemes(text: str) -> list[str]:
    """The characters of `text` as a reader counts them (UAX #29 extended grapheme clusters)."""
    if _SIMPLE.fullmatch(text):
        return list(text)
    from copydesk.text.clusters import split  # noqa: PLC0415 - see there

    return split(text)


def length(text: str, platform: str) -> int:
    """How long `text` is on `platform`, in its own units; in graphemes where the platform is not known."""
    return _COUNT.get(platform, _grapheme_length)(text)


def fits(text: str, platform: str) -> bool:
    """Whether `platform` takes `text` as one post; True where no limit is known."""
    limit = LIMITS.get(platform)
    if limit is not None and length(text, platform) > limit:
        return False
    most = BYTE_LIMITS.get(platform)
    return most is None or byte_length(text) <= most


def byte_length(text: str) -> int:
    """How many bytes of UTF-8 `text` has."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def with_short_links(text: str) -> str:
    """`text` with each link as Bluesky's own app shows it and counts it: the host and 13 characters of the path."""
    out: list[str] = []
    last = 0
    for start, end in links.spans(text):
        shown = text[start:end].split("://", 1)[1].removeprefix("www.")
        host, slash, path = shown.partition("/")
        tail = slash + path
        out += (text[last:start], host + (f"{tail[:13]}..." if len(tail) > 15 else tail))
        last = end
    return "".join((*out, text[last:]))


def count_emoji(text: str) -> int:
    """How many emoji a reader sees in `text`."""
    return sum(map(_has_emoji, graphemes(text))) if _has_emoji(text) else 0


def without_emoji(text: str) -> str:
    """`text` without its emoji and the gaps that they leave."""
    if not _has_emoji(text):
        return text
    kept = "".join("" if _has_emoji(cluster) else cluster for cluster in graphemes(text))
    return re.sub(r" +(?=[.,;:!?](?:\s|$))", "", re.sub(r" {2,}", " ", kept)).strip(" ")


def _has_emoji(text: str) -> bool:
    if _SIMPLE.fullmatch(text):
        return False
    from copydesk.text.clusters import has_picture  # noqa: PLC0415 - see there

    return has_picture(text)


def _grapheme_length(text: str) -> int:
    return len(text) if _SIMPLE.fullmatch(text) else len(graphemes(text))


def _x_length(text: str) -> int:
    text = unicodedata.normalize("NFC", text)
    linked = links.all_spans(text)
    return LINK_LENGTH * len(linked) + _weight(links.replaced(text, linked, ""))


def _weight(text: str) -> int:
    if not _has_emoji(text):
        return _points(text)
    return sum(2 if _has_emoji(cluster) else _points(cluster) for cluster in graphemes(text))


def _points(text: str) -> int:
    """1 for each light character, 2 for each other one."""
    return 2 * len(text) - sum(match.end() - match.start() for match in _LIGHT.finditer(text))


def _mastodon_length(text: str) -> int:
    short = links.replaced(text, links.spans(text), "x" * LINK_LENGTH)
    return _grapheme_length(_REMOTE.sub(r"\1", short))


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


_COUNT: dict[str, Callable[[str], int]] = {
    "x": _x_length,
    "bluesky": _grapheme_length,
    "mastodon": _mastodon_length,
    "threads": _utf16_length,
    "linkedin": _utf16_length,
}
