"""Last stage of a run: write drafts of the best stories, check them, and store each story in its own transaction."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from copydesk.desk.assignments import Assignment, claim_assignment, next_assignment
from copydesk.desk.confidence import load_model, with_confidence
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.check_draft import MAX_RECENT, RECENT_WINDOW, platforms_of_draft
from copydesk.desk.drafts.source_items import add_items, list_sources
from copydesk.desk.images.draft_images import PageImages, page_images
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.desk.pipeline.roundups import Roundup, Roundups
from copydesk.desk.saved_ranking import load_settings
from copydesk.desk.writers.open_writer import open_writer, write_recorded
from copydesk.drafting.checks import RecentTexts, add_notes, build_check_context, check
from copydesk.drafting.confidence import PRIOR_RATE, ConfidenceModel
from copydesk.drafting.writer import Writer, WriterResult, build_brief
from copydesk.errors import DeclinedError, TooFewSourcesError, WriterError
from copydesk.ingest.registry import get_source_type
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Checks, Draft, Format, Status
from copydesk.model.item import DECLINED_REASON, FAILED_REASON, Item, ItemState
from copydesk.model.run import RunRequest
from copydesk.model.source import Source, SourceConfig
from copydesk.model.voice import Voice
from copydesk.model.writer import ModelRequest
from copydesk.ranking.rank import RankedStory
from copydesk.settings import Settings
from copydesk.store import accounts, drafts, items, sources, users
from copydesk.store import writers as stored_writers
from copydesk.store.database import Transaction
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin

log = logging.getLogger(__name__)
ROUNDUP_WINDOW = timedelta(hours=20)
"""An interest has one round-up within this window: less than a day, so that a daily run does not miss one."""
MAX_ATTEMPTS = 5
"""Attempts to write a story when other processes keep claiming its experiment position."""


async def write_drafts(
    ctx: DeskContext, stories: Sequence[RankedStory], request: RunRequest, progress: RunProgress
) -> None:
    """Write drafts of the best stories in each requested format, until the run's maximum is reached."""
    settings = await load_settings(ctx)
    maximum = settings.pipeline.max_drafts if request.max_drafts is None else request.max_drafts
    formats = [Format(name) for name in request.formats or settings.pipeline.formats]
    total = len(stories) * len(formats)
    progress.set_total(min(maximum, total))
    if not stories or not maximum:
        return
    resources = await _load_resources(ctx, settings, formats, stories)
    writer = _StoryWriter(ctx, progress, formats, resources)
    for story in stories:
        created = progress.stats.drafts_created
        remaining = maximum - created
        # Do not start a story that does not fit: formats left out now would never be written. Only the first may be cut
        # short.
        if remaining < len(formats) and created:
            break
        progress.set_total(min(total, maximum + progress.completed - created))
        await writer.write(story, formats[:remaining])
    # Fewer stories than planned may have fit.
    progress.set_total(progress.completed)


class _Resources(NamedTuple):
    """Inputs shared by all drafts of a run. Each draft that is stored is added to `recent` and `roundups`."""

    voice: Voice
    connected: tuple[ConnectedAccount, ...]
    recent: RecentTexts
    configs: Mapping[str, SourceConfig | None]
    """By source id."""
    roundups: Roundups
    confidence_model: ConfidenceModel
    writer: Writer


async def _load_resources(
    ctx: DeskContext, settings: Settings, formats: Sequence[Format], stories: Sequence[RankedStory]
) -> _Resources:
    now = ctx.clock()
    voice, connected, texts, source_rows = await ctx.read(_load_context, now - RECENT_WINDOW)
    configs = {source.id: source.config for source in source_rows}
    # Comparing texts is CPU-bound, and the console handles keys in the event loop.
    recent = await asyncio.to_thread(RecentTexts, texts)
    blog_stories = stories if Format.BLOG in formats else ()
    linked = await ctx.read(drafts.find_linked_items, [story.lead.id for story in blog_stories])
    recent_roundups = await ctx.read(_load_roundups, now - ROUNDUP_WINDOW) if blog_stories else ()
    interests = settings.ranking.interests
    roundups = await asyncio.to_thread(Roundups, blog_stories, interests, linked, recent_roundups)
    return _Resources(voice, connected, recent, configs, roundups, await load_model(ctx), await open_writer(ctx))


class _UnsavedDraft(NamedTuple):
    """A draft that is not stored yet."""

    draft: Draft
    requests: tuple[ModelRequest, ...]
    """Requests to language models that led to it."""
    topic: str
    """The interest or subject of its round-up; empty without one."""


