"""Voice profile of the user: read, update, and try out on a real item while it is being edited."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.check_draft import platforms_of_draft
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import DeclinedError, NotFoundError
from copydesk.ingest.registry import get_source_type
from copydesk.model.draft import Format
from copydesk.model.item import Item
from copydesk.model.platform import PlatformInfo
from copydesk.model.token import Scope
from copydesk.model.validation import wire_fields
from copydesk.model.voice import (
    MAX_EXAMPLES,
    ChangeVoice,
    ExampleSuggestion,
    ImportedPosts,
    Voice,
    VoiceComparison,
    VoicePreview,
    VoiceProfile,
    merge,
    validate_voice_change,
)
from copydesk.model.writer import OFFLINE
from copydesk.store import accounts, confidence, items, users
from copydesk.store.database import Transaction
from copydesk.store.ids import creation_time

if TYPE_CHECKING:
    from copydesk.drafting.writer import Brief, WriterResult

COMPARED_ITEMS = 3
"""Recent items that show what a change of the voice does."""
MAX_DECISIONS = 200
"""Newest decisions among which edited texts are suggested as examples."""
MAX_SUGGESTED = 20
MAX_CANDIDATES = 20
"""Newest items among which one with text and tags is preferred, then one with text, then any."""


class Voices:
    """Operations on the user's voice profile."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def get(self) -> VoiceProfile:
        """Return the voice profile; an empty one, the same each time, if none is stored yet."""
        return await self._ctx.read(users.load_voice) or empty_profile(self._ctx.user_id)

    @needs(Scope.REVIEW)
    @operation
    async def update(self, changes: ChangeVoice | Mapping[str, object], *, merge_formats: bool = False) -> VoiceProfile:
        """Replace the given fields of the profile, creating it if needed, and return it. Absent and null fields stay.

        With `merge_formats`, settings of each format are merged into the stored ones, and null deletes a setting. Raise
        InvalidError listing every invalid field.
        """
        return await self._ctx.write_durable(_update, changes, self._ctx.clock(), merge_formats=merge_formats)

    @needs(Scope.REVIEW)
    @operation
    async def add_examples(self, texts: Sequence[str]) -> VoiceProfile:
        """Add texts to the examples, and return the profile. Raise InvalidError if one is invalid or has no room."""
        return await self._ctx.write_durable(_append_examples, tuple(texts), self._ctx.clock())

    @operation
    async def preview(
        self, changes: ChangeVoice | Mapping[str, object], format: Format, item_id: str = ""
    ) -> VoicePreview:
        """Return what the writer makes of an item with the voice as it would be after `update`. Nothing is stored.

        Without an id the newest item that the writer does not decline is used. Raise InvalidError as `update` does,
        NotFoundError if there is no item, or WriterError.
        """
        request = validate_voice_change(changes)
        candidates, voice_fields = await self._ctx.read(_load_items_and_voice, item_id)
        changed = {name: value for name in Voice.__struct_fields__ if (value := getattr(request, name)) is not None}
        voice = msgspec.structs.replace(voice_fields, **changed)
        connected, infos = await self._ctx.read(accounts.list_all), self._ctx.platforms.infos

        def write() -> VoicePreview:
            platforms = platforms_of_draft(format, voice, connected, infos)
            return asyncio.run(_write_first_preview(candidates, format, voice, platforms))

        # In a thread: analyzing the whole article takes long enough to delay key presses.
        return await asyncio.to_thread(write)

    @operation
    async def compare(
        self,
        changes: ChangeVoice | Mapping[str, object],
        format: Format,
        *,
        merge_formats: bool = False,
        offline: bool = False,
    ) -> tuple[VoiceComparison, ...]:
        """Return what the user's writer makes of three recent items with the voice as it is, and as it would be.

        With `offline` the offline writer is asked, whoever is chosen. Nothing is stored but the cost of a language
        model. Raise InvalidError as `update` does, NotFoundError if there is no item, or WriterError if a language
        model cannot be asked.
        """
        from copydesk.desk.writers.open_writer import open_writer, write_recorded  # noqa: PLC0415 - only needed here
        from copydesk.drafting.writer import get_writer  # noqa: PLC0415 - as above

        recent, before, after = await self._ctx.read(_load_comparison, changes, merge_formats=merge_formats)
        writer = get_writer() if offline else await open_writer(self._ctx)
        connected, infos = await self._ctx.read(accounts.list_all), self._ctx.platforms.infos
        old, new = (platforms_of_draft(format, voice, connected, infos) for voice in (before, after))
        briefs = [(_build_brief(item, format, before, old), _build_brief(item, format, after, new)) for item in recent]
        if writer.name == OFFLINE:
            # In a thread: analyzing the articles takes long enough to delay key presses.
            pairs = await asyncio.to_thread(lambda: asyncio.run(_write_pairs(writer.write, briefs)))
        else:
            # In this loop, to which the connections belong.
            pairs = await _write_pairs(partial(write_recorded, self._ctx, writer), briefs)
        return tuple(_comparison(item, *pair, writer.name) for item, pair in zip(recent, pairs, strict=True))

    @needs(Scope.REVIEW)
    @operation
    async def import_posts(self, content: str) -> ImportedPosts:
        """Add posts that the user wrote elsewhere to the examples, as far as there is room; see `parse_posts`.

        Raise InvalidError if the content has no such post.
        """
        from copydesk.drafting.own_posts import parse_posts  # noqa: PLC0415 - only needed here

        posts = await asyncio.to_thread(parse_posts, content)
        return await self._ctx.write_durable(_add_examples, posts, self._ctx.clock())

    @operation
    async def find_new_examples(self, posts: Sequence[str]) -> tuple[str, ...]:
        """Return those of the posts that an import would add to the examples. Nothing is stored."""
        profile = await self.get()
        return _new_examples(profile, posts)

    @operation
    async def suggest_examples(self) -> tuple[ExampleSuggestion, ...]:
        """Return texts that the user edited and approved, newest first, that are no examples yet. Nothing is stored."""
        return await self._ctx.read(_suggest_examples)


