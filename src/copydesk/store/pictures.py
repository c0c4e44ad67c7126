"""Where the bytes of drafts' pictures are kept: noted once, and the same for every attempt to post them."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, exists, select, update

from copydesk.model.draft import Status
from copydesk.model.picture import kept_digest, kept_url
from copydesk.store.parts import in_parts
from copydesk.store.tables import draft, draft_image

TO_BE_POSTED = (Status.APPROVED, Status.SCHEDULED, Status.MISSED, Status.POSTING)


def stored_urls(conn: Connection, user_id: str, image_ids: Sequence[str]) -> dict[str, str]:
    """By the ids of pictures, where their bytes are kept; without those that were not read yet."""
    found: dict[str, str] = {}
    for part in in_parts(image_ids):
        mine = (draft_image.c.user_id == user_id, draft_image.c.id.in_(part), draft_image.c.stored.is_not(None))
        found |= {
            row.id: row.stored for row in conn.execute(select(draft_image.c.id, draft_image.c.stored).where(*mine))
        }
    return found


def note_stored(conn: Connection, user_id: str, image_id: str, url: str) -> str:
    """Note where the bytes of a picture are kept, unless that was noted before; returns what is noted.

    A picture that is in no row, because its draft is gone, is kept at `url`.
    """
    mine = (draft_image.c.user_id == user_id, draft_image.c.id == image_id)
    conn.execute(update(draft_image).where(*mine, draft_image.c.stored.is_(None)).values(stored=url))
    noted = conn.execute(select(draft_image.c.stored).where(*mine)).scalar()
    return str(noted) if noted is not None else url


def describe(conn: Connection, user_id: str, draft_id: str, picture: int, alt: str | None) -> bool:
    """Give a draft's picture, the first of which is 1, a description; without one take the picture off.

    False where the draft has no such picture.
    """
    mine = (draft_image.c.user_id == user_id, draft_image.c.draft_id == draft_id)
    in_order = select(draft_image.c.id).where(*mine).order_by(draft_image.c.position, draft_image.c.id)
    image_id = conn.execute(in_order.offset(picture - 1).limit(1)).scalar()
    this = draft_image.c.id == image_id
    if alt is None:
        return conn.execute(delete(draft_image).where(*mine, this)).rowcount == 1
    return conn.execute(update(draft_image).where(*mine, this).values(alt=alt)).rowcount == 1


def kept_digests(conn: Connection, user_id: str) -> frozenset[str]:  # noqa: ARG001 - the folder is everybody's
    """The SHA-256 of every kept picture that a draft has, whoever's it is."""
    found: set[str] = set()
    for column in (draft_image.c.url, draft_image.c.stored):
        urls = conn.execute(select(column).where(column.startswith(kept_url(""))).distinct()).scalars()
        found.update(filter(None, map(kept_digest, urls)))
    return frozenset(found)


def any_to_be_posted(conn: Connection, user_id: str) -> bool:
    """Whether a draft with a picture is on its way to being posted."""
    pictured = exists().where(draft_image.c.draft_id == draft.c.id)
    on_its_way = (draft.c.user_id == user_id, draft.c.status.in_(TO_BE_POSTED), draft.c.archived_at.is_(None))
    return bool(conn.execute(select(exists().where(*on_its_way, pictured))).scalar())
