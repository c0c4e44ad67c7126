"""Create drafts on request: from a text the user gives, or to be written from a URL, a prompt or both.

What the user gives becomes an item of its own, even if a source has an item with the same URL: deleting the source must
not delete the user's draft, and the page holds more than the feed. The new item joins the story of that item, so that
no run drafts the story again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from copydesk.desk.assignments import claim_next
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.check_draft import check_new_draft
from copydesk.model.draft import Agent, AgentSource, Draft, DraftImage, Format, Status, stored_image_digest
from copydesk.model.item import Entry, ItemState
from copydesk.model.requests import (
    CreatedDrafts,
    CreateDraft,
    CreationMode,
    NewAgent,
    NewImage,
    creation_response,
    validate_create,
)
from copydesk.model.transitions import USER
from copydesk.store import drafts, generation, items
from copydesk.store.database import Transaction
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.items import NewItem
from copydesk.store.tables import DraftOrigin

MAX_TITLE_LENGTH = 120
UNNAMED_AGENT = "agent"
UNCHECKED_CONFIDENCE = 0.5
"""Confidence of a draft before its checks ran: approval is as likely as rejection."""


class DraftCreation:
    """Creates drafts without a run."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    async def create(self, request: CreateDraft | Mapping[str, object], token_name: str = "") -> CreatedDrafts:
        """Create drafts with their item, images, tags and checks; in direct mode one, from the text as it stands.

        In generate mode one draft per format is created, still without text; `Generation` writes them, in this process
        or another. Raise InvalidError that names every invalid field.
        """
        request = validate_create(request)
        if any(stored_image_digest(image.url) for image in request.images):
            from copydesk.desk.images.draft_images import check_stored  # noqa: PLC0415 - seldom needed

            await check_stored(self._ctx, request.images)
        # The token's name is ours, the agent's own name is what it claims: both are shown, so that one cannot pass for
        # the other.
        agent = _agent(request.agent, token_name)
        if request.mode is CreationMode.DIRECT:
            return await self._create_direct(request, agent)
        return await self._create_pending(request, agent)

    async def _create_direct(self, request: CreateDraft, agent: Agent | None) -> CreatedDrafts:
        assert request.text is not None
        now = self._ctx.clock()
        draft = msgspec.structs.replace(
            _new_draft(request, agent, request.format or Format.SHORT, new_id(now), now),
            text=request.text,
            status=Status.AWAITING_REVIEW,
            images=build_images(request.images, now),
            writer=agent.name if agent else USER,
        )
        checked = await check_new_draft(self._ctx, draft)
        draft = msgspec.structs.replace(
            draft,
            checks=checked.checks,
            confidence=checked.confidence,
            confidence_known=checked.confidence_known,
        )
        item = new_user_item(draft.item_id, derive_title(draft.text), now)
        return await self._ctx.write_durable(_insert, item, draft)

    async def _create_pending(self, request: CreateDraft, agent: Agent | None) -> CreatedDrafts:
        from copydesk.ranking.canonical_url import canonical_url  # noqa: PLC0415 - not for the console's first rows

        now = self._ctx.clock()
        item = _request_item(request, canonical_url(request.url) if request.url else "", now)
        drafts = [_new_draft(request, agent, draft_format, item.id, now) for draft_format in request.formats or ()]
        # Images go with the first draft only.
        drafts[0] = msgspec.structs.replace(drafts[0], images=build_images(request.images, now))
        return await self._ctx.write_durable(_insert_request, item, drafts, request.prompt, now)


def _agent(given: NewAgent | None, token_name: str) -> Agent | None:
    """Return the agent that proposes a draft with this token, or None if a person creates it."""
    if given is None and not token_name:
        return None
    given = given or NewAgent()
    sources = tuple(
        AgentSource(url=source.url, text=source.text or "", start=source.start, end=source.end)
        for source in given.sources
    )
    return Agent(
        name=given.name or token_name or UNNAMED_AGENT,
        model=given.model or "",
        prompt_hash=given.prompt_hash or "",
        sources=sources,
        token=token_name,
    )