def unsupported_fields(voice: Voice) -> tuple[str, ...]:
    """Return the names of voice fields that the offline writer ignores, because they require language understanding."""
    instruction_fields = [
        f"formats.{kind}.instructions" for kind, settings in voice.formats.items() if settings.instructions
    ]
    return tuple(name for name in ("style", "examples") if getattr(voice, name)) + tuple(instruction_fields)


def _new_examples(profile: VoiceProfile, posts: Sequence[str]) -> tuple[str, ...]:
    """Return the posts that are no examples yet, as many as there is room for."""
    new = [post for post in posts if post not in profile.examples]
    return tuple(new[: MAX_EXAMPLES - len(profile.examples)])


def _add_examples(conn: Transaction, user_id: str, posts: tuple[str, ...], now: datetime) -> ImportedPosts:
    profile = users.load_voice(conn, user_id) or empty_profile(user_id)
    new = _new_examples(profile, posts)
    examples = (*profile.examples, *new)
    if new:
        _append_examples(conn, user_id, new, now)
    return ImportedPosts(found=len(posts), added=len(new), examples=examples)


def _append_examples(conn: Transaction, user_id: str, texts: tuple[str, ...], now: datetime) -> VoiceProfile:
    profile = users.load_voice(conn, user_id) or empty_profile(user_id)
    return _update(conn, user_id, {"examples": [*profile.examples, *texts]}, now, merge_formats=False)


def _suggest_examples(conn: Transaction, user_id: str) -> tuple[ExampleSuggestion, ...]:
    profile = users.load_voice(conn, user_id) or empty_profile(user_id)
    decided = confidence.list_decided(conn, user_id, MAX_DECISIONS, None)
    edited = [decision for decision in reversed(decided) if decision.edited_text not in (None, *profile.examples)]
    return tuple(
        ExampleSuggestion(draft_id=decision.draft.id, format=decision.draft.format, text=decision.edited_text or "")
        for decision in edited[:MAX_SUGGESTED]
    )


def _load_comparison(
    conn: Transaction, user_id: str, request: ChangeVoice | Mapping[str, object], *, merge_formats: bool
) -> tuple[tuple[Item, ...], Voice, Voice]:
    before = users.load_writing_voice(conn, user_id)
    if merge_formats and isinstance(formats := wire_fields(request).get("formats"), Mapping):
        request = {**wire_fields(request), "formats": merge(before, formats)}
    change = validate_voice_change(request)
    changed = {name: value for name in Voice.__struct_fields__ if (value := getattr(change, name)) is not None}
    newest = items.list_newest(conn, user_id, MAX_CANDIDATES)
    # Those with text first: only there a change shows.
    recent = sorted(newest, key=lambda item: not item.entry.text)[:COMPARED_ITEMS]
    if not recent:
        raise NotFoundError("No item to preview with.", hint="Run the pipeline: P in Review.")
    return tuple(recent), before, msgspec.structs.replace(before, **changed)


