"""Texts that are to be written: which, for whom they are claimed, and what they are written from.

That a text is to be written is said by its draft's state alone. A row of the table `generation` says who is at it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, exists, insert, null, select, text, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import DraftImage, Status
from copydesk.model.item import Entry, Item
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct
from copydesk.store import items
from copydesk.store.items import content_hash
from copydesk.store.parts import in_parts
from copydesk.store.tables import draft, draft_image, generation, item

PENDING = (Status.PENDING_GENERATION, Status.PENDING_REGENERATION)
AT_ONCE = 20
"""Texts that one look finds of those that nobody is at; the next look finds the next ones."""
KNOWN_FOR = timedelta(days=14)
"""An address that a source brought is remembered for so long."""


class Waiting(Struct, frozen=True):
    """A text that is to be written, and who was last at it."""

    draft_id: str
    item_id: str
    version: int
    """The draft's: it is another one where the request was taken back and made again."""
    claim_id: str | None
    owner: str | None
    lease_until: datetime | None
    attempts: int | None
    """How many have begun without coming to an end."""


class Claim(Struct, frozen=True):
    """The right to write some texts, all of one item, for as long as the lease."""

    id: str
    owner: str
    lease_until: datetime


class Material(Struct, frozen=True):
    """What the texts of an item are written from."""

    item: Item
    prompt: str | None
    unread: bool
    """Whether there is a page that was not read yet."""


class Beside(Struct, frozen=True):
    """What is kept of a draft that it does not show."""

    source_id: str | None
    source_type: SourceType | None
    story_id: str
    experiment_id: str | None
    variant_id: str | None


_BESIDE = tuple(draft.c[name] for name in Beside.__struct_fields__)
_OF_DRAFT = (draft.c.id.label("draft_id"), draft.c.item_id, draft.c.version)
_OF_CLAIM = tuple(generation.c[name] for name in ("claim_id", "owner", "lease_until", "attempts"))
_EITHER = (
    select(*_OF_DRAFT, *_OF_CLAIM)
    .select_from(draft.join(generation, generation.c.draft_id == draft.c.id, isouter=True))
    .where(draft.c.user_id == bindparam("user"), draft.c.status.in_(PENDING))
    .order_by(draft.c.updated_at, draft.c.id)
)
_THESE = _EITHER.where(draft.c.id.in_(bindparam("ids", expanding=True)))
# From the claims, which are as many as are under way: nothing else here leads to a draft.
_BEGUN = (
    select(*_OF_DRAFT, *_OF_CLAIM)
    .select_from(generation.join(draft, draft.c.id == generation.c.draft_id))
    .where(generation.c.user_id == bindparam("user"), draft.c.status.in_(PENDING))
    .order_by(draft.c.updated_at, draft.c.id)
)
# Word for word as the index has it, which gives these in their order: no more of them are read than are wanted.
_IS_PENDING = text("draft.status IN ('pending_generation', 'pending_regeneration')")
_NOT_BEGUN = (
    select(*_OF_DRAFT, *(null().label(each.name) for each in _OF_CLAIM))
    .where(draft.c.user_id == bindparam("user"), _IS_PENDING, ~exists().where(generation.c.draft_id == draft.c.id))
    .order_by(draft.c.updated_at, draft.c.id)
    .limit(bindparam("limit"))
)


def waiting(conn: Connection, user_id: str, draft_ids: Sequence[str] | None = None) -> tuple[Waiting, ...]:
    """The texts among `draft_ids` that are to be written; who asked first comes first.

    Without `draft_ids` those that somebody began and did not end, then AT_ONCE of those that nobody is at: what is read
    is not more where more waits.
    """
    mine: dict[str, object] = {"user": user_id}
    if draft_ids is None:
        begun = _waiting(conn.execute(_BEGUN, mine))
        return begun + _waiting(conn.execute(_NOT_BEGUN, mine | {"limit": AT_ONCE}))
    parts = in_parts(draft_ids)
    return tuple(each for some in parts for each in _waiting(conn.execute(_THESE, mine | {"ids": list(some)})))


def claim(conn: Connection, user_id: str, wanted: Sequence[Waiting], claim: Claim) -> tuple[Waiting, ...]:
    """Claim what nobody else claimed since it was seen and what still waits; what was got, as it is now."""
    got = []
    for each in wanted:
        mine = Waiting(
            draft_id=each.draft_id,
            item_id=each.item_id,
            version=each.version,
            claim_id=claim.id,
            owner=claim.owner,
            lease_until=claim.lease_until,
            attempts=(each.attempts or 0) + 1,
        )
        if _waits(conn, user_id, each.draft_id) and _claimed(conn, user_id, each, mine):
            got.append(mine)
    return tuple(got)


