"""Run the drafting checks on a text the user wrote or edited."""

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
"""A draft should not repeat texts written within this window."""
MOST_RECENT = 200
"""Recent drafts that a new one is compared with."""


class Checked(Struct, frozen=True):
    """The checks of a text and the confidence that follows from them."""

    checks: Checks
    confidence: float


class Beside(Struct, frozen=True):
    """The stored data a text is checked against."""

    voice: Voice
    recent: tuple[str, ...]
    """Texts of drafts of other stories."""
    item: Item | None = None
    """None for the user's own texts: there is no source the draft could contradict."""


async def checked_new(ground: Ground, draft: Draft) -> Checked:
    """Check a new draft, not stored yet, whose text the user gave."""
    inputs = await ground.read(_load_inputs, ground.clock() - RECENT)
    return await asyncio.to_thread(_run_checks, draft, inputs)


async def checked_again(ground: Ground, draft: Draft) -> Checked:
    """Check a stored draft with a changed text."""
    inputs = await ground.read(_load_inputs, ground.clock() - RECENT, draft.item_id)
    return await asyncio.to_thread(_run_checks, draft, inputs)


def _load_inputs(conn: Connection, user_id: str, since: datetime, item_id: str | None = None) -> Beside:
    """Load the voice, recent texts and, if the draft has one, the source item."""
    item = items.one(conn, user_id, item_id) if item_id else None
    recent = drafts.texts_since(conn, user_id, since, MOST_RECENT, without=item.story_id if item else None)
    voice = voices.read(conn, user_id) or Voice()
    return Beside(voice=voice, recent=recent, item=item if item and (item.source_type or item.entry.text) else None)


def _run_checks(draft: Draft, inputs: Beside) -> Checked:
    """Run the checks. Slow enough to need a thread."""
    from copydesk.drafting.checks import Recent, Subject, check, confidence, subject_of  # noqa: PLC0415
    from copydesk.drafting.writer import brief_of  # noqa: PLC0415 - heavy, and only needed for checks

    recent, voice, platforms = Recent(inputs.recent), inputs.voice, draft.target_platforms
    if inputs.item:
        brief = brief_of(inputs.item, draft.format, voice, platforms=platforms)
        subject = subject_of(brief, recent=recent, images=draft.images)
    else:
        subject = Subject(format=draft.format, voice=voice, recent=recent, images=draft.images, platforms=platforms)
    checks = check(draft.text, subject)
    return Checked(checks=checks, confidence=confidence(checks))
