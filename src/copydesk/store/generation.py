"""Drafts whose text is to be generated: finding and claiming them, and the input of the writer.

Only the state of a draft says that its text is to be generated. A row in `generation` says which process works on it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, exists, null, select, text, update

from copydesk.model.draft import Status
from copydesk.model.item import Entry, Item
from copydesk.model.serialization import Struct
from copydesk.store import items
from copydesk.store.items import content_hash
from copydesk.store.raw_sql import chunked, upsert
from copydesk.store.tables import draft, draft_image, generation, item

PENDING_STATUSES = (Status.PENDING_GENERATION, Status.PENDING_REGENERATION)
UNCLAIMED_LIMIT = 20
"""Unclaimed drafts found per query; the next query finds the next ones."""
STORY_LOOKUP_WINDOW = timedelta(days=14)
"""The period within which the story of an address is looked up."""

_DRAFT_COLUMNS = (draft.c.id.label("draft_id"), draft.c.item_id, draft.c.version)
_CLAIM_COLUMNS = tuple(generation.c[name] for name in ("claim_id", "owner", "lease_until", "attempts"))
_PENDING = (
    select(*_DRAFT_COLUMNS, *_CLAIM_COLUMNS)
    .select_from(draft.join(generation, generation.c.draft_id == draft.c.id, isouter=True))
    .where(draft.c.user_id == bindparam("user"), draft.c.status.in_(PENDING_STATUSES))
    .order_by(draft.c.updated_at, draft.c.id)
)
_PENDING_BY_IDS = _PENDING.where(draft.c.id.in_(bindparam("ids", expanding=True)))
# Starts from the claims: their number is that of the running generations, and no other index leads to them.
_CLAIMED = (
    select(*_DRAFT_COLUMNS, *_CLAIM_COLUMNS)
    .select_from(generation.join(draft, draft.c.id == generation.c.draft_id))
    .where(generation.c.user_id == bindparam("user"), draft.c.status.in_(PENDING_STATUSES))
    .order_by(draft.c.updated_at, draft.c.id)
)
# Written as in the partial index, whose order this is: no more rows are read than are returned.
_IS_PENDING = text("draft.status IN ('pending_generation', 'pending_regeneration')")
_UNCLAIMED = (
    select(*_DRAFT_COLUMNS, *(null().label(column.name) for column in _CLAIM_COLUMNS))
    .where(draft.c.user_id == bindparam("user"), _IS_PENDING, ~exists().where(generation.c.draft_id == draft.c.id))
    .order_by(draft.c.updated_at, draft.c.id)
    .limit(bindparam("limit"))
)


class PendingGeneration(Struct, frozen=True):
    """A draft to generate, and its last claim, if any."""

    draft_id: str
    item_id: str
    version: int
    """Of the draft. It differs if the request was taken back and made again."""
    claim_id: str | None
    owner: str | None
    lease_until: datetime | None
    attempts: int | None
    """Attempts that were started and not finished."""


class GenerationClaim(Struct, frozen=True):
    """The right of a process to generate some drafts, all of one item, until the lease expires."""

    id: str
    owner: str
    lease_until: datetime


class GenerationInput(Struct, frozen=True):
    """The input for generating the drafts of an item."""

    item: Item
    prompt: str | None
    has_unfetched_page: bool
    """True if the item has a page that was not fetched yet."""


class DraftProvenance(Struct, frozen=True):
    """The columns of a draft that the model does not have."""

    source_id: str | None
    source_type: str | None
    story_id: str


_PROVENANCE_COLUMNS = tuple(draft.c[name] for name in DraftProvenance.__struct_fields__)


def list_pending(
    conn: Connection, user_id: str, draft_ids: Sequence[str] | None = None
) -> tuple[PendingGeneration, ...]:
    """Return those of `draft_ids` that are to be generated, oldest request first.

    Without `draft_ids`, return all claimed ones, then at most UNCLAIMED_LIMIT unclaimed ones: the cost does not grow
    with the queue.
    """
    values: dict[str, object] = {"user": user_id}
    if draft_ids is None:
        claimed = _pending_rows(conn.execute(_CLAIMED, values))
        return claimed + _pending_rows(conn.execute(_UNCLAIMED, values | {"limit": UNCLAIMED_LIMIT}))
    chunks = chunked(draft_ids)
    return tuple(
        pending
        for chunk in chunks
        for pending in _pending_rows(conn.execute(_PENDING_BY_IDS, values | {"ids": list(chunk)}))
    )


def claim_pending(
    conn: Connection, user_id: str, requested: Sequence[PendingGeneration], claim: GenerationClaim
) -> tuple[PendingGeneration, ...]:
    """Claim the drafts that are still pending and have no newer claim; return those claimed, with the new claim."""
    claimed = []
    for pending in requested:
        updated = PendingGeneration(
            draft_id=pending.draft_id,
            item_id=pending.item_id,
            version=pending.version,
            claim_id=claim.id,
            owner=claim.owner,
            lease_until=claim.lease_until,
            # Counted on claiming, so that attempts that crash the process count too.
            attempts=(pending.attempts or 0) + 1,
        )
        if _is_pending(conn, user_id, pending.draft_id) and _store_claim(conn, user_id, pending, updated):
            claimed.append(updated)
    return tuple(claimed)


def release_claim(conn: Connection, user_id: str, claim_id: str) -> None:
    """Drop a claim without a result: the attempt was interrupted and did not fail."""
    conditions = (generation.c.user_id == user_id, generation.c.claim_id == claim_id)
    conn.execute(delete(generation).where(*conditions))


def finish(conn: Connection, user_id: str, draft_id: str, claim_id: str) -> bool:
    """Finish the generation of a draft; return False if another process took it over or the draft is gone."""
    conditions = (generation.c.user_id == user_id, generation.c.draft_id == draft_id, generation.c.claim_id == claim_id)
    return conn.execute(delete(generation).where(*conditions)).rowcount == 1


def load_input(conn: Connection, user_id: str, item_id: str) -> GenerationInput | None:
    """Return the input for the item, or None if it is gone."""
    item_row = items.get(conn, user_id, item_id)
    query = select(item.c.prompt, item.c.content_hash, item.c.source_id).where(item.c.user_id == user_id)
    row = conn.execute(query.where(item.c.id == item_id)).first()
    if item_row is None or row is None:
        return None
    has_unfetched_page = row.source_id is None and item_row.entry.url is not None and row.content_hash is None
    return GenerationInput(item=item_row, prompt=row.prompt, has_unfetched_page=has_unfetched_page)


def has_image(conn: Connection, user_id: str, item_id: str) -> bool:
    """Return True if a draft of the item has an image."""
    conditions = (draft.c.user_id == user_id, draft.c.item_id == item_id)
    return bool(conn.execute(select(exists().where(draft_image.c.draft_id == draft.c.id, *conditions))).scalar_one())


def save_request(conn: Connection, user_id: str, item_id: str, prompt: str | None, story_id: str) -> None:
    """Store the prompt and the story of the user's own item."""
    conditions = (item.c.user_id == user_id, item.c.id == item_id)
    conn.execute(update(item).where(*conditions).values(prompt=prompt, story_id=story_id))


