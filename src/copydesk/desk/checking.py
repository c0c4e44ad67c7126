"""What a text of the user's own is checked against, and what the checks say about it."""

import asyncio
from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.model.draft import Checks, Draft
from copydesk.model.item import Item
from copydesk.model.voice import Voice
from copydesk.model.wire import Struct
from copydesk.store import drafts, items, voices

RECENT = timedelta(days=60)
"""A draft should not repeat what was written in this time."""
MOST_RECENT = 200
"""Drafts that a new one is compared with."""


class Checked(Struct, frozen=True):
    """What the checks say about a text."""

    checks: Checks
    confidence: float


class Beside(Struct, frozen=True):
    """What is kept that a text is checked against."""

    voice: Voice
    recent: tuple[str, ...]
    """The texts of other stories' drafts."""
    item: Item | None = None
    """None for the user's own: there is nothing that its draft could contradict."""


async def checked_new(ground: Ground, draft: Draft) -> Checked:
    """Check a draft that is not kept yet, of a text that the user gave."""
    beside = await ground.read(_beside, ground.clock() - RECENT)
    return await asyncio.to_thread(_checked, draft, beside)


async def checked_again(ground: Ground, draft: Draft) -> Checked:
    """Check a draft that is there, with another text than the one that is kept."""
    beside = await ground.read(_beside, ground.clock() - RECENT, draft.item_id)
    return await asyncio.to_thread(_checked, draft, beside)


def _beside(conn: Connection, user_id: str, since: datetime, item_id: str | None = None) -> Beside:
    item = items.one(conn, user_id, item_id) if item_id else None
    recent = drafts.texts_since(conn, user_id, since, MOST_RECENT, without=item.story_id if item else None)
    voice = voices.read(conn, user_id) or Voice()
    return Beside(voice=voice, recent=recent, item=item if item and (item.source_type or item.entry.text) else None)


def _checked(draft: Draft, beside: Beside) -> Checked:
    from copydesk.drafting.checks import Recent, Subject, check, confidence, subject_of  # noqa: PLC0415
    from copydesk.drafting.writer import brief_of  # noqa: PLC0415 - only where something is checked

    recent, voice, platforms = Recent(beside.recent), beside.voice, draft.target_platforms
    if beside.item:
        brief = brief_of(beside.item, draft.format, voice, platforms=platforms)
        subject = subject_of(brief, recent=recent, images=draft.images)
    else:
        subject = Subject(format=draft.format, voice=voice, recent=recent, images=draft.images, platforms=platforms)
    checks = check(draft.text, subject)
    return Checked(checks=checks, confidence=confidence(checks))
