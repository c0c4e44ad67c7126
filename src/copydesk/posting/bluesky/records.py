"""The records that posts are on a PDS, and the ids that follow from their content. Nothing is asked here.

A post names the one it replies to by its address and by the hash of its content (its CID), so the hashes of a whole
thread are computed before any of it is sent: DAG-CBOR, SHA-256, CIDv1 (atproto.com/specs/data-model). Pictures come
only when the post is sent. Until then a record holds their descriptions alone, and no hash is in it; the same bytes
give the same hashes each time.
"""

import hashlib
from base64 import b32decode
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec.structs import replace

from copydesk.model.wire import Struct, iso
from copydesk.posting.bluesky.facets import Facet, facets
from copydesk.posting.keys import tid_key
from copydesk.posting.platform import Picture, Post

COLLECTION = "app.bsky.feed.post"
IMAGES = "app.bsky.embed.images"
CREATE = "com.atproto.repo.applyWrites#create"
_CID_VERSION, _SHA256 = b"\x01", b"\x12\x20"
_DAG_CBOR, _RAW = b"\x71", b"\x55"


class Ref(Struct, frozen=True, omit_defaults=True):
    """A post, named so that it cannot be another one."""

    uri: str
    cid: str = ""


class Reply(Struct, frozen=True):
    """Where in a thread a post is."""

    root: Ref
    parent: Ref


class Link(Struct, frozen=True):
    """A CID, as JSON has it."""

    cid: Annotated[str, msgspec.Meta(pattern="^b[a-z2-7]{58}$")] = msgspec.field(name="$link")


class Blob(Struct, frozen=True):
    """A file that a record has with it."""

    ref: Link
    mime_type: str
    size: int
    type: str = msgspec.field(name="$type", default="blob")


class AspectRatio(Struct, frozen=True):
    """So that room is kept for a picture before it is there."""

    width: int
    height: int


class Image(Struct, frozen=True, omit_defaults=True):
    """A picture of a post; without its file as long as that is not sent."""

    alt: str
    image: Blob | None = None
    aspect_ratio: AspectRatio | None = None


class Embed(Struct, frozen=True):
    """The pictures of a post."""

    images: list[Image]
    type: str = msgspec.field(name="$type", default=IMAGES)


class Record(Struct, frozen=True, omit_defaults=True):
    """A post."""

    text: str
    created_at: str
    type: str = msgspec.field(name="$type")
    facets: list[Facet] | None = None
    embed: Embed | None = None
    reply: Reply | None = None


class Create(Struct, frozen=True):
    """One post of what is asked for."""

    rkey: str
    value: Record
    collection: str = COLLECTION
    type: str = msgspec.field(name="$type", default=CREATE)


class Writes(Struct, frozen=True):
    """What a PDS is asked to make, all of it or nothing (com.atproto.repo.applyWrites)."""

    repo: str
    writes: list[Create]


def uri_of(did: str, key: str) -> str:
    """The address of a post by its key."""
    return f"at://{did}/{COLLECTION}/{key}"


def writes_for(post: Post, did: str, seed: str) -> Writes:
    """What makes a post or a thread of them, but for its hashes; pictures are of the first one."""
    at = iso(post.at)
    made = [
        Create(rkey=tid_key(seed, place), value=Record(type=COLLECTION, text=text, created_at=at, facets=facets(text)))
        for place, text in enumerate(post.parts)
    ]
    if post.alts and made:
        made[0] = _valued(made[0], embed=Embed(images=[Image(alt=alt) for alt in post.alts]))
    refs = [Ref(uri=uri_of(did, each.rkey)) for each in made]
    for place in range(1, len(made)):
        made[place] = _valued(made[place], reply=Reply(root=refs[0], parent=refs[place - 1]))
    return Writes(repo=did, writes=made)


def images_of(writes: Writes) -> list[Image]:
    """The pictures of the first post."""
    embed = writes.writes[0].value.embed
    return embed.images if embed else []


def image_of(picture: Picture, alt: str) -> Image:
    """A picture as a record names it; its description is the one that was approved."""
    return Image(alt=alt, image=blob_of(picture), aspect_ratio=AspectRatio(width=picture.width, height=picture.height))


def blob_of(picture: Picture) -> Blob:
    """The file of a picture as the server names it once it has it."""
    cid = _cid(_RAW, picture.content)
    return Blob(ref=Link(cid=cid), mime_type=picture.media_type, size=len(picture.content))


def completed(writes: Writes, images: Sequence[Image]) -> tuple[Writes, list[str]]:
    """`writes` with its pictures and hashes, and the CID of each of its posts."""
    done = list(writes.writes)
    if images:
        done[0] = _valued(done[0], embed=Embed(images=list(images)))
    cids = [cid_of(done[0].value)]
    for before, place in pairwise(range(len(done))):
        reply = done[place].value.reply
        assert reply is not None
        root, parent = replace(reply.root, cid=cids[0]), replace(reply.parent, cid=cids[before])
        done[place] = _valued(done[place], reply=Reply(root=root, parent=parent))
        cids.append(cid_of(done[place].value))
    return replace(writes, writes=done), cids


def cid_of(record: Record) -> str:
    """The id that follows from a record's content."""
    from libipld import encode_dag_cbor  # noqa: PLC0415 - for those who post: a preview has no ids

    return _cid(_DAG_CBOR, encode_dag_cbor(_linked(msgspec.to_builtins(record))))


def _valued(create: Create, *, embed: Embed | None = None, reply: Reply | None = None) -> Create:
    value = create.value
    return replace(create, value=replace(value, embed=embed or value.embed, reply=reply or value.reply))


def _cid(codec: bytes, content: bytes) -> str:
    from libipld import encode_cid  # noqa: PLC0415 - as above

    return str(encode_cid(_CID_VERSION + codec + _SHA256 + hashlib.sha256(content).digest()))


def _linked(value: object) -> object:
    """`value` with the bytes of a CID for each `$link`, which is how libipld knows them."""
    if isinstance(value, dict):
        if isinstance(link := value.get("$link"), str):
            return b32decode(link[1:].upper() + "======")
        return {name: _linked(inner) for name, inner in value.items()}
    return [_linked(inner) for inner in value] if isinstance(value, list) else value
