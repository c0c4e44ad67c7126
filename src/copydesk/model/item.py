"""An entry as a source gives it, and an item as Copydesk keeps it."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.source import SourceType
from copydesk.model.wire import Struct


class Entry(Struct, frozen=True):
    """One entry of a source's answer: plain text, within caps, otherwise as the source gave it.

    `summary` and `text` have no markup; paragraphs are separated by a blank line.
    """

    ident: str
    """The source's own id of the entry: guid, id, or made from address and title where it gives none."""
    alias: str
    """A second key that survives http/https, host and tracking changes of `ident`."""
    title: str
    url: str | None = None
    """Where the story is, as the source gave it: this is what gets posted."""
    summary: str = ""
    text: str = ""
    author: str | None = None
    published: datetime | None = None
    """UTC; None where the source gives none or an impossible one."""
    image: str | None = None
    image_alt: str | None = None
    """What the page says that its picture shows, in its own words; None where it says nothing."""
    language: str | None = None
    publisher: str | None = None
    """Who wrote it, where the source is an aggregator that says so."""
    discussion: str | None = None
    """Where it is talked about: the comments page."""
    points: int | None = None
    comments: int | None = None
    """Popularity as the source reports it; None where it does not."""
    tags: tuple[str, ...] = ()


class ItemState(StrEnum):
    """Where an item is on its way to a draft."""

    NEW = "new"
    """Stored, not yet looked at by a run, or ranked too low so far."""
    FILTERED = "filtered"
    """Left out by a filter; `reason` says which."""
    HISTORY = "history"
    """Older than a source's first fetch lets in: kept to know it again, never drafted."""
    DUPLICATE = "duplicate"
    """Part of a story that another item stands for."""
    DRAFTED = "drafted"
    """A draft was made from it, or from its story."""


class Item(Struct, frozen=True):
    """An entry that is kept."""

    id: str
    source_id: str
    """Empty for what the user gave: it belongs to no source."""
    source_name: str
    source_type: SourceType | None
    """None for what the user gave."""
    story_id: str
    """Items that tell the same story share it."""
    entry: Entry
    canonical: str
    """The address reduced to what identifies the page; empty without one. A key, never posted."""
    published: datetime
    """The entry's own time, or the first sight of it; never in the future."""
    seen: datetime
    """First sight."""
    state: ItemState
    reason: str | None = None
