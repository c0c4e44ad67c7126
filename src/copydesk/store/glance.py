"""What waits for review, read with nothing but Python's own sqlite3.

Importing SQLAlchemy takes longer than drawing the whole console. This reads the one list that a person looks at
first, so that it is on the screen while the desk is still being opened. It only reads, says nothing where it cannot,
and holds what `copydesk.desk.drafts.Drafts.queue` holds: a test compares them.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from copydesk.errors import StoreDamagedError
from copydesk.model.draft import DraftImage, ListedDraft, Status
from copydesk.store.listed import PLAIN, listed

_IMAGES = """(SELECT json_group_array(
        json_object('id', id, 'url', url, 'alt', alt, 'position', position, 'source', source))
    FROM (SELECT * FROM draft_image WHERE draft_id = draft.id AND user_id = draft.user_id ORDER BY position))"""
_TAGS = """(SELECT json_group_array(name) FROM (SELECT tag.name FROM draft_tag JOIN tag ON tag.id = draft_tag.tag_id
    WHERE draft_tag.draft_id = draft.id AND draft_tag.user_id = draft.user_id ORDER BY tag.name))"""


def glance(path: Path, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """The owner's drafts in these states, the best first; none where the database cannot be read as it should be."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
            rows = connection.execute(_query(len(statuses)), (*statuses, limit)).fetchall()
            return _drafts(rows)
    except (sqlite3.Error, StoreDamagedError, msgspec.MsgspecError, OSError):
        return ()


def _query(statuses: int) -> str:
    columns = ", ".join(f"draft.{name}" for name in PLAIN)
    # Names of ours and question marks, nothing from outside.
    return f"""
        SELECT {columns}, item.title, draft.source_type, {_IMAGES}, {_TAGS}
        FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.user_id = (SELECT id FROM user ORDER BY id LIMIT 1)
            AND draft.status IN ({", ".join("?" * statuses)}) AND draft.archived_at IS NULL
        ORDER BY draft.total_score DESC NULLS LAST, draft.id DESC LIMIT ?"""  # noqa: S608


def _drafts(rows: Sequence[Sequence[Any]]) -> tuple[ListedDraft, ...]:
    images = {row[0]: _IMAGES_IN(row[-2]) for row in rows}
    tags = {row[0]: _TAGS_IN(row[-1]) for row in rows}
    return listed([row[:-2] for row in rows], images, tags)


_IMAGES_IN = msgspec.json.Decoder(tuple[DraftImage, ...]).decode
_TAGS_IN = msgspec.json.Decoder(tuple[str, ...]).decode
