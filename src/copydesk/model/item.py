"""Entries as sources deliver them, and items as Copydesk stores them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b

from copydesk.model.serialization import Struct

_HASH_CHUNK = 2047


def digest(body: bytes, size: int = 16) -> bytes:
    """Return `size` bytes of BLAKE2b of `body`.

    Hashing is done in chunks below 2 KiB: for larger ones CPython releases the GIL and has to wait to get it back,
    which delays the event loop while other threads store and rank.
    """
    state = blake2b(digest_size=size)
    for start in range(0, len(body), _HASH_CHUNK):
        state.update(body[start : start + _HASH_CHUNK])
    return state.digest()


class Entry(Struct, frozen=True, gc=False):
    """One entry of a source's response: plain text, truncated to limits, otherwise unchanged.

    `summary` and `text` contain no markup; paragraphs are separated by a blank line.
    """

    ident: str
    """The source's own id: guid or id, or derived from URL and title if there is none."""
    alias: str
    """A second key, stable across http/https, host and tracking parameter changes of `ident`."""
    title: str
    url: str | None = None
    """The story's address as the source gave it. This is the one that is posted."""
    summary: str = ""
    text: str = ""
    author: str | None = None
    published: datetime | None = None
    """UTC; None if missing or impossible."""
    image: str | None = None
    image_alt: str | None = None
    """The page's own description of its image; None if there is none."""
    language: str | None = None
    publisher: str | None = None
    """The original publisher, if the source is an aggregator that names it."""
    discussion: str | None = None
    """URL of the comments page."""
    points: int | None = None
    comments: int | None = None
    """Popularity as reported by the source; None if it is not reported."""
    tags: tuple[str, ...] = ()


DECLINED_REASON, FAILED_REASON = "not drafted: ", "drafting failed: "
"""Beginnings of the reason why a writer made no draft of an item: it had nothing to write, or could not."""
STORY_DRAFTED_REASON = "its story already has a draft"
"""The reason of a duplicate that came after the draft of its story."""


class ItemState(StrEnum):
    """Position of an item in the pipeline."""

    NEW = "new"
    """Stored; not processed by a run yet, or ranked too low so far."""
    FILTERED = "filtered"
    """Excluded by a filter; `reason` names it."""
    HISTORY = "history"
    """Older than the limit of a source's first fetch. Stored to recognise it again, never drafted."""
    DUPLICATE = "duplicate"
    """Part of a story that another item represents."""
    DRAFTED = "drafted"
    """A draft was created from it, or from its story."""


class Item(Struct, frozen=True, gc=False):
    """A stored entry."""

    id: str
    source_id: str
    """"" for an item that the user supplied."""
    source_name: str
    source_type: str | None
    """None for an item that the user supplied."""
    story_id: str
    """Shared by items that report the same story."""
    entry: Entry
    canonical: str
    """The URL reduced to what identifies the page; "" without one. Used as a key, never posted."""
    published: datetime
    """The entry's own time, or `seen` if it has none; never in the future."""
    seen: datetime
    """When it was first fetched."""
    state: ItemState
    reason: str | None = None
    source_named_by_user: bool = False
    """True if the user gave the source its name."""


class StoryChange(Struct, frozen=True):
    """Items that moved to another story."""

    story_id: str
    moves: Mapping[str, str]
    """By item id the story that the item was in before."""
