"""What in a post is more than text: links and hashtags. Nobody can click them without a facet.

A mention stays text. Its facet would have to name the person by a DID, which only the network knows, and what is sent
is settled before anything is asked; nobody gets a notice of a post that was written for them by a program.
"""

import msgspec

from copydesk.model.wire import Struct
from copydesk.text import links
from copydesk.text.length import byte_length, graphemes

LINK, TAG = "app.bsky.richtext.facet#link", "app.bsky.richtext.facet#tag"
LONGEST_TAG, LONGEST_TAG_BYTES = 64, 640


class ByteSlice(Struct, frozen=True):
    """A stretch of the text, in bytes of its UTF-8."""

    byte_start: int
    byte_end: int


class Feature(Struct, frozen=True, omit_defaults=True):
    """What the stretch is: a link with its address, or a hashtag with its name."""

    type: str = msgspec.field(name="$type")
    uri: str = ""
    tag: str = ""


class Facet(Struct, frozen=True):
    """A stretch of the text, and what it is."""

    index: ByteSlice
    features: list[Feature]


def facets(text: str) -> list[Facet] | None:
    """The links and hashtags of `text` in their order (app.bsky.richtext.facet); None where there are none.

    A link says what the text says; one without a scheme leads to https.
    """
    linked = [(span, Feature(type=LINK, uri=_address(text[span[0] : span[1]]))) for span in links.all_spans(text)]
    tagged = [
        (match.span(), Feature(type=TAG, tag=match[0][1:]))
        for match in links.HASHTAG.finditer(links.masked(text))
        if _is_tag(match[0][1:])
    ]
    found = sorted(linked + tagged, key=lambda each: each[0])
    return [Facet(index=_slice(text, span), features=[feature]) for span, feature in found] or None


def _address(found: str) -> str:
    return found if links.URL.match(found) else f"https://{found}"


def _is_tag(name: str) -> bool:
    return len(graphemes(name)) <= LONGEST_TAG and byte_length(name) <= LONGEST_TAG_BYTES


def _slice(text: str, span: links.Span) -> ByteSlice:
    start = byte_length(text[: span[0]])
    return ByteSlice(byte_start=start, byte_end=start + byte_length(text[span[0] : span[1]]))
