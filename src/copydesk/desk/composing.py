"""One commission carried out: the page is read, each text is written and checked, and kept with what became of it."""

import asyncio
import logging
from datetime import datetime
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from copydesk.desk.checking import MOST_RECENT, RECENT
from copydesk.desk.creating import title_of
from copydesk.desk.generating import Commission
from copydesk.desk.ground import Ground
from copydesk.desk.own_picture import own_picture
from copydesk.desk.settling import Made, keep_failure, keep_text
from copydesk.desk.trial import Treatment, treatment_of
from copydesk.drafting.checks import Recent, check, confidence, subject_of, with_notes
from copydesk.drafting.subject import Known
from copydesk.drafting.writer import Brief, Written, brief_of
from copydesk.errors import CopydeskError, FetchError, StoreError, WriterError
from copydesk.ingest.article import DEADLINE, Article, read_article
from copydesk.model.draft import DraftImage, ListedDraft
from copydesk.model.item import Entry, Item
from copydesk.model.voice import Voice
from copydesk.model.wire import Struct
from copydesk.ranking.canonical import canonical_url
from copydesk.store import drafts, generation, lists, versions, voices
from copydesk.store.generation import Material, Waiting

log = logging.getLogger(__name__)
MOST_ATTEMPTS = 3
"""A text whose writing was begun so often and never came to an end is given up: it may be what ends the process."""


async def compose(ground: Ground, commission: Commission, known: Known) -> int:
    """Write the texts of a commission; of how many this settled what became of them. Raises StoreError.

    `known` is kept from one commission to the next: what was written lately is gone through once for all of them.
    """
    composer = _Composer(ground, commission.claim.id, known)
    material = await ground.read(generation.material, commission.texts[0].item_id)
    if material is None:
        return 0  # deleted meanwhile, and its drafts with it
    try:
        material = await composer.with_page(material)
    except CopydeskError as error:
        if isinstance(error, StoreError):
            raise
        return sum([await composer.fail(text, error) for text in commission.texts])
    return sum([await composer.write(text, material) for text in commission.texts])


class _Beside(Struct, frozen=True):
    """What a text is written with, besides its item."""

    draft: ListedDraft
    earlier: tuple[str, ...]
    voice: Voice
    recent: tuple[str, ...]
    treatment: Treatment | None
    pictured: bool
    """Whether it, or another draft of its item, has a picture."""


class _Composer:
    def __init__(self, ground: Ground, claim_id: str, known: Known) -> None:
        from copydesk.drafting.writer import choose_writer  # noqa: PLC0415 - chosen anew each time

        self._ground = ground
        self._claim_id = claim_id
        self._known = known
        self._writer = choose_writer()
        self._deadline = ground.settings.generation.deadline

    async def with_page(self, material: Material) -> Material:
        """`material` with its page, read now where it was not read before. Raises CopydeskError."""
        item = material.item
        if not material.unread or item.entry.url is None:
            return material
        article = await self._read(item.entry.url)
        entry = _entry(article, item)
        await self._ground.write(generation.keep_page, item.id, entry, canonical_url(entry.url or ""))
        return await self._ground.read(generation.material, item.id) or material

    async def _read(self, url: str) -> Article:
        try:
            async with self._ground.network() as http:
                return await read_article(http, url, deadline=min(self._deadline, DEADLINE))
        except (FetchError, StoreError):
            raise
        except Exception as error:
            log.exception("reading %s failed", url)
            raise FetchError(_unexpected("Reading the page", error)) from error

    async def write(self, text: Waiting, material: Material) -> bool:
        """Write one text; False where somebody else has settled it."""
        if (text.attempts or 0) > MOST_ATTEMPTS:
            return await self.fail(text, _given_up())
        beside = await self._ground.read(_beside, text.draft_id, material.item, self._ground.clock())
        if beside is None:
            return False
        try:
            made = await self._made(beside, material)
        except WriterError as error:
            return await self.fail(text, error)
        except Exception as error:
            # Raised further it would be the first thing to be tried again, and again, before all the others.
            log.exception("writing %s failed", text.draft_id)
            # Only its name: what it says may hold whatever was at hand.
            return await self.fail(text, WriterError(_unexpected("Writing", error)))
        return await self._ground.write(keep_text, self._claim_id, made, self._ground.clock())

    async def fail(self, text: Waiting, error: CopydeskError) -> bool:
        """Say of a text why there is none."""
        now = self._ground.clock()
        return await self._ground.write(keep_failure, self._claim_id, text, error, now)

    async def _made(self, beside: _Beside, material: Material) -> Made:
        brief, draft = _brief(beside, material), beside.draft
        written = await self._written(brief)
        pictures = () if beside.pictured else _page_picture(material.item, self._ground.clock())
        recent = await asyncio.to_thread(Recent.beside, beside.recent, self._known)
        subject = subject_of(brief, recent=recent, images=(*draft.images, *pictures))
        checks = with_notes(await asyncio.to_thread(check, written.text, subject), written.notes)
        return Made(
            draft=draft,
            text=written.text,
            checks=checks,
            confidence=confidence(checks),
            sentences=written.sentences,
            writer=self._writer.name,
            pictures=pictures,
        )

    async def _written(self, brief: Brief) -> Written:
        try:
            async with asyncio.timeout(self._deadline):
                return await self._writer.write(brief)
        except TimeoutError:
            raise WriterError(f"Writing took longer than {self._deadline:g} seconds.") from None


