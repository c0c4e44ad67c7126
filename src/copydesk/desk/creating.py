"""New drafts on request: of a text as the user gave it, or to be written from an address, a prompt or both.

What the user gives becomes an item of his own, also where a source brought the same address: deleting the source must
not take away what he asked for, and the page says more than the feed. It tells the story of that item, though, so that
no run drafts it once more.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from sqlalchemy import Connection

from copydesk.desk.checking import checked_new
from copydesk.desk.ground import Ground
from copydesk.desk.trial import assign
from copydesk.errors import FieldError, InvalidError
from copydesk.model.change import LONGEST_ALT, Created, CreateDraft, Mode, NewImage, checked_create, created
from copydesk.model.draft import Draft, DraftImage, Format, ImageSource, Status, plain
from copydesk.model.history import USER
from copydesk.model.item import Entry, ItemState
from copydesk.model.picture import kept_digest
from copydesk.model.transitions import after_edit
from copydesk.store import changes, drafts, generation, items, lists
from copydesk.store import pictures as kept_pictures
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.items import NewItem
from copydesk.store.tables import Origin

LONGEST_TITLE = 120
UNKNOWN = 0.5
"""The confidence of a draft that no check has seen: as likely to be approved as not."""


class Creating:
    """How drafts come to be that no run picked."""

    _ground: Ground

    async def create(self, asked: CreateDraft | Mapping[str, object]) -> Created:
        """New drafts, with their item, pictures, tags and checks; in direct mode one, of the text as it stands.

        In generate mode one for each format, whose texts are still to be written: `Generation` does it, in this
        process or another one. Raises InvalidError that names every field that breaks a rule.
        """
        asked = checked_create(asked)
        if any(kept_digest(image.url) for image in asked.images):
            from copydesk.desk.pictures import check_kept  # noqa: PLC0415 - seldom needed

            check_kept(self._ground, asked.images)
        return await (self._direct(asked) if asked.mode is Mode.DIRECT else self._to_be_written(asked))

    async def keep_picture(self, path: Path) -> str:
        """Keep the picture in a file; returns the url that `create` takes for it. Raises PictureError."""
        from copydesk.desk.pictures import keep_file  # noqa: PLC0415 - seldom needed

        return await keep_file(self._ground, path)

    async def describe(self, draft_id: str, alt: str | None, *, picture: int = 1) -> Draft:
        """Say what a draft's picture shows, the first of which is 1; None takes the picture off.

        Raises InvalidError for a text that is too long and for a picture that there is not, NotFoundError, and
        ConflictError where the draft cannot be edited.
        """
        if alt is not None and not 1 <= len(alt.strip()) <= LONGEST_ALT:
            raise InvalidError(FieldError("alt", f"takes 1 to {LONGEST_ALT:,} characters"))
        return await self._ground.write(_describe, draft_id, alt and alt.strip(), picture)

    async def make_picture(self, prompt: str, provider: ImageSource) -> str:
        """Have an image generator make a picture, which may cost money; returns the url that `create` takes for it.

        Raises PictureError, also where the settings name no such generator.
        """
        from copydesk.desk.pictures import make_picture  # noqa: PLC0415 - seldom needed

        return await make_picture(self._ground, provider, prompt)

    async def _direct(self, asked: CreateDraft) -> Created:
        assert asked.text is not None
        now = self._ground.clock()
        draft = msgspec.structs.replace(
            _empty(asked, asked.format or Format.SHORT, new_id(now), now),
            text=asked.text,
            status=Status.AWAITING_REVIEW,
            images=pictures(asked.images, now),
            writer=USER,
        )
        checked = await checked_new(self._ground, draft)
        draft = msgspec.structs.replace(draft, checks=checked.checks, confidence=checked.confidence)
        own = own_item(draft.item_id, title_of(draft.text), now)
        await self._ground.write(_keep, own, draft)
        return created(asked.mode, own.id, (draft,))

    async def _to_be_written(self, asked: CreateDraft) -> Created:
        from copydesk.ranking.canonical import canonical_url  # noqa: PLC0415 - not for the console's first rows

        now = self._ground.clock()
        own = _request(asked, canonical_url(asked.url) if asked.url else "", now)
        drafts = [_empty(asked, kind, own.id, now) for kind in asked.formats or ()]
        drafts[0] = msgspec.structs.replace(drafts[0], images=pictures(asked.images, now))
        await self._ground.write(_keep_request, own, drafts, asked.prompt, now)
        return created(asked.mode, own.id, drafts)


def _empty(asked: CreateDraft, format: Format, item_id: str, now: datetime) -> Draft:
    """A draft whose text is not there yet."""
    return Draft(
        id=new_id(now),
        text="",
        format=format,
        status=Status.PENDING_GENERATION,
        confidence=UNKNOWN,
        feedback=None,
        rejection_feedback=None,
        scheduled_at=None,
        posted_at=None,
        post_id=None,
        item_id=item_id,
        regenerated_from_id=None,
        created_at=now,
        updated_at=now,
        tags=asked.tags,
        target_platforms=asked.target_platforms,
    )


def own_item(item_id: str, title: str, now: datetime) -> NewItem:
    """The item that a draft of the user's own derives from."""
    entry = Entry(ident=item_id, alias=item_id, title=title)
    return NewItem(id=item_id, entry=entry, canonical="", published=now, state=ItemState.DRAFTED)


def _request(asked: CreateDraft, canonical: str, now: datetime) -> NewItem:
    """The item that drafts are to be written of. Without an address the prompt is all that there is to write from."""
    given, item_id = asked.prompt or "", new_id(now)
    title = asked.url or title_of(given)
    entry = Entry(ident=item_id, alias=item_id, title=title, url=asked.url, text="" if asked.url else given)
    return NewItem(id=item_id, entry=entry, canonical=canonical, published=now, state=ItemState.DRAFTED)


def title_of(text: str) -> str:
    """The first line that says something, cut at a word where it is long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
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


def _keep(conn: Connection, user_id: str, own: NewItem, draft: Draft) -> None:
    items.add_own(conn, user_id, own)
    new = NewDraft(draft=draft, source_id=None, source_type=None, story_id=own.id, origin=Origin.DIRECT)
    drafts.add(conn, user_id, new)


def _keep_request(
    conn: Connection, user_id: str, own: NewItem, made: Sequence[Draft], prompt: str | None, now: datetime
) -> None:
    told = generation.story_at(conn, user_id, own.canonical, now) if own.canonical else None
    items.add_own(conn, user_id, own)
    generation.note_request(conn, user_id, own.id, prompt, told or own.id)
    for draft in made:
        turn = assign(conn, user_id, draft.format, draft.target_platforms)
        new = NewDraft(
            draft=draft,
            source_id=None,
            source_type=None,
            story_id=told or own.id,
            origin=Origin.GENERATE,
            experiment_id=turn.experiment_id if turn else None,
            variant_id=turn.variant_id if turn else None,
        )
        drafts.add(conn, user_id, new)


def _describe(conn: Connection, user_id: str, draft_id: str, alt: str | None, picture: int) -> Draft:
    seen = changes.one_seen(conn, user_id, draft_id)
    after_edit(seen.status, archived=seen.archived)
    if not kept_pictures.describe(conn, user_id, draft_id, picture, alt):
        raise InvalidError(FieldError("picture", "is none of the draft's"))
    shown = lists.one(conn, user_id, draft_id)
    assert shown is not None
    return plain(shown)
