"""Filters of draft lists, their validation, and the counts of drafts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypedDict

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import FieldReader
from copydesk.model.draft import MANUAL, Format, Status
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct

MAX_PAGE_SIZE: Final = 100
MAX_TAGS, MAX_TAG_LENGTH, MAX_ID_LENGTH = 20, 50, 100


class Archived(StrEnum):
    """Treatment of archived drafts in a list."""

    EXCLUDE = "exclude"
    ONLY = "only"
    INCLUDE = "include"


class Filters(Struct, frozen=True):
    """Filters of a draft list; all that are given must match."""

    status: tuple[Status, ...] = ()
    """In one of these states."""
    format: Format | None = None
    source_id: str | None = None
    source_type: str | None = None
    """A SourceType's value, or `manual` for drafts without a source."""
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    scheduled_after: datetime | None = None
    """Inclusive."""
    scheduled_before: datetime | None = None
    """Exclusive, so that adjacent windows share no draft."""
    archived: Archived = Archived.INCLUDE


_WIRE_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Filters)}


class DraftCounts(Struct, frozen=True):
    """Numbers of drafts."""

    by_status: dict[Status, int]
    """Drafts that are not archived; contains every status."""
    archived: int
    """In any status."""

    def total_in(self, statuses: Iterable[Status]) -> int:
        """Return the number of drafts in these states that are not archived."""
        return sum(self.by_status[status] for status in statuses)


class FilterParams(TypedDict, total=False):
    """Filters as keyword arguments, by their Python names: `list(status="approved", tags=["sea"])`.

    Strings are accepted for enumerations. A single status or tag needs no sequence; a string of tags is split at
    commas, as on the wire. None is no filter.
    """

    status: str | Sequence[str] | None
    format: str | None
    source_id: str | None
    source_type: str | None
    tags: str | Sequence[str] | None
    scheduled_after: datetime | str | None
    scheduled_before: datetime | str | None
    archived: str | None


def validate_filters(params: FilterParams) -> Filters:
    """Return the validated filters. Raise InvalidError with every invalid field."""
    if not params:
        return Filters()
    reader = FieldReader(Filters, _wire_fields(params))
    values = {
        "status": _statuses(reader, params.get("status")),
        "format": reader.choice("format", Format),
        "source_id": reader.text("sourceId", MAX_ID_LENGTH),
        "source_type": _source_type(reader, params.get("source_type")),
        "tags": reader.texts("tags", MAX_TAGS, MAX_TAG_LENGTH),
        "scheduled_after": _time(reader, "scheduledAfter", params.get("scheduled_after")),
        "scheduled_before": _time(reader, "scheduledBefore", params.get("scheduled_before")),
        "archived": reader.choice("archived", Archived) or Archived.INCLUDE,
    }
    reader.raise_if_invalid()
    return msgspec.structs.replace(Filters(), **values)


def validate_limit(limit: object, maximum: int = MAX_PAGE_SIZE) -> int:
    """Return the page size. Raise InvalidError outside 1 to `maximum`."""
    # Not isinstance: True is an int.
    if type(limit) is int and 1 <= limit <= maximum:
        return limit
    raise InvalidError(FieldError("limit", f"takes 1 to {maximum}"))


def _wire_fields(narrowed: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters by their names on the wire, under which `FieldReader` reads and reports them."""
    fields = {_WIRE_NAMES.get(name, name): value for name, value in narrowed.items()}
    if isinstance(tags := fields.get("tags"), str):
        fields["tags"] = [tag for tag in tags.split(",") if tag.strip()]
    return fields


def _statuses(reader: FieldReader, value: object) -> tuple[Status, ...]:
    if isinstance(value, str):
        status = reader.choice("status", Status)
        return (status,) if status else ()
    return reader.choices("status", Status, len(Status)) if value else ()


def _source_type(reader: FieldReader, value: object) -> str | None:
    return MANUAL if value == MANUAL else reader.choice("sourceType", SourceType)


def _time(reader: FieldReader, name: str, value: object) -> datetime | None:
    """Return a time in UTC, or None. Unlike in scheduling, past times are allowed."""
    if value is None:
        return None
    try:
        time = msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        reader.add_problem(name, "takes a time like 2026-11-20T15:04:05Z")
        return None
    if time.utcoffset() is None:
        reader.add_problem(name, "takes a time with its offset, such as Z or +01:00")
        return None
    try:
        return time.astimezone(UTC)
    # The first and last hours of the calendar may have no equivalent in UTC.
    except OverflowError:
        reader.add_problem(name, "is at an end of the calendar")
        return None
