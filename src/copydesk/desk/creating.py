"""New drafts on request: of a text as the user gave it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import Connection

from copydesk.desk.checking import checked_new
from copydesk.desk.ground import Ground
from copydesk.errors import ConflictError
from copydesk.model.change import Created, CreateDraft, Mode, NewImage, checked_create, created
from copydesk.model.draft import Draft, DraftImage, Format, Status
from copydesk.model.history import USER
from copydesk.model.item import Entry, ItemState
from copydesk.store import drafts, items
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.items import NewItem
from copydesk.store.tables import Origin

LONGEST_TITLE = 120


class Creating:
    """How drafts come to be that no run picked."""

    _ground: Ground

    async def create(self, asked: CreateDraft | Mapping[str, object]) -> Created:
        """New drafts, with their item, pictures, tags and checks; in direct mode one, of the text as it stands.

        Raises InvalidError that names every field that breaks a rule.
        """
        asked = checked_create(asked)
        if asked.mode is Mode.GENERATE:
            raise ConflictError("Drafts cannot be written from an address or a prompt yet.", hint="Give their text.")
        return await self._direct(asked)

    async def _direct(self, asked: CreateDraft) -> Created:
        assert asked.text is not None
        now = self._ground.clock()
        draft = _unchecked(asked, asked.text, now)
        checked = await checked_new(self._ground, draft)
        draft = msgspec.structs.replace(draft, checks=checked.checks, confidence=checked.confidence)
        own = own_item(draft.item_id, title_of(draft.text), now)
        await self._ground.write(_keep, own, (draft,), Origin.DIRECT)
        return created(asked.mode, own.id, (draft,))


def _unchecked(asked: CreateDraft, text: str, now: datetime) -> Draft:
    return Draft(
        id=new_id(now),
        text=text,
        format=asked.format or Format.SHORT,
        status=Status.AWAITING_REVIEW,
        confidence=0,
        feedback=None,
        rejection_feedback=None,
        scheduled_at=None,
        posted_at=None,
        post_id=None,
        item_id=new_id(now),
        regenerated_from_id=None,
        created_at=now,
        updated_at=now,
        tags=asked.tags,
        target_platforms=asked.target_platforms,
        images=pictures(asked.images, now),
        writer=USER,
    )


def own_item(item_id: str, title: str, now: datetime) -> NewItem:
    """The item that a draft of the user's own derives from."""
    entry = Entry(ident=item_id, alias=item_id, title=title)
    return NewItem(id=item_id, entry=entry, canonical="", published=now, state=ItemState.DRAFTED)


def title_of(text: str) -> str:
    """The first line that says something, cut at a word where it is long."""
    line = next(line.strip() for line in text.splitlines() if line.strip())
    if len(line) <= LONGEST_TITLE:
        return line
    kept = line[: LONGEST_TITLE + 1]
    return f"{kept.rsplit(None, 1)[0] if ' ' in kept else line[:LONGEST_TITLE]}…"


def pictures(asked: tuple[NewImage, ...], now: datetime) -> tuple[DraftImage, ...]:
    """The pictures in the order of their positions; of two at one position the first given comes first."""
    placed = [(place if image.position is None else image.position, image) for place, image in enumerate(asked)]
    placed.sort(key=lambda each: each[0])
    return tuple(
        DraftImage(id=new_id(now), url=image.url, alt=image.alt, position=position, source=image.source)
        for position, image in placed
    )


def _keep(conn: Connection, user_id: str, own: NewItem, made: tuple[Draft, ...], origin: Origin) -> None:
    items.add_own(conn, user_id, own)
    for draft in made:
        new = NewDraft(draft=draft, source_id=None, source_type=None, story_id=own.id, origin=origin)
        drafts.add(conn, user_id, new)
