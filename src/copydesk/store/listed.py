"""Drafts as lists show them, out of what the database keeps: without SQLAlchemy, whose own way there takes far longer.

The names of the columns are those of the fields, so that a new field of a draft needs nothing here.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from copydesk.errors import StoreDamagedError
from copydesk.model.draft import MANUAL, Draft, DraftImage, DraftItem, ImageSource, ListedDraft, Status
from copydesk.model.source import SourceType

Run = Callable[[str, Any], Iterable[Sequence[Any]]]
"""Carries out a statement with its parameters: `execute` of a connection of sqlite3."""

PLAIN: Final = tuple(name for name in Draft.__struct_fields__ if name not in {"tags", "images"})
"""The columns of a draft's own row; a list's row goes on with the item's title and its source's type."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = (*PLAIN, "title", "source_type")
_SOURCE_TYPES: dict[str | None, str] = {None: MANUAL, **{kind.value: kind for kind in SourceType}}
_IMAGE_SOURCES = {kind.value: kind for kind in ImageSource}


def filled(run: Run, user_id: str, rows: Sequence[Sequence[Any]]) -> tuple[ListedDraft, ...]:
    """The drafts of a list's rows, with their pictures and tags; StoreDamagedError for values that are none."""
    if not rows:
        return ()
    of_these = (user_id, *(row[0] for row in rows))
    try:
        images = _images(run(_images_of(len(rows)), of_these))
        tags = _tags(run(_tags_of(len(rows)), of_these))
        return tuple(_draft(row, images.get(row[0], ()), tags.get(row[0], ())) for row in rows)
    except (ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(f"The database holds a draft that cannot be read: {error!r}") from error


def queue(run: Run, user_id: str, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Drafts in these states that are not archived, the highest score first: the review queue."""
    states = {f"status{place}": status.value for place, status in enumerate(statuses)}
    rows = run(_queue_of(len(statuses)), {"user": user_id, "limit": limit, **states})
    return filled(run, user_id, list(rows))


def _draft(row: Sequence[Any], images: tuple[DraftImage, ...], tags: tuple[str, ...]) -> ListedDraft:
    values = dict(zip(_COLUMNS, row, strict=True))
    title, kind = values.pop("title"), values.pop("source_type")
    for name, read in _READ:
        value = values[name]
        if value is not None:
            values[name] = read(value)
    about = DraftItem(id=values["item_id"], title=title, source_type=_SOURCE_TYPES[kind])
    return ListedDraft(item=about, images=images, tags=tags, **values)


def _images(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[DraftImage, ...]]:
    found: dict[str, tuple[DraftImage, ...]] = {}
    for draft_id, id, url, alt, position, source in rows:  # noqa: A001 - the field's name
        image = DraftImage(id=id, url=url, alt=alt, position=position, source=_IMAGE_SOURCES[source])
        found[draft_id] = (*found.get(draft_id, ()), image)
    return found


def _tags(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for draft_id, name in rows:
        found[draft_id] = (*found.get(draft_id, ()), name)
    return found


# Below only names of ours stand in the statements. A plus before a column keeps SQLite from looking there first: it
# would read all rows of the user.


@lru_cache
def _images_of(count: int) -> str:
    return f"""SELECT draft_id, id, url, alt, position, source FROM draft_image
        WHERE +user_id = ? AND draft_id IN ({_each(count)}) ORDER BY position"""  # noqa: S608


@lru_cache
def _tags_of(count: int) -> str:
    return f"""SELECT draft_tag.draft_id, tag.name FROM draft_tag JOIN tag ON tag.id = draft_tag.tag_id
        WHERE +draft_tag.user_id = ? AND draft_tag.draft_id IN ({_each(count)}) ORDER BY tag.name"""  # noqa: S608


@lru_cache
def _queue_of(statuses: int) -> str:
    # Of each state its best, for each has its index: with an IN all drafts of these states would be sorted.
    order = "total_score DESC, id DESC LIMIT :limit"
    best = " UNION ALL ".join(
        f"""SELECT id FROM (SELECT id FROM draft
            WHERE user_id = :user AND status = :status{place} AND archived_at IS NULL ORDER BY {order})"""  # noqa: S608
        for place in range(statuses)
    )
    columns = ", ".join(f"draft.{name}" for name in PLAIN)
    return f"""SELECT {columns}, item.title, draft.source_type FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.id IN ({best or "NULL"}) ORDER BY draft.total_score DESC, draft.id DESC LIMIT :limit"""  # noqa: S608


def _each(count: int) -> str:
    return ", ".join("?" * count)


def _reading(hint: Any) -> Callable[[Any], Any] | None:
    """What makes a value of this type out of what the database keeps; None where it is the same."""
    inner = get_args(hint)
    kind = next(each for each in inner if each is not NoneType) if NoneType in inner else hint
    if kind is datetime:
        return _moment
    if get_origin(kind) is tuple or issubclass(kind, msgspec.Struct):
        return msgspec.json.Decoder(kind).decode
    # Asking the enumeration takes ten times as long.
    return {word.value: word for word in kind}.__getitem__ if issubclass(kind, StrEnum) else None


def _moment(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


_HINTS = get_type_hints(Draft)
_READ = [(name, read) for name in PLAIN if (read := _reading(_HINTS[name]))]
