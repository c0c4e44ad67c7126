"""Drafts: lists and single ones."""

from datetime import UTC, datetime
from typing import Unpack

from copydesk.desk import cursor as cursors
from copydesk.desk.creating import Creating
from copydesk.desk.ground import Ground
from copydesk.desk.history import History
from copydesk.desk.review import Review
from copydesk.desk.undoing import Undoing
from copydesk.desk.versions import Versions
from copydesk.desk.viewing import Viewing
from copydesk.desk.windows import Windows
from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.model.filters import Counts, Narrowing, checked_filters, checked_limit
from copydesk.model.item import Item
from copydesk.model.page import Page
from copydesk.model.query import query_of
from copydesk.store import changes, counts, items, lists, schedule, search


class Drafts(Creating, Review, Undoing, History, Versions, Viewing, Windows):
    """What was written, and what became of it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(
        self, *, limit: int = 25, cursor: str | None = None, **narrowed: Unpack[Narrowing]
    ) -> Page[ListedDraft]:
        """A page of the user's drafts, newest first.

        Raises InvalidError that names every filter that breaks a rule, a limit outside 1 to 100, and a cursor of
        another list.
        """
        filters, limit = checked_filters(narrowed), checked_limit(limit)
        listed = ("drafts", self._ground.user_id, filters)
        before = cursors.read(cursor, *listed) if cursor is not None else None
        shown, more = await self._ground.read(lists.page, filters, limit=limit, before=before)
        return Page(items=shown, next_cursor=cursors.write(shown[-1].id, *listed) if more else None)

    async def search(
        self,
        query: str,
        *,
        half_typed: bool = False,
        limit: int = 25,
        cursor: str | None = None,
        **narrowed: Unpack[Narrowing],
    ) -> Page[ListedDraft]:
        """A page of the drafts that have the words of `query` in their text, item's title, tags or source's name.

        Newest first. How a query is written: `copydesk.model.query`; of one that is `half_typed` the last word may go
        on. Raises InvalidError for a query without a word, and as `list` does.
        """
        asked, filters, limit = query_of(query, half_typed=half_typed), checked_filters(narrowed), checked_limit(limit)
        listed = ("search", self._ground.user_id, asked, filters)
        before = cursors.read(cursor, *listed) if cursor is not None else None
        # One more is asked for than is shown, to know whether there is a next page.
        found = await self._ground.read(search.find, asked, filters, limit=limit + 1, before=before)
        more = cursors.write(found[limit - 1].place, *listed) if len(found) > limit else None
        return Page(items=tuple(hit.draft for hit in found[:limit]), next_cursor=more)

    async def time(self, text: str, *, field: str) -> datetime:
        """A time of a filter, on the clock of the user's zone: ISO, a day alone, or as people write what is ahead.

        A day alone is its beginning. InvalidError (`field`) for what is no such time.
        """
        from copydesk.scheduling.times import time_read  # noqa: PLC0415 - only the command line asks
        from copydesk.scheduling.zones import instant_of_wall  # noqa: PLC0415

        zone = await self._ground.read(schedule.zone)
        try:
            given = datetime.fromisoformat(text.strip())
        except ValueError:
            return time_read(text, zone, self._ground.clock(), field=field).at
        try:
            return instant_of_wall(given, zone) if given.tzinfo is None else given.astimezone(UTC)
        except OverflowError:
            raise InvalidError(FieldError(field, "is at an end of the calendar")) from None

    async def queue(self, limit: int = 100) -> tuple[ListedDraft, ...]:
        """What waits for review, the best first."""
        return await self._ground.read(lists.best, TO_REVIEW, limit)

    async def count_to_review(self) -> int:
        """How many wait for review."""
        return (await self.counts()).among(TO_REVIEW)

    async def counts(self) -> Counts:
        """How many drafts are in each state, and how many are archived."""
        return await self._ground.read(counts.by_status)

    async def get(self, draft_id: str) -> ListedDraft:
        """One draft; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(lists.one, draft_id)
        if found is None:
            raise changes.no_draft(draft_id)
        return found

    async def item(self, item_id: str) -> Item:
        """The source item of a draft; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(items.one, item_id)
        if found is None:
            raise NotFoundError(f"There is no item {item_id!r}.")
        return found
