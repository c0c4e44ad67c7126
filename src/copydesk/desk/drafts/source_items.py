"""The further source items of drafts that link to several: from stored items to a brief, and back to the draft."""

from collections.abc import Sequence

import msgspec

from copydesk.drafting.writer import Brief, WriterResult, find_linked_items, to_source_item
from copydesk.ingest.registry import get_source_type
from copydesk.model.draft import MANUAL, DraftSource
from copydesk.model.item import Item


def add_items(brief: Brief, lead: Item, items: Sequence[Item], topic: str) -> Brief:
    """Return the brief of `lead` with the others of `items`."""
    further_items = tuple(
        to_source_item(item, get_source_type(item.source_type) if item.source_type else None)
        for item in items
        if item.id != lead.id
    )
    return msgspec.structs.replace(brief, other_items=further_items, topic=topic if further_items else "")


def list_sources(brief: Brief, result: WriterResult, lead: Item, items: Sequence[Item]) -> tuple[DraftSource, ...]:
    """Return the items that a text links to or quotes, the lead first; empty if the lead is the only one."""
    linked = find_linked_items(brief, result)
    used = [lead, *(item for item in items if item.id in linked and item.id != lead.id)]
    return tuple(map(_to_draft_source, used)) if len(used) > 1 else ()


def _to_draft_source(item: Item) -> DraftSource:
    return DraftSource(
        id=item.id,
        title=item.entry.title,
        url=item.entry.url,
        source_name=item.source_name,
        source_type=item.source_type or MANUAL,
    )