def _beside(conn: Connection, user_id: str, draft_id: str, item: Item, now: datetime) -> _Beside | None:
    """What a text is written with; None where its draft is gone."""
    draft = lists.one(conn, user_id, draft_id)
    if draft is None:
        return None
    return _Beside(
        draft=draft,
        earlier=versions.texts_before(conn, user_id, draft_id),
        voice=voices.read(conn, user_id) or Voice(),
        recent=drafts.texts_since(conn, user_id, now - RECENT, MOST_RECENT, without=item.story_id),
        treatment=treatment_of(conn, user_id, draft_id),
        pictured=generation.is_pictured(conn, user_id, item.id),
    )


def _brief(beside: _Beside, material: Material) -> Brief:
    item, draft, treatment = material.item, beside.draft, beside.treatment
    told = draft.score.sources if draft.score else ()
    brief = brief_of(
        item,
        draft.format,
        treatment.voice(beside.voice, draft.format) if treatment else beside.voice,
        also=tuple(source.name for source in told if source.item_id != item.id),
        platforms=draft.target_platforms,
        feedback=draft.feedback,
        previous=draft.text or None,
    )
    brief = msgspec.structs.replace(
        brief,
        item_id=item.entry.ident,
        earlier=beside.earlier,
        instructions=material.prompt,
        parameters=treatment.parameters if treatment else {},
    )
    if item.source_type is not None:
        return brief
    # The user is nobody to be quoted, and the time of asking is not the page's. What he wrote himself is all there is.
    dated = brief.published if item.published != item.seen else None
    return msgspec.structs.replace(brief, source_name="", published=dated, text=brief.text or draft.text)


def _entry(article: Article, item: Item) -> Entry:
    """The page as the item keeps it."""
    title = article.title or (title_of(article.text or article.summary) if article.text or article.summary else "")
    return Entry(
        ident=item.entry.ident,
        alias=item.entry.alias,
        title=title or item.entry.title,
        url=article.url,
        summary=article.summary,
        text=article.text,
        author=article.author,
        published=min(article.published, item.seen) if article.published else None,
        image=article.image,
        image_alt=article.image_alt,
        language=article.language,
        publisher=article.publisher or (urlsplit(article.url).hostname or "").removeprefix("www.") or None,
    )


def _page_picture(item: Item, now: datetime) -> tuple[DraftImage, ...]:
    """The picture that the page of the user's own item shows of itself."""
    return own_picture(item.entry, now) if item.source_type is None else ()


def _given_up() -> WriterError:
    return WriterError(f"Its writing was begun {MOST_ATTEMPTS} times, and each time the process ended before it did.")


def _unexpected(what: str, error: Exception) -> str:
    return f"{what} failed with an error that Copydesk did not expect ({type(error).__name__})."