class _StoryWriter:
    """Writes the drafts of a run, story by story."""

    def __init__(
        self, ctx: DeskContext, progress: RunProgress, formats: Sequence[Format], resources: _Resources
    ) -> None:
        self._ctx = ctx
        self._progress = progress
        self._formats = formats
        self._resources = resources
        self._assignments: dict[Format, Assignment] | None = None
        """The next experiment assignments, read in the previous story's transaction; None if they must be read."""

    async def write(self, story: RankedStory, formats: Sequence[Format]) -> None:
        """Write, check and store the drafts of a story in one transaction."""
        # The last attempt is the one after the loop.
        for _ in range(MAX_ATTEMPTS - 1):
            assignments = self._assignments
            if assignments is None:
                assignments = await self._ctx.read(_next_assignments, self._formats)
            self._assignments = None
            # Another process took the same position of the experiment. The writer's text is thrown away, which is rare
            # and cheaper than a lock while a model writes.
            with suppress(_AssignmentTakenError):
                return await self._write_and_store(
                    story, formats, {kind: assignments[kind] for kind in formats if kind in assignments}
                )
        # After repeated conflicts write the story outside the experiment.
        return await self._write_and_store(story, formats, {})

    async def _write_and_store(
        self, story: RankedStory, formats: Sequence[Format], assignments: Mapping[Format, Assignment]
    ) -> None:
        unsaved, errors = await self._write_formats(story, formats, assignments)
        # No variant would have helped those.
        claimed = {
            kind: assignment
            for kind, assignment in assignments.items()
            if not isinstance(errors.get(kind), TooFewSourcesError)
        }
        # Later runs may bring more sources for a round-up, so its items wait for them.
        is_waiting = not unsaved and all(isinstance(error, TooFewSourcesError) for error in errors.values())
        stored = not is_waiting and await self._store(story, unsaved, errors, claimed)
        declined = {error.reason for error in errors.values() if isinstance(error, DeclinedError)}
        self._progress.count_declined(declined)
        self._progress.increment(drafts_failed=sum(not isinstance(error, DeclinedError) for error in errors.values()))
        if stored:
            for draft, _, topic in unsaved:
                self._resources.recent.add(draft.text)
                if draft.items:
                    self._resources.roundups.add_linked(item.id for item in draft.items)
                    self._resources.roundups.exhaust(topic)
            self._progress.increment(drafts_created=len(unsaved))
        self._progress.advance(story.lead.entry.title, steps=len(formats))

    async def _write_formats(
        self, story: RankedStory, formats: Sequence[Format], assignments: Mapping[Format, Assignment]
    ) -> tuple[list[_UnsavedDraft], dict[Format, WriterError]]:
        unsaved: list[_UnsavedDraft] = []
        errors: dict[Format, WriterError] = {}
        for kind in formats:
            try:
                unsaved.append(await self._write_format(story, kind, assignments.get(kind)))
            except WriterError as error:
                # No other story would fare better, and each attempt may cost money: the run ends, its items wait.
                if error.is_temporary and not unsaved:
                    raise
                # The story's other formats are written all the same.
                errors[kind] = error
        return unsaved, errors

    async def _write_format(self, story: RankedStory, format: Format, assignment: Assignment | None) -> _UnsavedDraft:
        """Return the draft: of the best round-up that the story may lead, otherwise of its lead alone.

        Any error becomes a WriterError, so that one story cannot stop the run.
        """
        roundups = self._resources.roundups
        try:
            for roundup in roundups.list_for(story) if format is Format.BLOG else ():
                with suppress(TooFewSourcesError):
                    return await self._write_from(story, format, assignment, roundup)
                roundups.give_up(roundup.topic)
            return await self._write_from(story, format, assignment, Roundup((story.lead,)))
        except WriterError:
            raise
        except Exception as error:
            log.exception("drafting %s failed", story.lead.id)
            # Only the type: the message of a foreign exception may contain anything, for example text of the source.
            error_type = type(error).__name__
            raise WriterError(f"Drafting failed with an unexpected error ({error_type}).") from error

    async def _write_from(
        self, story: RankedStory, format: Format, assignment: Assignment | None, roundup: Roundup
    ) -> _UnsavedDraft:
        lead, resources = story.lead, self._resources
        other_sources = tuple(source.name for source in story.score.sources if source.item_id != lead.id)
        # Seed the writer's choices with the source's own id: our ids differ between databases, and results should not.
        voice = assignment.apply_to(resources.voice, format) if assignment else resources.voice
        parameters = assignment.parameters if assignment else {}
        source_type = get_source_type(lead.source_type) if lead.source_type else None
        brief = build_brief(
            lead,
            format,
            voice,
            source_type=source_type,
            other_sources=other_sources,
            platforms=platforms_of_draft(format, voice, resources.connected, self._ctx.platforms.infos),
        )
        brief = msgspec.structs.replace(brief, item_id=lead.entry.ident, parameters=parameters)
        brief = add_items(brief, lead, roundup.items, roundup.topic)
        result = await write_recorded(self._ctx, resources.writer, brief)
        now = self._ctx.clock()
        images = page_images(lead.entry, self._config(lead).images, now)
        check_context = build_check_context(brief, recent=resources.recent, images=images.attached)
        checks = await asyncio.to_thread(check, result.text, check_context)
        checks = add_notes(checks, result.notes)
        draft = self._build_draft(story, format, result, images, checks)
        draft = msgspec.structs.replace(draft, items=list_sources(brief, result, lead, roundup.items))
        draft = with_confidence(resources.confidence_model, draft)
        return _UnsavedDraft(draft, result.requests, roundup.topic)

    def _build_draft(
        self, story: RankedStory, format: Format, result: WriterResult, images: PageImages, checks: Checks
    ) -> Draft:
        now, lead = self._ctx.clock(), story.lead
        return Draft(
            id=new_id(now),
            text=result.text,
            format=format,
            status=Status.PENDING_REVIEW,
            confidence=PRIOR_RATE,
            item_id=lead.id,
            created_at=now,
            updated_at=now,
            tags=self._config(lead).tags,
            images=images.attached,
            proposed_images=images.proposed,
            checks=checks,
            sentences=result.sentences,
            score=story.score,
            writer=result.model or self._resources.writer.name,
        )

    def _config(self, item: Item) -> SourceConfig:
        return self._resources.configs.get(item.source_id) or SourceConfig()

    async def _store(
        self,
        story: RankedStory,
        unsaved: Sequence[_UnsavedDraft],
        errors: Mapping[Format, WriterError],
        assignments: Mapping[Format, Assignment],
    ) -> bool:
        """Store the drafts, update the items of their story and claim the experiment assignments.

        Return False if nothing was stored: the item was deleted or drafted by another run, or no text could be written.
        In the last case the items are filtered out, since writing them would fail again. Raise _AssignmentTakenError
        with nothing stored.
        """
        lead = story.lead
        duplicate_reason = f"reported by {lead.source_name}"
        duplicates = [(item.id, ItemState.DUPLICATE, duplicate_reason) for item in story.items if item.id != lead.id]

        def save(conn: Transaction, user_id: str) -> tuple[bool, dict[Format, Assignment] | None]:
            if not unsaved:
                reason = _reason(next(iter(errors.values())))
                items.set_outcomes(conn, user_id, [(item.id, ItemState.FILTERED, reason) for item in story.items])
            elif not items.set_outcomes(conn, user_id, [(lead.id, ItemState.DRAFTED, None)]):
                return False, None
            items.set_outcomes(conn, user_id, duplicates)
            for draft, requests, _ in unsaved:
                if drafts.add(conn, user_id, self._to_new_draft(story, draft, assignments.get(draft.format))):
                    stored_writers.add_requests(conn, user_id, draft.id, requests)
            # Claim assignments of failed texts too, or the next story would fail in the same variant.
            if not all(claim_assignment(conn, user_id, assignment) for assignment in assignments.values()):
                raise _AssignmentTakenError
            return bool(unsaved), _next_assignments(conn, user_id, self._formats)

        stored, self._assignments = await self._ctx.write(save)
        return stored

    def _to_new_draft(self, story: RankedStory, draft: Draft, assignment: Assignment | None) -> NewDraft:
        return NewDraft(
            draft=msgspec.structs.replace(draft, variants=assignment.variants if assignment else ()),
            source_id=story.lead.source_id,
            source_type=story.lead.source_type,
            story_id=story.story_id,
            origin=DraftOrigin.PIPELINE,
            run_id=self._progress.run_id,
        )


