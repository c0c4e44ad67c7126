"""Run one generation job: read the page, write and check each text, store it or the reason why there is none.

Each outcome is stored in one transaction, with the events of the draft's history.
"""

import asyncio
import logging
import operator
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from urllib.parse import urlsplit

import msgspec

from copydesk.desk.assignments import Treatment, get_treatment
from copydesk.desk.confidence import estimate
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.check_draft import MAX_RECENT, RECENT_WINDOW, platforms_of_draft
from copydesk.desk.drafts.create import derive_title
from copydesk.desk.drafts.source_items import add_items, list_sources
from copydesk.desk.images.draft_images import page_images
from copydesk.desk.saved_ranking import load_settings
from copydesk.desk.writers.open_writer import open_writer, write_recorded
from copydesk.drafting.check_context import TrigramCache
from copydesk.drafting.checks import RecentTexts, add_notes, build_check_context, check
from copydesk.drafting.writer import Brief, Writer, WriterResult, build_brief
from copydesk.errors import CopydeskError, FetchError, StoreError, WriterError
from copydesk.ingest.article.reader import READ_TIMEOUT, Article, read_article
from copydesk.ingest.registry import get_source_type
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Checks, Draft, DraftImage, DraftSource, Format, ListedDraft, Severity, Status, Trace
from copydesk.model.item import Entry, Item
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.model.source import ImagePolicy
from copydesk.model.transitions import NEW_VERSION, SystemEvent
from copydesk.model.voice import Voice
from copydesk.model.writer import ModelRequest
from copydesk.ranking.canonical_url import canonical_url
from copydesk.ranking.topics import Topics
from copydesk.store import accounts, draft_queries, draft_updates, drafts, generation, items, users
from copydesk.store import writers as stored_writers
from copydesk.store.database import Transaction
from copydesk.store.draft_updates import DraftSnapshot
from copydesk.store.drafts import NewDraft
from copydesk.store.generation import GenerationInput, PendingGeneration
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from copydesk.text import clean

MAX_ERROR_LENGTH = 1_000
RETRY_HINT = "Regenerate it to try again."
"""Hint for errors that have none of their own."""
log = logging.getLogger(__name__)
MAX_ATTEMPTS = 3
"""A text that was started this often without an end is given up: it may be what crashes the process."""


_OUTPUT_FIELDS = ("text", "checks", "confidence", "confidence_known", "sentences")
"""Columns that a first text is stored in."""


class TextResult(Enum):
    """Result of one attempt to write a text."""

    WRITTEN = "written"
    FAILED = "failed"
    """The reason is stored."""
    NOT_STORED = "not stored"
    """Its draft was deleted, another process has stored a result, or the request has changed meanwhile."""


class GeneratedText(Struct, frozen=True):
    """A generated and checked text."""

    draft: ListedDraft
    """The draft for which it was written."""
    text: str
    checks: Checks
    confidence: float
    confidence_known: bool
    sentences: tuple[Trace, ...]
    writer: str
    requests: tuple[ModelRequest, ...] = ()
    """The requests to language models that led to it."""
    images: tuple[DraftImage, ...] = ()
    """Images to propose for a draft that has none."""
    items: tuple[DraftSource, ...] = ()
    """The items that the text links to, if there are several."""


def save_text(conn: Transaction, user_id: str, claim_id: str, result: GeneratedText, now: datetime) -> bool:
    """Store a generated text and return True.

    It becomes the text of a draft that has none yet; otherwise a new draft supersedes the old one, which is archived.
    Return False, with nothing stored, if the claim was lost or the request has changed since.
    """
    # The first step, as it also releases the claim: whoever loses here must not change the draft any more.
    if not generation.finish(conn, user_id, result.draft.id, claim_id):
        return False
    snapshot = draft_updates.load_snapshot(conn, user_id, result.draft.id, include_text=True)
    # The claim is released by now, so the next worker generates the text for the current request.
    if _is_newer_request(snapshot, result.draft.version):
        return False
    if snapshot.status is Status.PENDING_GENERATION:
        values = {name: getattr(result, name) for name in _OUTPUT_FIELDS}
        draft_updates.apply_system_event(
            conn, user_id, snapshot, SystemEvent.TEXT_GENERATED, values | {"last_error": None}, now
        )
        generation.save_writer(conn, user_id, snapshot.id, result.writer)
        drafts.add_images(conn, user_id, snapshot.id, (), result.images)
        drafts.add_items(conn, user_id, snapshot.id, result.items)
        stored_writers.add_requests(conn, user_id, snapshot.id, result.requests)
    elif snapshot.status is Status.PENDING_REGENERATION:
        values = {"archived_at": now, "last_error": None}
        # The old draft stays, archived: its history and its feedback explain the new one, and train the preference.
        draft_updates.apply_system_event(conn, user_id, snapshot, SystemEvent.NEW_VERSION_GENERATED, values, now)
        version = _new_version(conn, user_id, result, now)
        drafts.add(conn, user_id, version)
        stored_writers.add_requests(conn, user_id, version.draft.id, result.requests)
    # In any other state the user has withdrawn the request: nothing to store.
    return True