def _new_draft(request: CreateDraft, agent: Agent | None, format: Format, item_id: str, now: datetime) -> Draft:
    """Return a draft whose text is not written yet."""
    return Draft(
        id=new_id(now),
        text="",
        format=format,
        status=Status.PENDING_GENERATION,
        confidence=UNCHECKED_CONFIDENCE,
        item_id=item_id,
        created_at=now,
        updated_at=now,
        tags=request.tags,
        target_platforms=request.target_platforms,
        agent=agent,
    )


def new_user_item(item_id: str, title: str, now: datetime) -> NewItem:
    """Return the item that a draft of the user's own belongs to."""
    entry = Entry(ident=item_id, alias=item_id, title=title)
    return NewItem(id=item_id, entry=entry, canonical="", published=now, state=ItemState.DRAFTED)


def _request_item(request: CreateDraft, canonical: str, now: datetime) -> NewItem:
    """Return the item to write drafts from. Without a URL the prompt is its only text."""
    prompt, item_id = request.prompt or "", new_id(now)
    title = request.url or derive_title(prompt)
    entry = Entry(ident=item_id, alias=item_id, title=title, url=request.url, text="" if request.url else prompt)
    return NewItem(id=item_id, entry=entry, canonical=canonical, published=now, state=ItemState.DRAFTED)


def derive_title(text: str) -> str:
    """Return the first line that is not blank, cut at a word if it is longer than MAX_TITLE_LENGTH."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= MAX_TITLE_LENGTH:
        return line
    # One character more, to tell a word that ends at the limit from one that is cut.
    head = line[: MAX_TITLE_LENGTH + 1]
    return f"{head.rsplit(None, 1)[0] if ' ' in head else line[:MAX_TITLE_LENGTH]}…"


def build_images(request: tuple[NewImage, ...], now: datetime) -> tuple[DraftImage, ...]:
    """Return the images ordered by position; of two at one position, the one given first comes first."""
    positioned = [(index if image.position is None else image.position, image) for index, image in enumerate(request)]
    # The sort is stable, so images at the same position stay in the order given.
    positioned.sort(key=lambda entry: entry[0])
    return tuple(
        DraftImage(id=new_id(now), url=image.url, alt=image.alt, position=position, source=image.source)
        for position, image in positioned
    )


def _insert(conn: Transaction, user_id: str, item: NewItem, draft: Draft) -> CreatedDrafts:
    items.add_user_item(conn, user_id, item)
    new = NewDraft(draft=draft, source_id=None, source_type=None, story_id=item.id, origin=DraftOrigin.DIRECT)
    drafts.add(conn, user_id, new)
    return creation_response(CreationMode.DIRECT, item.id, (draft,))


def _insert_request(
    conn: Transaction, user_id: str, item: NewItem, drafts_to_add: Sequence[Draft], prompt: str | None, now: datetime
) -> CreatedDrafts:
    # Join the story of an item with the same URL, so that no run drafts it a second time.
    story_id = generation.find_story_by_url(conn, user_id, item.canonical, now) if item.canonical else None
    items.add_user_item(conn, user_id, item)
    generation.save_request(conn, user_id, item.id, prompt, story_id or item.id)
    for draft in drafts_to_add:
        # In the same transaction as the draft, so that no position of the experiment is counted without a draft.
        assignment = claim_next(conn, user_id, draft.format, draft.target_platforms)
        new = NewDraft(
            draft=msgspec.structs.replace(draft, variants=assignment.variants if assignment else ()),
            source_id=None,
            source_type=None,
            story_id=story_id or item.id,
            origin=DraftOrigin.GENERATE,
        )
        drafts.add(conn, user_id, new)
    return creation_response(CreationMode.GENERATE, item.id, drafts_to_add)
