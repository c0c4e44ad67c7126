"""Stored copies of draft images. A copy is recorded once and used for every attempt to post the image."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, exists, select, update

from copydesk.model.draft import Status
from copydesk.model.picture import stored_image_digest, stored_image_url
from copydesk.store.parts import chunked
from copydesk.store.tables import draft, draft_image

POSTABLE_STATUSES = (Status.APPROVED, Status.SCHEDULED, Status.MISSED, Status.POSTING)
"""States of drafts that may still be posted."""


def list_stored_image_urls(conn: Connection, user_id: str, image_ids: Sequence[str]) -> dict[str, str]:
    """Return the URLs of the stored copies by image id. Images that were not fetched yet are missing."""
    urls: dict[str, str] = {}
    for chunk in chunked(image_ids):
        conditions = (draft_image.c.user_id == user_id, draft_image.c.id.in_(chunk), draft_image.c.stored.is_not(None))
        urls |= {
            row.id: row.stored
            for row in conn.execute(select(draft_image.c.id, draft_image.c.stored).where(*conditions))
        }
    return urls


def save_stored_image_url(conn: Connection, user_id: str, image_id: str, url: str) -> str:
    """Record the URL of the stored copy of an image, unless one is recorded; return the recorded URL.

    Return `url` itself if the image row is gone because its draft was deleted.
    """
    conditions = (draft_image.c.user_id == user_id, draft_image.c.id == image_id)
    conn.execute(update(draft_image).where(*conditions, draft_image.c.stored.is_(None)).values(stored=url))
    # Two processes may store the same image at once: the first URL recorded wins.
    recorded = conn.execute(select(draft_image.c.stored).where(*conditions)).scalar()
    return str(recorded) if recorded is not None else url


def set_image_alt(conn: Connection, user_id: str, draft_id: str, number: int, alt: str | None) -> bool:
    """Set the alt text of the image at position `number` of the draft, counted from 1; with None, delete the image.

    Return False if the draft has no such image.
    """
    conditions = (draft_image.c.user_id == user_id, draft_image.c.draft_id == draft_id)
    ordered_ids = select(draft_image.c.id).where(*conditions).order_by(draft_image.c.position, draft_image.c.id)
    image_id = conn.execute(ordered_ids.offset(number - 1).limit(1)).scalar()
    is_image = draft_image.c.id == image_id
    if alt is None:
        return conn.execute(delete(draft_image).where(*conditions, is_image)).rowcount == 1
    return conn.execute(update(draft_image).where(*conditions, is_image).values(alt=alt)).rowcount == 1


def list_stored_image_digests(conn: Connection, user_id: str) -> frozenset[str]:  # noqa: ARG001 - the folder is shared by all users
    """Return the SHA-256 of every stored image that any draft of any user refers to."""
    digests: set[str] = set()
    for column in (draft_image.c.url, draft_image.c.stored):
        urls = conn.execute(select(column).where(column.startswith(stored_image_url(""))).distinct()).scalars()
        digests.update(filter(None, map(stored_image_digest, urls)))
    return frozenset(digests)


def has_postable_images(conn: Connection, user_id: str) -> bool:
    """Return True if a draft with an image may still be posted."""
    has_image = exists().where(draft_image.c.draft_id == draft.c.id)
    may_be_posted = (draft.c.user_id == user_id, draft.c.status.in_(POSTABLE_STATUSES), draft.c.archived_at.is_(None))
    return bool(conn.execute(select(exists().where(*may_be_posted, has_image))).scalar())
