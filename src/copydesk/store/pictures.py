"""Under which url the bytes of a draft's picture are kept: written once, and the same for every attempt to post it."""

from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from copydesk.store.parts import in_parts
from copydesk.store.tables import draft_image


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
