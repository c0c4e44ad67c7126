"""Text length as each platform counts it.

X: twitter-text's configuration 3, after NFC: 1 for U+0000 to U+10FF and some punctuation, 2 for everything else, 2 for
an emoji however it is composed, 23 for a link. Bluesky: graphemes, and 3,000 bytes of UTF-8; a link counts as it is
displayed, because its address is not in the text of a post.
Mastodon: graphemes, 23 for a link; the host of a mention does not count. Threads and LinkedIn: UTF-16 code units.
"""

import re
import unicodedata

from copydesk.text import links

LINK_LENGTH = 23
"""Length of any link on X and Mastodon, however long it is."""

# Each character here is a grapheme of its own: no marks, joiners, emoji or CRLF. Such text, which is most text, is
# measured without importing regex.
_SIMPLE_TEXT = re.compile(
    "[\n -~\u00a0-\u00a8\u00aa-\u00ac\u00af-\u02ff\u0370-\u0373\u0400-\u0482\u2010-\u2027\u2030-\u203b]*"
)
# twitter-text's ranges of weight 100; every other code point has weight 200.
_LIGHT_CHARACTERS = re.compile("[\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]+")
# A Mastodon mention with its host, of which only `@user` counts.
_REMOTE_MENTION = re.compile(r"(?<![\w/.@])(@\w+(?:[.-]\w+)*)@\w+(?:[.-]\w+)+")
# The host, without a user's name and password, and what follows it; a path of "/" alone is left out.
_ADDRESS = re.compile(r"https?://(?:[^/?#]*@)?([^/?#@]+)(?:/(?=[?#]|\Z))?(.*)", re.IGNORECASE)


def graphemes(text: str) -> list[str]:
    """Return the extended grapheme clusters of `text` (UAX #29): characters as a reader counts them."""
    if _SIMPLE_TEXT.fullmatch(text):
        return list(text)
    from copydesk.text.graphemes import split_graphemes  # noqa: PLC0415 - imports regex, which is slow

    return split_graphemes(text)


def byte_length(text: str) -> int:
    """Return the size of `text` in UTF-8 bytes; a lone surrogate counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def shorten_link(address: str) -> str:
    """Return an address as Bluesky's app displays it: the host and 13 characters of the rest; anything else unchanged.

    The app warns of a link whose text names another host, and one without `www.` is another.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return address
    host, tail = match.groups()
    return host + (f"{tail[:13]}..." if len(tail) > 15 else tail)


def count_emoji(text: str) -> int:
    """Return the number of emoji in `text`; a sequence displayed as one counts once."""
    return sum(map(_has_emoji, graphemes(text))) if _has_emoji(text) else 0


def remove_emoji(text: str) -> str:
    """Return `text` without its emoji and the double spaces they leave."""
    if not _has_emoji(text):
        return text
    text_only = "".join("" if _has_emoji(cluster) else cluster for cluster in graphemes(text))
    return re.sub(r" +(?=[.,;:!?](?:\s|$))", "", re.sub(r" {2,}", " ", text_only)).strip(" ")


def _has_emoji(text: str) -> bool:
    if _SIMPLE_TEXT.fullmatch(text):
        return False
    from copydesk.text.graphemes import has_emoji  # noqa: PLC0415 - imports regex, which is slow

    return has_emoji(text)


def grapheme_length(text: str) -> int:
    """Return the number of graphemes of `text`."""
    return len(text) if _SIMPLE_TEXT.fullmatch(text) else len(graphemes(text))


def bluesky_length(text: str) -> int:
    """Return the length of `text` on Bluesky."""
    return grapheme_length(links.replace_spans(text, links.spans(text), shorten_link))


def x_length(text: str) -> int:
    """Return the length of `text` on X."""
    # X counts after NFC: a letter with a combining accent is one character.
    text = unicodedata.normalize("NFC", text)
    link_spans = links.all_spans(text)
    return LINK_LENGTH * len(link_spans) + _weighted_length(links.replace_spans(text, link_spans, ""))


def _weighted_length(text: str) -> int:
    if not _has_emoji(text):
        return _code_point_weight(text)
    return sum(2 if _has_emoji(cluster) else _code_point_weight(cluster) for cluster in graphemes(text))


def _code_point_weight(text: str) -> int:
    """Return 1 for each character in twitter-text's light ranges plus 2 for each other one."""
    return 2 * len(text) - sum(match.end() - match.start() for match in _LIGHT_CHARACTERS.finditer(text))


def mastodon_length(text: str) -> int:
    """Return the length of `text` on Mastodon."""
    shortened = links.replace_spans(text, links.spans(text), "x" * LINK_LENGTH)
    return grapheme_length(_REMOTE_MENTION.sub(r"\1", shortened))


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units of `text`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