def release(conn: Connection, user_id: str, claim_id: str) -> None:
    """Let go of what a claim holds still: it was broken off, and did not fail."""
    mine = (generation.c.user_id == user_id, generation.c.claim_id == claim_id)
    conn.execute(delete(generation).where(*mine))


def end(conn: Connection, user_id: str, draft_id: str, claim_id: str) -> bool:
    """Come to an end with a text; False where somebody else took it over, or its draft is gone."""
    mine = (generation.c.user_id == user_id, generation.c.draft_id == draft_id, generation.c.claim_id == claim_id)
    return conn.execute(delete(generation).where(*mine)).rowcount == 1


def material(conn: Connection, user_id: str, item_id: str) -> Material | None:
    """What there is of an item; None where it is gone."""
    found = items.one(conn, user_id, item_id)
    query = select(item.c.prompt, item.c.content_hash, item.c.source_id).where(item.c.user_id == user_id)
    row = conn.execute(query.where(item.c.id == item_id)).first()
    if found is None or row is None:
        return None
    unread = row.source_id is None and found.entry.url is not None and row.content_hash is None
    return Material(item=found, prompt=row.prompt, unread=unread)


def is_pictured(conn: Connection, user_id: str, item_id: str) -> bool:
    """Whether a draft of the item has a picture."""
    mine = (draft.c.user_id == user_id, draft.c.item_id == item_id)
    return bool(conn.execute(select(exists().where(draft_image.c.draft_id == draft.c.id, *mine))).scalar_one())


def note_request(conn: Connection, user_id: str, item_id: str, prompt: str | None, story_id: str) -> None:
    """Note of the user's own item what is to be written of it, and the story that it tells."""
    mine = (item.c.user_id == user_id, item.c.id == item_id)
    conn.execute(update(item).where(*mine).values(prompt=prompt, story_id=story_id))


def story_at(conn: Connection, user_id: str, canonical: str, now: datetime) -> str | None:
    """The story that an address tells which a source brought lately."""
    query = (
        select(item.c.story_id)
        .where(
            item.c.user_id == user_id,
            item.c.published >= now - KNOWN_FOR,
            item.c.canonical == canonical,
            item.c.source_id.is_not(None),
            item.c.story_id != "",
        )
        .order_by(item.c.published)
        .limit(1)
    )
    return conn.execute(query).scalar()


def keep_page(conn: Connection, user_id: str, item_id: str, entry: Entry, canonical: str) -> None:
    """Keep what the page says, unless it is kept already: it is not read again."""
    names = ("title", "url", "summary", "text", "author", "image", "image_alt", "language", "publisher")
    values: dict[str, object] = {name: getattr(entry, name) for name in names}
    values |= {"content_hash": content_hash(entry), "canonical": canonical}
    if entry.published is not None:
        values["published"] = entry.published
    unread = (item.c.user_id == user_id, item.c.id == item_id, item.c.content_hash.is_(None))
    conn.execute(update(item).where(*unread).values(**values))


def sign(conn: Connection, user_id: str, draft_id: str, writer: str, images: Sequence[DraftImage]) -> None:
    """Note who wrote a draft's text, and give it these pictures."""
    conn.execute(update(draft).where(draft.c.user_id == user_id, draft.c.id == draft_id).values(writer=writer))
    rows = [{"user_id": user_id, "draft_id": draft_id, **_plain(image)} for image in images]
    if rows:
        conn.execute(insert(draft_image), rows)


def beside(conn: Connection, user_id: str, draft_id: str) -> Beside:
    """What a new version takes over of a draft besides what the draft shows."""
    row = conn.execute(select(*_BESIDE).where(draft.c.user_id == user_id, draft.c.id == draft_id)).one()
    return Beside(**row._mapping)


def _waiting(rows: Iterable[Row[*tuple[Any, ...]]]) -> tuple[Waiting, ...]:
    return tuple(Waiting(**row._mapping) for row in rows)


def _waits(conn: Connection, user_id: str, draft_id: str) -> bool:
    still = exists().where(draft.c.user_id == user_id, draft.c.id == draft_id, draft.c.status.in_(PENDING))
    return bool(conn.execute(select(still)).scalar_one())


def _claimed(conn: Connection, user_id: str, seen: Waiting, mine: Waiting) -> bool:
    """A compare-and-set on the claim that was seen."""
    begun = {name: getattr(mine, name) for name in ("claim_id", "owner", "lease_until", "attempts")}
    put = upsert(generation).values(user_id=user_id, draft_id=seen.draft_id, **begun)
    if seen.claim_id is None:
        return conn.execute(put.on_conflict_do_nothing()).rowcount == 1
    same = generation.c.claim_id == seen.claim_id
    return conn.execute(put.on_conflict_do_update(["draft_id"], set_=begun, where=same)).rowcount == 1


def _plain(image: DraftImage) -> dict[str, object]:
    return {name: getattr(image, name) for name in DraftImage.__struct_fields__}