def _reason(error: WriterError) -> str:
    return f"{DECLINED_REASON}{error.message}" if isinstance(error, DeclinedError) else f"{FAILED_REASON}{error}"


class _AssignmentTakenError(Exception):
    """Another draft claimed the experiment position, or the experiment has ended: write the text again."""


def _next_assignments(conn: Transaction, user_id: str, formats: Sequence[Format]) -> dict[Format, Assignment]:
    """Return the next experiment assignment per format; empty without an active experiment."""
    assignments = {kind: next_assignment(conn, user_id, kind) for kind in formats}
    return {kind: assignment for kind, assignment in assignments.items() if assignment is not None}


def _load_roundups(conn: Transaction, user_id: str, since: datetime) -> tuple[tuple[Item, ...], ...]:
    """Return the items of each round-up written since `since`."""
    return tuple(
        items.list_of_draft(conn, user_id, draft_id) for draft_id in drafts.list_roundups_since(conn, user_id, since)
    )


def _load_context(
    conn: Transaction, user_id: str, since: datetime
) -> tuple[Voice, tuple[ConnectedAccount, ...], tuple[str, ...], tuple[Source, ...]]:
    texts = drafts.list_texts_since(conn, user_id, since, MAX_RECENT)
    voice, connected = users.load_writing_voice(conn, user_id), accounts.list_all(conn, user_id)
    return voice, connected, texts, sources.list_all(conn, user_id)
