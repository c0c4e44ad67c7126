"""The records that posts are on a PDS, with their facets and the CIDs computed from their content. Pure functions.

A reply names its parent by URI and by the hash of its content (CID), so the hashes of a whole thread are computed
before any of it is sent: DAG-CBOR, SHA-256, CIDv1 (atproto.com/specs/data-model). Images are uploaded only when the
post is sent; until then a record contains their alt texts alone and no hashes. Equal bytes always give equal hashes.
"""

import hashlib
import re
import unicodedata
from base64 import b32decode
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec.structs import replace

from copydesk.model.serialization import Struct, format_iso
from copydesk.posting.platform import Post, PostImage, tid_key
from copydesk.text import links
from copydesk.text.length import byte_length, graphemes, shorten_link

LINK_TYPE, TAG_TYPE = "app.bsky.richtext.facet#link", "app.bsky.richtext.facet#tag"
MAX_TAG_GRAPHEMES, MAX_TAG_BYTES = 64, 640
# TAG_REGEX of @atproto/api (rich-text/util.ts): up to a space or an invisible character. Unlike there, a tag may follow
# a bracket or a quotation mark.
_TAG = re.compile(r"(?<![\w&/#])[#＃](?![\ufe0f#＃])[^\s\u00ad\u200a-\u200d\u2060\u20e2]+")

COLLECTION = "app.bsky.feed.post"
IMAGES_TYPE = "app.bsky.embed.images"
CREATE_TYPE = "com.atproto.repo.applyWrites#create"
_CID_VERSION, _SHA256 = b"\x01", b"\x12\x20"
_DAG_CBOR, _RAW = b"\x71", b"\x55"


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


def render_text(text: str) -> tuple[str, list[Facet] | None]:
    """Return `text` with its links shortened as Bluesky's app does, and its facets (app.bsky.richtext.facet).

    The facets are the links, with their addresses in full, and the hashtags in order; None if there are none. Links
    without a scheme lead to https. Mentions stay plain text: their facet must name the person by DID, which only the
    network knows, while a request is fixed before anything is looked up. It also keeps generated posts from notifying
    people.
    """
    linked = [(span, Feature(type=LINK_TYPE, uri=_link_url(text[span[0] : span[1]]))) for span in links.all_spans(text)]
    tagged = [((start, end), Feature(type=TAG_TYPE, tag=text[start + 1 : end])) for start, end in _tag_spans(text)]
    rendered, last = "", 0
    facets = []
    for (start, end), feature in sorted(linked + tagged, key=lambda found: found[0]):
        before = rendered + text[last:start]
        rendered, last = before + shorten_link(text[start:end]), end
        index = ByteSlice(byte_start=byte_length(before), byte_end=byte_length(rendered))
        facets.append(Facet(index=index, features=[feature]))
    return rendered + text[last:], facets or None


def _link_url(link: str) -> str:
    return link if links.URL.match(link) else f"https://{link}"


def _tag_spans(text: str) -> Iterator[links.Span]:
    """Yield the spans of hashtags as the app finds them, with emoji and punctuation but without that at the end."""
    for match in _TAG.finditer(links.mask_links(text)):
        start, end = match.start() + 1, match.end()
        while end > start and _is_punctuation(text[end - 1]):
            end -= 1
        if _is_tag(text[start:end]):
            yield match.start(), end


def _is_tag(name: str) -> bool:
    is_number = all("0" <= char <= "9" or _is_punctuation(char) for char in name)
    return not is_number and len(graphemes(name)) <= MAX_TAG_GRAPHEMES and byte_length(name) <= MAX_TAG_BYTES


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char).startswith("P")


class StrongRef(Struct, frozen=True, omit_defaults=True):
    """A strong reference to a post: its URI and content hash."""

    uri: str
    cid: str = ""


class Reply(Struct, frozen=True):
    """The position of a post in its thread."""

    root: StrongRef
    parent: StrongRef


class CidLink(Struct, frozen=True):
    """A CID in JSON form."""

    cid: Annotated[str, msgspec.Meta(pattern="^b[a-z2-7]{58}$")] = msgspec.field(name="$link")


class Blob(Struct, frozen=True):
    """A file attached to a record."""

    ref: CidLink
    mime_type: str
    size: int
    type: str = msgspec.field(name="$type", default="blob")


class AspectRatio(Struct, frozen=True):
    """Lets clients reserve space before the image is loaded."""

    width: int
    height: int


class Image(Struct, frozen=True, omit_defaults=True):
    """An image of a post; without its file until it is sent."""

    alt: str
    image: Blob | None = None
    aspect_ratio: AspectRatio | None = None


class Embed(Struct, frozen=True):
    """The images of a post."""

    images: list[Image]
    type: str = msgspec.field(name="$type", default=IMAGES_TYPE)