def save_failure(
    conn: Transaction, user_id: str, claim_id: str, pending: PendingGeneration, error: CopydeskError, now: datetime
) -> bool:
    """Store why generation failed; an existing text stays. Return False as `save_text` does."""
    if not generation.finish(conn, user_id, pending.draft_id, claim_id):
        return False
    snapshot = draft_updates.load_snapshot(conn, user_id, pending.draft_id, include_text=True)
    if _is_newer_request(snapshot, pending.version):
        return False
    if snapshot.status in generation.PENDING_STATUSES:
        # Cleaned here, since a model or a page may put anything into its error.
        message = clean(f"{error.message} {error.hint or RETRY_HINT}")[:MAX_ERROR_LENGTH]
        draft_updates.apply_system_event(
            conn, user_id, snapshot, SystemEvent.GENERATION_FAILED, {"last_error": message}, now
        )
    return True


def _is_newer_request(snapshot: DraftSnapshot, version: int) -> bool:
    """Return True if the request was withdrawn and repeated, perhaps with other feedback: then it starts again."""
    return snapshot.status in generation.PENDING_STATUSES and snapshot.version != version


def _new_version(conn: Transaction, user_id: str, result: GeneratedText, now: datetime) -> NewDraft:
    """Return the draft that supersedes the old one, in the same variant of the same experiment."""
    old, lineage = result.draft, generation.load_provenance(conn, user_id, result.draft.id)
    draft = Draft(
        id=new_id(now),
        text=result.text,
        format=old.format,
        status=NEW_VERSION,
        confidence=result.confidence,
        confidence_known=result.confidence_known,
        item_id=old.item_id,
        regenerated_from_id=old.id,
        created_at=now,
        updated_at=now,
        tags=old.tags,
        target_platforms=old.target_platforms,
        images=tuple(_copy_image(image, now) for image in old.images),
        proposed_images=tuple(_copy_image(image, now) for image in (*old.proposed_images, *result.images)),
        checks=result.checks,
        sentences=result.sentences,
        score=old.score,
        writer=result.writer,
        items=result.items,
        variants=old.variants,
    )
    return NewDraft(
        draft=draft,
        source_id=lineage.source_id,
        source_type=lineage.source_type,
        story_id=lineage.story_id,
        origin=DraftOrigin.REGENERATE,
    )


def _copy_image(image: DraftImage, now: datetime) -> DraftImage:
    # A new id, because an image belongs to one draft: removing it there must leave the old version as it was.
    return msgspec.structs.replace(image, id=new_id(now))


async def write_texts(
    ctx: DeskContext, texts: Sequence[PendingGeneration], claim_id: str, cache: TrigramCache
) -> list[bool]:
    """Write the texts of one item, claimed under `claim_id`. Raise StoreError.

    Return for each whose result was stored whether it was written: False if it failed.

    `cache` is shared by the items of one batch, so that recent texts are analysed once.
    """
    job = _JobWriter(ctx, claim_id, cache)
    material = await ctx.read(generation.load_input, texts[0].item_id)
    if material is None:
        return []  # the item was deleted in the meantime, its drafts with it
    try:
        material = await job.with_page(material)
    except CopydeskError as error:
        if isinstance(error, StoreError):
            raise
        results = [await job.fail(text, error) for text in texts]
    else:
        results = [await job.write(text, material) for text in texts]
    return [result is TextResult.WRITTEN for result in results if result is not TextResult.NOT_STORED]


class _TextInputs(Struct, frozen=True):
    """Everything a text is written from besides its item."""

    draft: ListedDraft
    earlier_texts: tuple[str, ...]
    voice: Voice
    recent: tuple[str, ...]
    treatment: Treatment | None
    has_image: bool
    """This draft, or another one of its item, has an image."""
    items: tuple[Item, ...]
    """All items that a BLOG may link to."""
    connected: tuple[ConnectedAccount, ...]


