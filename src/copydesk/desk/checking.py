"""What a text of the user's own is checked against, and what the checks say about it."""

import asyncio
from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.model.draft import Checks, Draft, DraftImage, Format, ListedDraft
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


async def checked_new(
    ground: Ground, text: str, format: Format, *, images: tuple[DraftImage, ...] = (), platforms: tuple[str, ...] = ()
) -> Checked:
    """Check a text that the user gave."""
    beside = await ground.read(_beside, ground.clock() - RECENT)
    return await asyncio.to_thread(_checked, text, format, beside, images, platforms)


async def checked_again(ground: Ground, text: str, draft: ListedDraft) -> Checked:
    """Check a new text of a draft that is there."""
    beside = await ground.read(_beside, ground.clock() - RECENT, draft)
    return await asyncio.to_thread(_checked, text, draft.format, beside, draft.images, draft.target_platforms)


def _beside(conn: Connection, user_id: str, since: datetime, draft: Draft | None = None) -> Beside:
    item = items.one(conn, user_id, draft.item_id) if draft else None
    recent = drafts.texts_since(conn, user_id, since, MOST_RECENT, without=item.story_id if item else None)
    voice = voices.read(conn, user_id) or Voice()
    return Beside(voice=voice, recent=recent, item=item if item and item.source_id else None)


def _checked(
    text: str, format: Format, beside: Beside, images: tuple[DraftImage, ...], platforms: tuple[str, ...]
) -> Checked:
    from copydesk.drafting.checks import Recent, Subject, check, confidence, subject_of  # noqa: PLC0415
    from copydesk.drafting.writer import brief_of  # noqa: PLC0415 - only where something is checked

    recent = Recent(beside.recent)
    if beside.item:
        brief = brief_of(beside.item, format, beside.voice, platforms=platforms)
        subject = subject_of(brief, recent=recent, images=images)
    else:
        subject = Subject(format=format, voice=beside.voice, recent=recent, images=images, platforms=platforms)
    checks = check(text, subject)
    return Checked(checks=checks, confidence=confidence(checks))
