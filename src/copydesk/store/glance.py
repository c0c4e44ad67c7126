"""What waits for review, read with nothing but Python's own sqlite3.

Importing SQLAlchemy takes longer than drawing the whole console. This reads the one list that a person looks at
first, so that it is on the screen while the desk is still being opened. It only reads, says nothing where it cannot,
and holds what `copydesk.desk.drafts.Drafts.queue` holds: a test compares them.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from copydesk.model.draft import Draft, DraftItem, ListedDraft, Status
from copydesk.model.source import SourceType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = tuple(name for name in Draft.__struct_fields__ if name not in {"tags", "images"})
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
            return tuple(_draft(row) for row in rows)
    except (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError, OSError):
        return ()


def _query(statuses: int) -> str:
    columns = ", ".join(f"draft.{name}" for name in _PLAIN)
    # Names of ours and question marks, nothing from outside.
    return f"""
        SELECT {columns}, {_IMAGES}, {_TAGS}, item.title, draft.source_type
        FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.user_id = (SELECT id FROM user ORDER BY id LIMIT 1)
            AND draft.status IN ({", ".join("?" * statuses)}) AND draft.archived_at IS NULL
        ORDER BY draft.total_score DESC NULLS LAST, draft.id DESC LIMIT ?"""  # noqa: S608


def _draft(row: Sequence[Any]) -> ListedDraft:
    *plain, title, kind = row
    values: dict[str, Any] = {
        name: None if value is None else _READ[name](value)
        for name, value in zip((*_PLAIN, "images", "tags"), plain, strict=True)
    }
    about = DraftItem(id=values["item_id"], title=title, source_type=SourceType(kind))
    return ListedDraft(item=about, **values)


def _reading(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of this type out of what the database keeps; a new field of a draft needs nothing here."""
    inner = get_args(hint)
    kind = next(each for each in inner if each is not NoneType) if NoneType in inner else hint
    if kind is datetime:
        return _moment
    if get_origin(kind) is tuple or issubclass(kind, msgspec.Struct):
        return msgspec.json.Decoder(kind).decode
    return kind if issubclass(kind, StrEnum) else _as_it_is


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _as_it_is(value: Any) -> Any:
    return value


_READ = {name: _reading(hint) for name, hint in get_type_hints(Draft).items()}
