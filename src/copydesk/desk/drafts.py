"""Drafts: lists and single ones."""

from copydesk.desk import cursor as cursors
from copydesk.desk.ground import Ground
from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.model.draft import TO_REVIEW, Format, ListedDraft, Status
from copydesk.model.item import Item
from copydesk.model.page import Page
from copydesk.model.source import SourceType
from copydesk.store import drafts, items
from copydesk.store.drafts import Filters


class Drafts:
    """What was written, and what became of it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(
        self,
        *,
        status: Status | None = None,
        format: Format | None = None,
        source_id: str | None = None,
        source_type: SourceType | None = None,
        archived: bool | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[ListedDraft]:
        """A page of the user's drafts, newest first; None is no filter.

        Raises InvalidError for a limit outside 1 to 100 and for a cursor of another list.
        """
        if not 1 <= limit <= 100:
            raise InvalidError(FieldError("limit", "takes 1 to 100"))
        filters = Filters(status=status, format=format, source_id=source_id, source_type=source_type, archived=archived)
        before = cursors.read(cursor, "drafts", filters) if cursor else None
        found = await self._ground.read(drafts.page, filters, limit=limit + 1, before=before)
        shown = found[:limit]
        more = cursors.write(shown[-1].id, "drafts", filters) if len(found) > limit else None
        return Page(items=shown, next_cursor=more)

    async def queue(self, limit: int = 100) -> tuple[ListedDraft, ...]:
        """What waits for review, the best first."""
        return await self._ground.read(drafts.best, TO_REVIEW, limit)

    async def count_to_review(self) -> int:
        """How many wait for review."""
        return await self._ground.read(drafts.count, TO_REVIEW)

    async def get(self, draft_id: str) -> ListedDraft:
        """One draft; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(drafts.one, draft_id)
        if found is None:
            raise NotFoundError(f"There is no draft {draft_id!r}.", hint="`copydesk draft list` shows them all.")
        return found

    async def item(self, item_id: str) -> Item:
        """The source item of a draft; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(items.one, item_id)
        if found is None:
            raise NotFoundError(f"There is no item {item_id!r}.")
        return found
