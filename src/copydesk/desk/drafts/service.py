"""Drafts: lists, search, single drafts and their event history. Changes come from the base classes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Unpack

from copydesk.desk import cursor as cursors
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.create import DraftCreation
from copydesk.desk.drafts.history_text import DraftHistory, describe_event, lineage
from copydesk.desk.drafts.queue_windows import Windows
from copydesk.desk.drafts.review import Review
from copydesk.desk.drafts.undo import UndoRedo
from copydesk.desk.drafts.versions import Versions
from copydesk.desk.images.thumbnails import Thumbnails
from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import TO_REVIEW, Action, ListedDraft
from copydesk.model.filters import DraftCounts, FilterParams, validate_filters, validate_limit
from copydesk.model.history import DraftEvent
from copydesk.model.item import Item
from copydesk.model.page import Page
from copydesk.model.search_query import parse_query
from copydesk.store import draft_events, draft_queries, draft_updates, drafts, items, schedule, search
from copydesk.store.transaction import Transaction


class EventQueries:
    """Event queries of `Drafts`."""

    _ctx: DeskContext

    async def history(self, draft_id: str) -> tuple[DraftEvent, ...]:
        """Return every event of a draft in order. Raise NotFoundError if the user has none with this id."""
        return await self._ctx.read(_load_history, draft_id)

    async def rejection_reasons(self, limit: int = 9) -> tuple[str, ...]:
        """Return the distinct feedback texts of the latest rejections, newest first, at most `limit`."""
        return await self._ctx.read(draft_events.list_feedback, Action.REJECT.value, limit)


def _load_history(conn: Transaction, user_id: str, draft_id: str) -> tuple[DraftEvent, ...]:
    # Raises NotFoundError; a draft without events would look the same as none.
    draft_updates.load_snapshot(conn, user_id, draft_id)
    rows = draft_events.list_by_draft(conn, user_id, draft_id)
    versions, undone_rids = {event.rid: event.version for event in rows}, draft_events.reverted_rids(rows)
    return tuple(
        DraftEvent(
            draft_id=draft_id,
            version=event.version,
            at=event.at,
            who=event.who,
            kind=event.kind,
            action=event.action,
            before=_decode_columns(event.before),
            after=_decode_columns(event.after),
            feedback=event.feedback,
            bulk_id=event.bulk_id,
            of_version=versions[event.of_rid] if event.of_rid is not None else None,
            undone=event.rid in undone_rids,
        )
        for event in rows
    )


def _decode_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: draft_updates.from_column_value(name, raw) for name, raw in columns.items()}


class Drafts(DraftCreation, Review, UndoRedo, EventQueries, Versions, Thumbnails, Windows):
    """The drafts of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    async def list(
        self, *, limit: int = 25, cursor: str | None = None, **params: Unpack[FilterParams]
    ) -> Page[ListedDraft]:
        """Return a page of drafts, newest first.

        Raise InvalidError that names every invalid filter, for a limit outside 1 to 100, and for a cursor of another
        list.
        """
        filters, limit = validate_filters(params, SOURCE_TYPES), validate_limit(limit)
        scope = ("drafts", self._ctx.user_id, filters)
        before = cursors.decode(cursor, *scope) if cursor is not None else None
        rows, more = await self._ctx.read(draft_queries.list_page, filters, limit=limit, before=before)
        return Page(items=rows, next_cursor=cursors.encode(rows[-1].id, *scope) if more else None)

    async def search(
        self,
        query: str,
        *,
        half_typed: bool = False,
        limit: int = 25,
        cursor: str | None = None,
        **params: Unpack[FilterParams],
    ) -> Page[ListedDraft]:
        """Return a page of drafts with the words of `query` in text, item title, tags or source name, newest first.

        The query syntax is described in `copydesk.model.search_query`; with `half_typed` the last word may be a prefix.
        Raise InvalidError for a query without a word, and as `list` does.
        """
        parsed, filters, limit = (
            parse_query(query, incomplete=half_typed),
            validate_filters(params, SOURCE_TYPES),
            validate_limit(limit),
        )
        scope = ("search", self._ctx.user_id, parsed, filters)
        before = cursors.decode(cursor, *scope) if cursor is not None else None
        # One more row than the page holds tells whether there is a next page.
        hits = await self._ctx.read(search.find, parsed, filters, limit=limit + 1, before=before)
        next_cursor = cursors.encode(hits[limit - 1].position, *scope) if len(hits) > limit else None
        return Page(items=tuple(hit.draft for hit in hits[:limit]), next_cursor=next_cursor)

    async def describe_history(self, draft_id: str, status_labels: Mapping[str, str] | None = None) -> DraftHistory:
        """Return the history of a draft in words, with statuses labelled as in `status_labels`. Raise NotFoundError."""
        from copydesk.scheduling.time_text import format_time  # noqa: PLC0415 - not for the console's first rows

        versions = await self.list_versions(draft_id)
        events = [event for version_id in lineage(versions, draft_id) for event in await self.history(version_id)]
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        lines = [describe_event(event, lambda at: format_time(at, zone, now), status_labels or {}) for event in events]
        return DraftHistory(versions=versions, events=tuple(events), lines=tuple(lines))

    async def parse_time(self, text: str, *, field: str) -> datetime:
        """Parse a time for a filter, in the user's time zone: ISO 8601, a date, or a phrase such as "fri 9".

        A date alone is its start. Raise InvalidError naming `field` for anything else.
        """
        from copydesk.scheduling.time_text import parse_time  # noqa: PLC0415 - only the command line needs it
        from copydesk.scheduling.wall_time import instant_of_wall  # noqa: PLC0415

        zone = await self._ctx.read(schedule.get_time_zone)
        try:
            parsed = datetime.fromisoformat(text.strip())
        except ValueError:
            # Not ISO 8601: parse it as a phrase.
            return parse_time(text, zone, self._ctx.clock(), field=field).at
        try:
            return instant_of_wall(parsed, zone) if parsed.tzinfo is None else parsed.astimezone(UTC)
        except OverflowError:
            raise InvalidError(FieldError(field, "is outside the supported date range")) from None

    async def queue(self, limit: int = 100) -> tuple[ListedDraft, ...]:
        """Return the drafts waiting for review, best first."""
        return await self._ctx.read(draft_queries.list_best, TO_REVIEW, limit)

    async def count_to_review(self) -> int:
        """Return the number of drafts waiting for review."""
        return (await self.counts()).total_in(TO_REVIEW)

    async def counts(self) -> DraftCounts:
        """Return the number of drafts in each status, and of archived ones."""
        return await self._ctx.read(drafts.count_by_status)

    async def get(self, draft_id: str) -> ListedDraft:
        """Return one draft. Raise NotFoundError if the user has none with this id."""
        draft = await self._ctx.read(draft_queries.get, draft_id)
        if draft is None:
            raise draft_updates.draft_not_found(draft_id)
        return draft

    async def item(self, item_id: str) -> Item:
        """Return the source item of a draft. Raise NotFoundError if the user has none with this id."""
        item = await self._ctx.read(items.get, item_id)
        if item is None:
            raise NotFoundError(f"No item {item_id!r}.")
        return item
