"""Which drafts a list holds, and how many there are: the filters of the interface, checked field by field."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypedDict

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import Asked
from copydesk.model.draft import MANUAL, Format, Status
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct

MOST_ON_A_PAGE: Final = 100
MOST_TAGS, LONGEST_TAG, LONGEST_ID = 20, 50, 100


class Archived(StrEnum):
    """What a list does with archived drafts."""

    EXCLUDE = "exclude"
    ONLY = "only"
    INCLUDE = "include"


class Filters(Struct, frozen=True):
    """Which drafts a list holds: those for which every filter that is given holds."""

    status: tuple[Status, ...] = ()
    """In one of these states."""
    format: Format | None = None
    source_id: str | None = None
    source_type: str | None = None
    """A SourceType's, or `manual`: of no source."""
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    scheduled_after: datetime | None = None
    """Scheduled then or later."""
    scheduled_before: datetime | None = None
    """Scheduled before that: windows that follow each other share no draft."""
    archived: Archived = Archived.INCLUDE


_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Filters)}


class Counts(Struct, frozen=True):
    """How many drafts there are."""

    by_status: dict[Status, int]
    """Of those that are not archived; every state is in it."""
    archived: int
    """In whatever state."""

    def among(self, statuses: Iterable[Status]) -> int:
        """How many are in one of these states and not archived."""
        return sum(self.by_status[status] for status in statuses)


class Narrowing(TypedDict, total=False):
    """The filters as they are asked for, by their names in Python: `list(status="approved", tags=["sea"])`.

    Words are as good as the enumerations' values; one status or tag stands for itself, and a text of tags is read as
    on the wire, separated by commas. None is no filter.
    """

    status: str | Sequence[str] | None
    format: str | None
    source_id: str | None
    source_type: str | None
    tags: str | Sequence[str] | None
    scheduled_after: datetime | str | None
    scheduled_before: datetime | str | None
    archived: str | None


def checked_filters(narrowed: Narrowing) -> Filters:
    """The filters that are asked for; InvalidError that names every field that breaks a rule."""
    if not narrowed:
        return Filters()
    asked = Asked(Filters, _on_the_wire(narrowed))
    found = {
        "status": _statuses(asked, narrowed.get("status")),
        "format": asked.choice("format", Format),
        "source_id": asked.text("sourceId", LONGEST_ID),
        "source_type": _source_type(asked, narrowed.get("source_type")),
        "tags": asked.texts("tags", MOST_TAGS, LONGEST_TAG),
        "scheduled_after": _moment(asked, "scheduledAfter", narrowed.get("scheduled_after")),
        "scheduled_before": _moment(asked, "scheduledBefore", narrowed.get("scheduled_before")),
        "archived": asked.choice("archived", Archived) or Archived.INCLUDE,
    }
    asked.refuse()
    return msgspec.structs.replace(Filters(), **found)


def checked_limit(limit: object, most: int = MOST_ON_A_PAGE) -> int:
    """How many drafts a page holds; InvalidError outside 1 to `most`."""
    if type(limit) is int and 1 <= limit <= most:
        return limit
    raise InvalidError(FieldError("limit", f"takes 1 to {most}"))


def _on_the_wire(narrowed: Mapping[str, object]) -> dict[str, object]:
    """What is asked for by the interface's names."""
    given = {_NAMES.get(name, name): value for name, value in narrowed.items()}
    if isinstance(tags := given.get("tags"), str):
        given["tags"] = [part for part in tags.split(",") if part.strip()]
    return given


def _statuses(asked: Asked, value: object) -> tuple[Status, ...]:
    if isinstance(value, str):
        one = asked.choice("status", Status)
        return (one,) if one else ()
    return asked.choices("status", Status, len(Status)) if value else ()


def _source_type(asked: Asked, value: object) -> str | None:
    return MANUAL if value == MANUAL else asked.choice("sourceType", SourceType)


def _moment(asked: Asked, name: str, value: object) -> datetime | None:
    """A time with its offset, in UTC; here one in the past is as good as any."""
    if value is None:
        return None
    try:
        found = msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        asked.problem(name, "takes a time like 2026-11-20T15:04:05Z")
        return None
    if found.utcoffset() is None:
        asked.problem(name, "takes a time with its offset, such as Z or +01:00")
        return None
    try:
        return found.astimezone(UTC)
    except OverflowError:
        asked.problem(name, "is at an end of the calendar")
        return None