class _JobWriter:
    def __init__(self, ctx: DeskContext, claim_id: str, cache: TrigramCache) -> None:
        self._ctx = ctx
        self._claim_id = claim_id
        self._cache = cache
        self._deadline = ctx.settings.generation.deadline

    async def with_page(self, material: GenerationInput) -> GenerationInput:
        """Return `material` with its page, fetched now unless it was before. Raise CopydeskError."""
        item = material.item
        if not material.has_unfetched_page or item.entry.url is None:
            return material
        article = await self._read(item.entry.url)
        entry = _entry(article, item)
        # Stored before anything is written: if writing fails, another attempt need not fetch the page again.
        await self._ctx.write(generation.save_page, item.id, entry, canonical_url(entry.url or ""))
        return await self._ctx.read(generation.load_input, item.id) or material

    async def _read(self, url: str) -> Article:
        try:
            async with self._ctx.network() as http:
                return await read_article(http, url, timeout_seconds=min(self._deadline, READ_TIMEOUT))
        # These have messages for the user; everything else gets one below.
        except (FetchError, StoreError):
            raise
        except Exception as error:
            log.exception("reading %s failed", url)
            raise FetchError(_unexpected_message("Reading the page", error)) from error

    async def write(self, text: PendingGeneration, material: GenerationInput) -> TextResult:
        """Write one text and store it, or the reason why it failed."""
        # Attempts are counted on claiming, so those that crashed the process are included.
        if (text.attempts or 0) > MAX_ATTEMPTS:
            return await self.fail(text, _too_many_attempts())
        inputs = await self._ctx.read(_load_inputs, text.draft_id, material.item, self._ctx.clock())
        if inputs is None:
            return TextResult.NOT_STORED
        try:
            generated = await self._generate(inputs, material)
        except StoreError:
            # The database failed, not the text, which is written again.
            raise
        except WriterError as error:
            return await self.fail(text, error)
        except Exception as error:
            # Store the failure: raised, this text would stay first in the queue and block all others.
            log.exception("writing %s failed", text.draft_id)
            # Only the type: the message may contain secrets or private text.
            return await self.fail(text, WriterError(_unexpected_message("Generating the text", error)))
        is_stored = await self._ctx.write(save_text, self._claim_id, generated, self._ctx.clock())
        return TextResult.WRITTEN if is_stored else TextResult.NOT_STORED

    async def fail(self, text: PendingGeneration, error: CopydeskError) -> TextResult:
        """Store the reason why a text could not be written."""
        is_stored = await self._ctx.write(save_failure, self._claim_id, text, error, self._ctx.clock())
        return TextResult.FAILED if is_stored else TextResult.NOT_STORED

    async def _generate(self, inputs: _TextInputs, material: GenerationInput) -> GeneratedText:
        draft, item = inputs.draft, material.item
        settings = await load_settings(self._ctx)
        topic = Topics(settings.ranking.interests).find_shared(inputs.items)
        brief = add_items(_brief(inputs, material, self._ctx.platforms.infos), item, inputs.items, topic)
        output, writer = await self._call_writer(brief, draft.id)
        images = () if inputs.has_image else _page_image(material.item, self._ctx.clock())
        recent = await asyncio.to_thread(RecentTexts.from_cache, inputs.recent, self._cache)
        subject = build_check_context(brief, recent=recent, images=draft.images)
        # In a thread: comparing with recent texts is CPU-bound.
        checks = add_notes(await asyncio.to_thread(check, output.text, subject), output.notes)
        generated = msgspec.structs.replace(draft, text=output.text, checks=checks, sentences=output.sentences)
        estimated = await estimate(self._ctx, generated)
        return GeneratedText(
            draft=draft,
            text=output.text,
            checks=checks,
            confidence=estimated.confidence,
            confidence_known=estimated.known,
            sentences=output.sentences,
            writer=output.model or writer.name,
            requests=output.requests,
            images=images,
            items=list_sources(brief, output, item, inputs.items),
        )

    async def _call_writer(self, brief: Brief, draft_id: str) -> tuple[WriterResult, Writer]:
        """Return the text and who wrote it; show the text meanwhile."""
        show = partial(operator.setitem, self._ctx.partial_texts, draft_id)
        # Opened for every text, as the user may choose another one.
        writer = await open_writer(self._ctx)
        try:
            async with asyncio.timeout(self._deadline):
                return await write_recorded(self._ctx, writer, brief, show), writer
        except TimeoutError:
            raise WriterError(f"Generating the text took longer than {self._deadline:g} seconds.") from None
        finally:
            # The complete text is stored by now, or there is none: a partial one must not look like the draft.
            self._ctx.partial_texts.pop(draft_id, None)


