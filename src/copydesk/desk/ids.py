"""Short ids: find the whole id for an end of it, and shorten ids for a list."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import STATUS_LABELS, Status
from copydesk.model.ids import MIN_END_LENGTH, IdKind, IdMatch, parse_end, short_id_length
from copydesk.store import id_ends
from copydesk.store.database import Transaction
from copydesk.text import clean

MAX_CANDIDATES = 5
"""Ids that are named if an end is that of several."""
TEXT_LENGTH = 40
"""Characters of a text that are shown to recognize it by."""


class Ids:
    """The ids of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def resolve(self, kind: IdKind, ends: Sequence[str]) -> tuple[str, ...]:
        """Return the whole ids for `ends`, which are at least the last four characters of each.

        What is a whole id already, or the end of none, is returned as it is: the operation that takes it tells that
        there is none. Raise InvalidError that lists the candidates if several ids end like this.
        """
        return await self._ctx.read(_resolve, kind, ends)

    @operation
    async def shorten(self, kind: IdKind, ids: Sequence[str]) -> dict[str, str]:
        """Return for each of `ids` the end that `resolve` takes for it, as short as unique and all of one length.

        What is no id of this kind on this desk stays as it is.
        """
        return await self._ctx.read(shorten_ids, kind, ids)

    @operation
    async def list_newest(self, kind: IdKind, limit: Annotated[int, Meta(ge=1, le=100)] = 25) -> tuple[IdMatch, ...]:
        """Return the newest ids with what they are recognized by."""
        return await self._ctx.read(_list_newest, kind, limit)


def _resolve(conn: Transaction, user_id: str, kind: IdKind, ends: Sequence[str]) -> tuple[str, ...]:
    return tuple(resolve_end(conn, user_id, kind, end) for end in ends)


def resolve_end(conn: Transaction, user_id: str, kind: IdKind, text: str) -> str:
    """Return the whole id that ends with `text`, or `text` if there is none or it is one. Raise as `Ids.resolve`."""
    end = parse_end(text)
    if end is None:
        return text
    if len(end) < MIN_END_LENGTH:
        raise InvalidError(
            FieldError("id", f"“{end}” is too short. Pass at least the last {MIN_END_LENGTH} characters")
        )
    found = id_ends.list_ending_with(conn, user_id, kind, end, MAX_CANDIDATES + 1)
    if len(found) > 1:
        raise _ambiguous(end, kind, _to_matches(conn, user_id, kind, found))
    return found[0].id if found else text


def _ambiguous(end: str, kind: IdKind, matches: Sequence[IdMatch]) -> InvalidError:
    candidates = "; ".join(f"{match.short_id} ({match.status}) {match.text}" for match in matches[:MAX_CANDIDATES])
    more = "; and more" if len(matches) > MAX_CANDIDATES else ""
    return InvalidError(FieldError("id", f"“{end}” is the end of several {kind} ids: {candidates}{more}"))


def shorten_ids(conn: Transaction, user_id: str, kind: IdKind, ids: Sequence[str]) -> dict[str, str]:
    """Return what `Ids.shorten` does."""
    similar = id_ends.list_similar(conn, user_id, kind, ids)
    known = set(ids).intersection(similar)
    length = short_id_length(known, similar)
    return {whole_id: whole_id[-length:] if whole_id in known else whole_id for whole_id in ids}


def shorten_id(conn: Transaction, user_id: str, kind: IdKind, whole_id: str) -> str:
    """Return what `Ids.shorten` does for one id."""
    return shorten_ids(conn, user_id, kind, [whole_id])[whole_id]


def _list_newest(conn: Transaction, user_id: str, kind: IdKind, limit: int) -> tuple[IdMatch, ...]:
    return _to_matches(conn, user_id, kind, id_ends.list_newest(conn, user_id, kind, limit))


def _to_matches(conn: Transaction, user_id: str, kind: IdKind, found: Sequence[id_ends.FoundId]) -> tuple[IdMatch, ...]:
    short_ids = shorten_ids(conn, user_id, kind, [row.id for row in found])
    return tuple(
        IdMatch(id=row.id, short_id=short_ids[row.id], status=_label(kind, row.status), text=_excerpt(row.text))
        for row in found
    )


def _label(kind: IdKind, status: str) -> str:
    return STATUS_LABELS[Status(status)] if kind is IdKind.DRAFT else status.replace("_", " ")


def _excerpt(text: str) -> str:
    """Return the first words of a text."""
    line = clean(text.strip())
    return line if len(line) <= TEXT_LENGTH else f"{line[:TEXT_LENGTH].rsplit(' ', 1)[0]}…"
