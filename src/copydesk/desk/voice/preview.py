"""Preview of a voice that is being edited: write a draft of a real item with it."""

import asyncio
from collections.abc import Mapping

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.platform_limits import platforms_of_draft
from copydesk.drafting.checks import build_check_context, check
from copydesk.drafting.writer import build_brief, get_writer
from copydesk.errors import NotFoundError
from copydesk.ingest.registry import get_source_type
from copydesk.model.draft import Format
from copydesk.model.item import Item
from copydesk.model.voice import ChangeVoice, Voice, VoicePreview, validate_voice_change
from copydesk.store import items, users
from copydesk.store.database import Transaction

MAX_CANDIDATES = 20
"""Newest items among which one with text and tags is preferred, then one with text, then any."""


async def preview_voice(
    ctx: DeskContext, changes: ChangeVoice | Mapping[str, object], format: Format, item_id: str = ""
) -> VoicePreview:
    """See `Voices.preview`."""
    request = validate_voice_change(changes)
    item, voice_fields = await ctx.read(_load_item_and_voice, item_id)
    changed = {name: value for name in Voice.__struct_fields__ if (value := getattr(request, name)) is not None}
    voice = msgspec.structs.replace(voice_fields, **changed)
    # In a thread: analyzing the whole article takes long enough to delay key presses.
    return await asyncio.to_thread(lambda: asyncio.run(_write_preview(item, format, voice)))


async def _write_preview(item: Item, format: Format, voice: Voice) -> VoicePreview:
    writer = get_writer()
    # Like a pipeline run, seed the writer's choices with the source's own id, so that the preview matches a real draft.
    source_type = get_source_type(item.source_type) if item.source_type else None
    brief = build_brief(item, format, voice, source_type=source_type, platforms=platforms_of_draft(format, voice))
    brief = msgspec.structs.replace(brief, item_id=item.entry.ident)
    result = await writer.write(brief)
    return VoicePreview(
        title=item.entry.title,
        item_id=item.id,
        writer=writer.name,
        text=result.text,
        checks=check(result.text, build_check_context(brief)),
        tags=item.entry.tags,
    )


def _load_item_and_voice(conn: Transaction, user_id: str, item_id: str) -> tuple[Item, Voice]:
    candidates = (
        [items.get(conn, user_id, item_id)] if item_id else list(items.list_newest(conn, user_id, MAX_CANDIDATES))
    )
    # Changes to hashtags are only visible on an item with tags. `max` returns the first, i.e. newest, of equal
    # candidates.
    item = max(
        filter(None, candidates),
        key=lambda candidate: (bool(candidate.entry.text), bool(candidate.entry.tags)),
        default=None,
    )
    if item is None:
        raise NotFoundError("No item to preview with.", hint="Run the pipeline: P in Review.")
    profile = users.load_voice(conn, user_id)
    if profile is None:
        return item, Voice()
    return item, Voice(style=profile.style, avoid=profile.avoid, examples=profile.examples, formats=profile.formats)