def _load_inputs(conn: Transaction, user_id: str, draft_id: str, item: Item, now: datetime) -> _TextInputs | None:
    """Load what a text is written from; None if its draft was deleted."""
    draft = draft_queries.get(conn, user_id, draft_id)
    if draft is None:
        return None
    return _TextInputs(
        draft=draft,
        earlier_texts=draft_queries.list_earlier_texts(conn, user_id, draft_id),
        voice=users.load_writing_voice(conn, user_id),
        recent=drafts.list_texts_since(conn, user_id, now - RECENT_WINDOW, MAX_RECENT, except_story=item.story_id),
        treatment=get_treatment(conn, user_id, draft.variants),
        has_image=generation.has_image(conn, user_id, item.id),
        items=_load_items(conn, user_id, draft, item) if draft.format is Format.BLOG else (),
        connected=accounts.list_all(conn, user_id),
    )


def _load_items(conn: Transaction, user_id: str, draft: ListedDraft, item: Item) -> tuple[Item, ...]:
    """Return the items of the draft, or those of its story if it has no text yet."""
    if draft.items:
        return items.list_of_draft(conn, user_id, draft.id)
    # The source's own entry of the page that the user gave is the same text once more.
    story = items.list_story(conn, user_id, item.story_id)
    return (item, *(other for other in story if item.id != other.id and item.canonical != other.canonical))


def _brief(inputs: _TextInputs, material: GenerationInput, infos: Mapping[str, PlatformInfo]) -> Brief:
    item, draft, treatment = material.item, inputs.draft, inputs.treatment
    score_sources = draft.score.sources if draft.score else ()
    voice = treatment.apply_to(inputs.voice, draft.format) if treatment else inputs.voice
    brief = build_brief(
        item,
        draft.format,
        voice,
        source_type=get_source_type(item.source_type) if item.source_type else None,
        other_sources=tuple(source.name for source in score_sources if source.item_id != item.id),
        platforms=platforms_of_draft(draft.format, voice, inputs.connected, infos, draft.target_platforms),
        feedback=draft.feedback,
        previous=draft.text or None,
    )
    brief = msgspec.structs.replace(
        brief,
        item_id=item.entry.ident,
        findings=tuple(finding.message for finding in draft.checks.findings if finding.severity is not Severity.INFO),
        earlier_versions=inputs.earlier_texts,
        instructions=material.prompt,
        parameters=treatment.parameters if treatment else {},
    )
    if item.source_type is not None:
        return brief
    # The user's own item: no source to credit, and the time of the request is not the page's date. Without a page
    # the draft's own text is all there is to write from.
    published = brief.published if item.published != item.seen else None
    return msgspec.structs.replace(brief, source_name="", published=published, text=brief.text or draft.text)


def _entry(article: Article, item: Item) -> Entry:
    """Convert the fetched page to the item's entry."""
    title = article.title or (derive_title(article.text or article.summary) if article.text or article.summary else "")
    return Entry(
        ident=item.entry.ident,
        alias=item.entry.alias,
        title=title or item.entry.title,
        url=article.url,
        summary=article.summary,
        text=article.text,
        author=article.author,
        # A page cannot have been published after it was requested.
        published=min(article.published, item.seen) if article.published else None,
        image=article.image,
        image_alt=article.image_alt,
        language=article.language,
        publisher=article.publisher or (urlsplit(article.url).hostname or "").removeprefix("www.") or None,
    )


def _page_image(item: Item, now: datetime) -> tuple[DraftImage, ...]:
    """Return the image of the page, for items the user gave; others got theirs from the source."""
    return page_images(item.entry, ImagePolicy.PROPOSE, now).proposed if item.source_type is None else ()


def _too_many_attempts() -> WriterError:
    return WriterError(f"Generating it was interrupted {MAX_ATTEMPTS} times.")


def _unexpected_message(action: str, error: Exception) -> str:
    return f"{action} failed with an unexpected error ({type(error).__name__})."
