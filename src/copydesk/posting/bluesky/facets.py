"""Facets mark the links and hashtags of a post; without a facet they cannot be clicked.

Mentions stay plain text. Their facet must name the person by DID, which only the network knows, while a request is
fixed before anything is looked up. It also keeps generated posts from notifying people.
"""

import msgspec

from copydesk.model.wire import Struct
from copydesk.text import links
from copydesk.text.length import byte_length, graphemes

LINK_TYPE, TAG_TYPE = "app.bsky.richtext.facet#link", "app.bsky.richtext.facet#tag"
MAX_TAG_GRAPHEMES, MAX_TAG_BYTES = 64, 640


class ByteSlice(Struct, frozen=True):
    """A range of the text in bytes of its UTF-8 encoding."""

    byte_start: int
    byte_end: int


class Feature(Struct, frozen=True, omit_defaults=True):
    """The meaning of a range: a link with its URL or a hashtag with its name."""

    # No default: `omit_defaults` would leave it out.
    type: str = msgspec.field(name="$type")
    uri: str = ""
    tag: str = ""


class Facet(Struct, frozen=True):
    """A range of the text and its meaning."""

    index: ByteSlice
    features: list[Feature]


def find_facets(text: str) -> list[Facet] | None:
    """Return the links and hashtags of `text` in order (app.bsky.richtext.facet); None if there are none.

    Links without a scheme lead to https.
    """
    linked = [(span, Feature(type=LINK_TYPE, uri=_link_url(text[span[0] : span[1]]))) for span in links.all_spans(text)]
    tagged = [
        (match.span(), Feature(type=TAG_TYPE, tag=match[0][1:]))
        for match in links.HASHTAG.finditer(links.mask_links(text))
        if _is_tag(match[0][1:])
    ]
    found = sorted(linked + tagged, key=lambda facet: facet[0])
    return [Facet(index=_byte_slice(text, span), features=[feature]) for span, feature in found] or None


def _link_url(link: str) -> str:
    return link if links.URL.match(link) else f"https://{link}"


def _is_tag(name: str) -> bool:
    return len(graphemes(name)) <= MAX_TAG_GRAPHEMES and byte_length(name) <= MAX_TAG_BYTES


def _byte_slice(text: str, span: links.Span) -> ByteSlice:
    start = byte_length(text[: span[0]])
    return ByteSlice(byte_start=start, byte_end=start + byte_length(text[span[0] : span[1]]))
