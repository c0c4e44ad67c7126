"""What the writer makes of a real item with a voice that is still being edited."""

import asyncio
from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.drafting.checks import check, subject_of
from copydesk.drafting.writer import brief_of, choose_writer
from copydesk.errors import NotFoundError
from copydesk.model.draft import Format
from copydesk.model.item import Item
from copydesk.model.voice import ChangeVoice, Tried, Voice, checked_voice
from copydesk.store import items, voices

LOOKED_AT = 20
"""New items of which the first with a text and tags is taken; else that with a text, else any."""


async def try_out(
    ground: Ground, given: ChangeVoice | Mapping[str, object], format: Format, item_id: str = ""
) -> Tried:
    """See `Voices.try_out`."""
    asked = checked_voice(given)
    item, kept = await ground.read(_beside, item_id)
    changed = {name: value for name in Voice.__struct_fields__ if (value := getattr(asked, name)) is not None}
    voice = msgspec.structs.replace(kept, **changed)
    # In a thread: the writer works through the whole article, and the keys are to be answered meanwhile.
    return await asyncio.to_thread(lambda: asyncio.run(_tried(item, format, voice)))


async def _tried(item: Item, format: Format, voice: Voice) -> Tried:
    writer = choose_writer()
    # As a run does it: what could be written one way or another is decided by the source's own id.
    brief = msgspec.structs.replace(brief_of(item, format, voice), item_id=item.entry.ident)
    written = await writer.write(brief)
    return Tried(
        title=item.entry.title,
        item_id=item.id,
        writer=writer.name,
        text=written.text,
        checks=check(written.text, subject_of(brief)),
        tags=item.entry.tags,
    )


def _beside(conn: Connection, user_id: str, item_id: str) -> tuple[Item, Voice]:
    found = [items.one(conn, user_id, item_id)] if item_id else list(items.newest(conn, user_id, LOOKED_AT))
    # On one without tags nothing is seen of a change to hashtags. Of those that have as much the first one is taken.
    told = max(filter(None, found), key=lambda each: (bool(each.entry.text), bool(each.entry.tags)), default=None)
    if told is None:
        raise NotFoundError("There is no item to try it on.", hint="Run the pipeline: P in Review.")
    kept = voices.read(conn, user_id)
    if kept is None:
        return told, Voice()
    return told, Voice(style=kept.style, avoid=kept.avoid, examples=kept.examples, formats=kept.formats)
