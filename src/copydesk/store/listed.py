"""A draft as lists show it, out of what the database keeps; without SQLAlchemy, whose own way takes far longer.

The names of the columns are those of the fields, so that a new field of a draft needs nothing here.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from copydesk.errors import StoreDamagedError
from copydesk.model.draft import MANUAL, Draft, DraftImage, DraftItem, ImageSource, ListedDraft
from copydesk.model.source import SourceType

PLAIN: Final = tuple(name for name in Draft.__struct_fields__ if name not in {"tags", "images"})
"""The columns of a draft's own row; a list's row goes on with the item's title and its source's type."""
IMAGE: Final = DraftImage.__struct_fields__

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ITEM_ID = PLAIN.index("item_id")


def listed(
    rows: Sequence[Sequence[Any]],
    images: Mapping[str, tuple[DraftImage, ...]],
    tags: Mapping[str, tuple[str, ...]],
) -> tuple[ListedDraft, ...]:
    """Drafts with their pictures and tags, which are by the draft's id; StoreDamagedError for values that are none."""
    try:
        return tuple(_listed(row, images.get(row[0], ()), tags.get(row[0], ())) for row in rows)
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(f"The database holds a draft that cannot be read: {error}") from error


def _listed(row: Sequence[Any], images: tuple[DraftImage, ...], tags: tuple[str, ...]) -> ListedDraft:
    *plain, title, kind = row
    about = DraftItem(id=plain[_ITEM_ID], title=title, source_type=MANUAL if kind is None else SourceType(kind))
    for place, read in _READ:
        value = plain[place]
        if value is not None:
            plain[place] = read(value)
    return ListedDraft(item=about, images=images, tags=tags, **dict(zip(PLAIN, plain, strict=True)))


def picture(values: Sequence[Any]) -> DraftImage:
    """A picture, out of its columns in the order of IMAGE."""
    named = dict(zip(IMAGE, values, strict=True))
    return DraftImage(**named | {"source": ImageSource(named["source"])})


def _reading(hint: Any) -> Callable[[Any], Any] | None:
    """What makes a value of this type out of what the database keeps; None where it is the same."""
    inner = get_args(hint)
    kind = next(each for each in inner if each is not NoneType) if NoneType in inner else hint
    if kind is datetime:
        return _moment
    if get_origin(kind) is tuple or issubclass(kind, msgspec.Struct):
        return msgspec.json.Decoder(kind).decode
    return kind if issubclass(kind, StrEnum) else None


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


_HINTS = get_type_hints(Draft)
_READ = [(place, read) for place, name in enumerate(PLAIN) if (read := _reading(_HINTS[name]))]