async def _write_pairs(
    write: "Callable[[Brief], Awaitable[WriterResult]]", briefs: "Iterable[tuple[Brief, Brief]]"
) -> "list[tuple[WriterResult | None, WriterResult | None]]":
    """Return the drafts of each pair of briefs, None for one that the writer declines. Raise WriterError."""
    return [
        (await _write_unless_declined(write, now), await _write_unless_declined(write, then)) for now, then in briefs
    ]


async def _write_unless_declined(
    write: "Callable[[Brief], Awaitable[WriterResult]]", brief: "Brief"
) -> "WriterResult | None":
    try:
        return await write(brief)
    except DeclinedError:
        return None


def _comparison(
    item: Item, before: "WriterResult | None", after: "WriterResult | None", writer: str
) -> VoiceComparison:
    result = after or before
    return VoiceComparison(
        title=item.entry.title,
        item_id=item.id,
        before=before.text if before else None,
        after=after.text if after else None,
        writer=(result.model if result else "") or writer,
    )


def _update(
    conn: Transaction, user_id: str, request: ChangeVoice | Mapping[str, object], now: datetime, *, merge_formats: bool
) -> VoiceProfile:
    before = users.load_voice(conn, user_id) or msgspec.structs.replace(empty_profile(user_id), created_at=now)
    if merge_formats and isinstance(formats := wire_fields(request).get("formats"), Mapping):
        request = {**wire_fields(request), "formats": merge(before, formats)}
    validated = validate_voice_change(request)
    fields = {name: getattr(validated, name) for name in ChangeVoice.__struct_fields__}
    changes = {name: value for name, value in fields.items() if value is not None}
    profile = msgspec.structs.replace(before, **changes, updated_at=now)
    users.save_voice(conn, user_id, profile)
    return profile


def empty_profile(user_id: str) -> VoiceProfile:
    """Return the profile that a user has from the start. It keeps its id when it is stored: there is one per user."""
    created_at = creation_time(user_id)
    return VoiceProfile(id=user_id, created_at=created_at, updated_at=created_at)


async def _write_first_preview(
    items: Sequence[Item], format: Format, voice: Voice, platforms: tuple[PlatformInfo, ...]
) -> VoicePreview:
    """Return the preview of the first item that the writer does not decline. Raise WriterError if it declines all."""
    declined: DeclinedError | None = None
    for item in items:
        try:
            return await _write_preview(item, format, voice, platforms)
        except DeclinedError as error:
            declined = declined or error
    assert declined is not None
    raise declined


async def _write_preview(item: Item, format: Format, voice: Voice, platforms: tuple[PlatformInfo, ...]) -> VoicePreview:
    from copydesk.drafting.checks import build_check_context, check  # noqa: PLC0415 - heavy, and only needed here
    from copydesk.drafting.writer import get_writer  # noqa: PLC0415 - as above

    writer, brief = get_writer(), _build_brief(item, format, voice, platforms)
    result = await writer.write(brief)
    return VoicePreview(
        title=item.entry.title,
        item_id=item.id,
        writer=writer.name,
        text=result.text,
        checks=check(result.text, build_check_context(brief)),
        tags=item.entry.tags,
    )


def _build_brief(item: Item, format: Format, voice: Voice, platforms: tuple[PlatformInfo, ...]) -> "Brief":
    from copydesk.drafting.writer import build_brief  # noqa: PLC0415 - as above

    source_type = get_source_type(item.source_type) if item.source_type else None
    brief = build_brief(item, format, voice, source_type=source_type, platforms=platforms)
    # Like a pipeline run, seed the writer's choices with the source's own id, so that the preview matches a real draft.
    return msgspec.structs.replace(brief, item_id=item.entry.ident)


def _load_items_and_voice(conn: Transaction, user_id: str, item_id: str) -> tuple[Sequence[Item], Voice]:
    """Return the items to preview with, best first."""
    candidates = (
        [items.get(conn, user_id, item_id)] if item_id else list(items.list_newest(conn, user_id, MAX_CANDIDATES))
    )
    # Changes to hashtags are only visible on an item with tags. The newest of equal candidates stays first.
    ordered = sorted(
        filter(None, candidates),
        key=lambda candidate: (bool(candidate.entry.text), bool(candidate.entry.tags)),
        reverse=True,
    )
    if not ordered:
        raise NotFoundError("No item to preview with.", hint="Run the pipeline: P in Review.")
    return ordered, users.load_writing_voice(conn, user_id)