class Record(Struct, frozen=True, omit_defaults=True):
    """A post record."""

    text: str
    # No default for `type`: `omit_defaults` would leave it out of the hashed record.
    created_at: str
    type: str = msgspec.field(name="$type")
    facets: list[Facet] | None = None
    embed: Embed | None = None
    reply: Reply | None = None


class Create(Struct, frozen=True):
    """One post of an applyWrites request."""

    rkey: str
    value: Record
    collection: str = COLLECTION
    type: str = msgspec.field(name="$type", default=CREATE_TYPE)


class Writes(Struct, frozen=True):
    """An applyWrites request, which a PDS executes atomically (com.atproto.repo.applyWrites)."""

    repo: str
    writes: list[Create]


def uri_of(did: str, key: str) -> str:
    """Return the AT URI of a post by its key."""
    return f"at://{did}/{COLLECTION}/{key}"


def writes_for(post: Post, did: str, seed: str) -> Writes:
    """Return the request for a post or thread, still without hashes. Images belong to the first post."""
    created_at = format_iso(post.at)
    creates = [
        Create(
            rkey=tid_key(seed, index),
            value=Record(type=COLLECTION, text=text, created_at=created_at, facets=facets),
        )
        for index, (text, facets) in enumerate(map(render_text, post.parts))
    ]
    if post.alts and creates:
        creates[0] = _with_value(creates[0], embed=Embed(images=[Image(alt=alt) for alt in post.alts]))
    refs = [StrongRef(uri=uri_of(did, create.rkey)) for create in creates]
    for index in range(1, len(creates)):
        creates[index] = _with_value(creates[index], reply=Reply(root=refs[0], parent=refs[index - 1]))
    return Writes(repo=did, writes=creates)


def with_time(writes: Writes, created_at: str) -> Writes:
    """Return `writes` with `created_at` as the time of every post."""
    creates = [replace(create, value=replace(create.value, created_at=created_at)) for create in writes.writes]
    return replace(writes, writes=creates)


def images_of(writes: Writes) -> list[Image]:
    """Return the images of the first post."""
    embed = writes.writes[0].value.embed
    return embed.images if embed else []


def image_of(post_image: PostImage, alt: str) -> Image:
    """Return an image as a record refers to it, with the approved alt text."""
    return Image(
        alt=alt, image=blob_of(post_image), aspect_ratio=AspectRatio(width=post_image.width, height=post_image.height)
    )


def blob_of(post_image: PostImage) -> Blob:
    """Return the blob reference that the server will assign to an image."""
    cid = _cid(_RAW, post_image.content)
    return Blob(ref=CidLink(cid=cid), mime_type=post_image.media_type, size=len(post_image.content))


def with_images_and_cids(writes: Writes, images: Sequence[Image]) -> tuple[Writes, list[str]]:
    """Return `writes` with its images and hashes, and the CID of each of its posts."""
    creates = list(writes.writes)
    if images:
        creates[0] = _with_value(creates[0], embed=Embed(images=list(images)))
    cids = [cid_of(creates[0].value)]
    # Each reply contains the CID of its parent, so hashes can only be computed from the first post on.
    for previous, index in pairwise(range(len(creates))):
        reply = creates[index].value.reply
        assert reply is not None
        root, parent = replace(reply.root, cid=cids[0]), replace(reply.parent, cid=cids[previous])
        creates[index] = _with_value(creates[index], reply=Reply(root=root, parent=parent))
        cids.append(cid_of(creates[index].value))
    return replace(writes, writes=creates), cids


def cid_of(record: Record) -> str:
    """Return the CID of a record, which its content determines."""
    from libipld import encode_dag_cbor  # noqa: PLC0415 - needed for sending only; previews compute no CIDs

    return _cid(_DAG_CBOR, encode_dag_cbor(_decode_links(msgspec.to_builtins(record))))


def _with_value(create: Create, *, embed: Embed | None = None, reply: Reply | None = None) -> Create:
    value = create.value
    return replace(create, value=replace(value, embed=embed or value.embed, reply=reply or value.reply))


def _cid(codec: bytes, content: bytes) -> str:
    from libipld import encode_cid  # noqa: PLC0415 - as above

    return str(encode_cid(_CID_VERSION + codec + _SHA256 + hashlib.sha256(content).digest()))


def _decode_links(value: object) -> object:
    """Replace each `$link` in `value` by the bytes of its CID, the form that libipld expects."""
    if isinstance(value, dict):
        if isinstance(link := value.get("$link"), str):
            # The first character is the multibase prefix; b32decode wants upper case and padding.
            return b32decode(link[1:].upper() + "======")
        return {name: _decode_links(inner) for name, inner in value.items()}
    return [_decode_links(inner) for inner in value] if isinstance(value, list) else value