def find_story_by_url(conn: Connection, user_id: str, canonical: str, now: datetime) -> str | None:
    """Return the story of the address if a source brought it within STORY_LOOKUP_WINDOW, or None."""
    query = (
        select(item.c.story_id)
        .where(
            item.c.user_id == user_id,
            item.c.published >= now - STORY_LOOKUP_WINDOW,
            item.c.canonical == canonical,
            item.c.source_id.is_not(None),
            item.c.story_id != "",
        )
        .order_by(item.c.published)
        .limit(1)
    )
    return conn.execute(query).scalar()


def save_page(conn: Connection, user_id: str, item_id: str, entry: Entry, canonical: str) -> None:
    """Store the fetched page of an item, unless one is stored already: a page is fetched only once."""
    names = ("title", "url", "summary", "text", "author", "image", "image_alt", "language", "publisher")
    values: dict[str, object] = {name: getattr(entry, name) for name in names}
    values |= {"content_hash": content_hash(entry), "canonical": canonical}
    if entry.published is not None:
        values["published"] = entry.published
    # A stored page has a content hash.
    conditions = (item.c.user_id == user_id, item.c.id == item_id, item.c.content_hash.is_(None))
    conn.execute(update(item).where(*conditions).values(**values))


def save_writer(conn: Connection, user_id: str, draft_id: str, writer: str) -> None:
    """Store the name of the writer of the draft's text."""
    conn.execute(update(draft).where(draft.c.user_id == user_id, draft.c.id == draft_id).values(writer=writer))


def load_provenance(conn: Connection, user_id: str, draft_id: str) -> DraftProvenance:
    """Return the columns that a new version of the draft inherits besides those of the model."""
    row = conn.execute(select(*_PROVENANCE_COLUMNS).where(draft.c.user_id == user_id, draft.c.id == draft_id)).one()
    return DraftProvenance(**row._mapping)


def _pending_rows(rows: Iterable[Row[*tuple[Any, ...]]]) -> tuple[PendingGeneration, ...]:
    return tuple(PendingGeneration(**row._mapping) for row in rows)


def _is_pending(conn: Connection, user_id: str, draft_id: str) -> bool:
    is_pending = exists().where(
        draft.c.user_id == user_id, draft.c.id == draft_id, draft.c.status.in_(PENDING_STATUSES)
    )
    return bool(conn.execute(select(is_pending)).scalar_one())


def _store_claim(conn: Connection, user_id: str, loaded: PendingGeneration, claimed: PendingGeneration) -> bool:
    """Compare-and-set on the claim that was loaded; return True if `claimed` was stored."""
    values = {name: getattr(claimed, name) for name in ("claim_id", "owner", "lease_until", "attempts")}
    statement = upsert(conn, generation).values(user_id=user_id, draft_id=loaded.draft_id, **values)
    if loaded.claim_id is None:
        return conn.execute(statement.on_conflict_do_nothing()).rowcount == 1
    is_unchanged = generation.c.claim_id == loaded.claim_id
    return (
        conn.execute(
            statement.on_conflict_do_update(index_elements=["draft_id"], set_=values, where=is_unchanged)
        ).rowcount
        == 1
    )
