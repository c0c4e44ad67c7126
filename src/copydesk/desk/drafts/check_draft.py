"""Run the drafting checks on a text the user wrote or edited, against the limits of its platforms."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Self

import msgspec

from copydesk.desk.confidence import estimate
from copydesk.desk.context import DeskContext
from copydesk.ingest.registry import get_source_type
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Checks, Draft, DraftImage, Format
from copydesk.model.item import Item
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.model.targets import TextLimit, select_targets, target_platforms
from copydesk.model.voice import Voice
from copydesk.store import accounts, drafts, items, users
from copydesk.store.database import Transaction

RECENT_WINDOW = timedelta(days=60)
"""A draft should not repeat texts written within this window."""
MAX_RECENT = 200
"""Recent drafts that a new one is compared with."""


class CheckResult(Struct, frozen=True):
    """The checks of a text, and its confidence."""

    checks: Checks
    confidence: float
    confidence_known: bool


class CheckInputs(Struct, frozen=True):
    """The stored data a text is checked against."""

    voice: Voice
    recent: tuple[str, ...]
    """Texts of drafts of other stories."""
    item: Item | None = None
    """None for the user's own texts: there is no source the draft could contradict."""
    items: tuple[Item, ...] = ()
    """All source items of a draft that has several."""
    connected: tuple[ConnectedAccount, ...] = ()


class _CheckedText(NamedTuple):
    """The part of a draft that is checked."""

    text: str
    format: Format
    target_platforms: tuple[str, ...] = ()
    images: tuple[DraftImage, ...] = ()

    @classmethod
    def of(cls, draft: Draft) -> Self:
        """Return that part of `draft`."""
        return cls(draft.text, draft.format, draft.target_platforms, draft.images)


async def check_new_draft(ctx: DeskContext, draft: Draft) -> CheckResult:
    """Check a new draft, not stored yet, whose text the user gave."""
    inputs = await ctx.read(_load_inputs, ctx.clock() - RECENT_WINDOW)
    return await _check(ctx, draft, inputs)


async def check_edited_draft(ctx: DeskContext, draft: Draft) -> CheckResult:
    """Check a stored draft with a changed text."""
    inputs = await ctx.read(_load_inputs, ctx.clock() - RECENT_WINDOW, draft)
    return await _check(ctx, draft, inputs)


async def check_text(
    ctx: DeskContext, text: str, draft: Draft | None, format: Format = Format.SHORT, platforms: Sequence[str] = ()
) -> Checks:
    """Check a text that is being typed: of a stored draft, or a new one in this format for these platforms."""
    inputs = await ctx.read(_load_inputs, ctx.clock() - RECENT_WINDOW, draft)
    typed = _CheckedText.of(draft)._replace(text=text) if draft else _CheckedText(text, format, tuple(platforms))
    return await asyncio.to_thread(_run_checks, typed, inputs, ctx.platforms.infos)


async def _check(ctx: DeskContext, draft: Draft, inputs: CheckInputs) -> CheckResult:
    checks = await asyncio.to_thread(_run_checks, _CheckedText.of(draft), inputs, ctx.platforms.infos)
    estimated = await estimate(ctx, msgspec.structs.replace(draft, checks=checks))
    return CheckResult(checks=checks, confidence=estimated.confidence, confidence_known=estimated.known)


def _load_inputs(conn: Transaction, user_id: str, since: datetime, draft: Draft | None = None) -> CheckInputs:
    """Load the voice, recent texts and, if the draft is stored, its source items."""
    item = items.get(conn, user_id, draft.item_id) if draft else None
    recent = drafts.list_texts_since(conn, user_id, since, MAX_RECENT, except_story=item.story_id if item else None)
    voice = users.load_writing_voice(conn, user_id)
    return CheckInputs(
        voice=voice,
        recent=recent,
        item=item if item and (item.source_type or item.entry.text) else None,
        items=items.list_of_draft(conn, user_id, draft.id) if draft and draft.items else (),
        connected=accounts.list_all(conn, user_id),
    )


def _run_checks(draft: _CheckedText, inputs: CheckInputs, infos: Mapping[str, PlatformInfo]) -> Checks:
    """Run the checks. Slow enough to need a thread."""
    from copydesk.desk.drafts.source_items import add_items  # noqa: PLC0415 - heavy, and only needed for checks
    from copydesk.drafting.checks import CheckContext, RecentTexts, build_check_context, check  # noqa: PLC0415
    from copydesk.drafting.writer import build_brief  # noqa: PLC0415 - as above

    recent, voice = RecentTexts(inputs.recent), inputs.voice
    platforms = platforms_of_draft(draft.format, voice, inputs.connected, infos, draft.target_platforms)
    if inputs.item:
        source_type = get_source_type(inputs.item.source_type) if inputs.item.source_type else None
        brief = build_brief(inputs.item, draft.format, voice, source_type=source_type, platforms=platforms)
        brief = add_items(brief, inputs.item, inputs.items, topic="")
        subject = build_check_context(brief, recent=recent, images=draft.images)
    else:
        subject = CheckContext(
            format=draft.format, voice=voice, recent=recent, images=draft.images, platforms=platforms
        )
    return check(draft.text, subject)


def platforms_of_draft(
    format: Format,
    voice: Voice,
    connected: Sequence[ConnectedAccount],
    infos: Mapping[str, PlatformInfo],
    targets: Sequence[str] = (),
) -> tuple[PlatformInfo, ...]:
    """Return the platforms whose limits a draft has to keep, the tightest first: those that it goes to.

    Without any of them they are the default ones. Each has the lowest limit of its accounts, whose servers may have
    limits of their own. `infos` are the platforms of the desk by name.
    """
    from copydesk.drafting.writer import limiting_platforms  # noqa: PLC0415 - heavy, and only needed for checks
    from copydesk.posting.registry import DEFAULT_PLATFORMS  # noqa: PLC0415 - as above

    found = target_platforms(select_targets(connected, targets, format, infos), infos)
    return limiting_platforms(format, voice, found, tuple(infos[name] for name in DEFAULT_PLATFORMS))


async def text_limits(ctx: DeskContext, draft: Draft) -> tuple[TextLimit, ...]:
    """Return the limits that the checks of a draft's text use, the tightest first; none of a BLOG."""
    voice, connected = await ctx.read(users.load_writing_voice), await ctx.read(accounts.list_all)
    # In a thread: it may have to import the writer.
    platforms = await asyncio.to_thread(
        platforms_of_draft, draft.format, voice, connected, ctx.platforms.infos, draft.target_platforms
    )
    return tuple(
        TextLimit(info.name, info.limits.max_length) for info in platforms if info.limits.max_length is not None
    )
