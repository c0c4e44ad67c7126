"""Stories: the items that tell one event. Merge two that a run kept apart, or split what it merged by mistake.

Runs assign each item once, so a change stays: new items join the stories as they are.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.item import Item, StoryChange
from copydesk.model.token import Scope
from copydesk.store import drafts, items
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id


class Stories:
    """Operations on stories. Every item names its story, so a story is given by any of its items."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def get(self, item_id: str) -> tuple[Item, ...]:
        """Return the items of the story that the item belongs to, oldest first.

        Raise NotFoundError if there is no such item, ConflictError if no run has assigned it to a story yet.
        """
        return await self._ctx.read(_load_story, item_id)

    @needs(Scope.REVIEW)
    @operation
    async def merge(self, item_id: str, other_id: str) -> StoryChange:
        """Merge the stories of two items; return the items that moved. Drafts stay as they are.

        Raise NotFoundError for an unknown item, ConflictError if both tell one story already.
        """
        return await self._ctx.write_durable(_merge, item_id, other_id)

    @needs(Scope.REVIEW)
    @operation
    async def split(self, item_ids: Sequence[str]) -> StoryChange:
        """Make a story of its own from some items of one; return them. The next run may draft the one without a draft.

        Raise NotFoundError for an unknown item, ConflictError if they are of different stories or all of one.
        """
        return await self._ctx.write_durable(_split, item_ids, self._ctx.clock())

    @needs(Scope.REVIEW)
    @operation
    async def undo(self, change: StoryChange) -> StoryChange:
        """Move the items of a change back; return that change. Raise ConflictError if one has moved since."""
        return await self._ctx.write_durable(_undo, change)


def _load_item(conn: Transaction, user_id: str, item_id: str) -> Item:
    item = items.get(conn, user_id, item_id)
    if item is None:
        raise NotFoundError(f"No item {item_id!r}.")
    if not item.source_id:
        raise ConflictError(f"“{item.entry.title}” is yours, not from a source, so it is in no story.")
    if not item.story_id:
        raise ConflictError(f"“{item.entry.title}” is in no story yet.", hint="The next run assigns it to one.")
    return item


def _load_story(conn: Transaction, user_id: str, item_id: str) -> tuple[Item, ...]:
    return items.list_story(conn, user_id, _load_item(conn, user_id, item_id).story_id)


def _merge(conn: Transaction, user_id: str, item_id: str, other_id: str) -> StoryChange:
    story_ids = sorted({_load_item(conn, user_id, merged_id).story_id for merged_id in (item_id, other_id)})
    if len(story_ids) == 1:
        raise ConflictError("Both items already belong to one story.")
    drafted = drafts.find_drafted_stories(conn, user_id, story_ids)
    # The story with a draft stays, because the draft keeps runs from drafting it again.
    remaining, dropped = sorted(story_ids, key=lambda story_id: (story_id not in drafted, story_id))
    return _move(conn, user_id, remaining, items.list_story(conn, user_id, dropped))


def _split(conn: Transaction, user_id: str, item_ids: Sequence[str], now: datetime) -> StoryChange:
    chosen = [_load_item(conn, user_id, item_id) for item_id in dict.fromkeys(item_ids)]
    if len({item.story_id for item in chosen}) != 1:
        raise ConflictError("Choose items of one story.")
    story_id = chosen[0].story_id
    remaining = [item for item in items.list_story(conn, user_id, story_id) if item not in chosen]
    if not remaining:
        raise ConflictError("The story has no other items; nothing to split.")
    change = _move(conn, user_id, new_id(now), chosen)
    drafted = drafts.find_drafted_stories(conn, user_id, [story_id, change.story_id])
    for members_id, members in ((story_id, remaining), (change.story_id, chosen)):
        # Its items are no longer duplicates of what the other story's draft tells.
        if members_id not in drafted:
            items.reopen_duplicates(conn, user_id, [item.id for item in members])
    return change


def _undo(conn: Transaction, user_id: str, change: StoryChange) -> StoryChange:
    moved = [_load_item(conn, user_id, item_id) for item_id in change.moves]
    if any(item.story_id != change.story_id for item in moved):
        raise ConflictError("The story has changed since.")
    for item in moved:
        _move(conn, user_id, change.moves[item.id], [item])
    previous = next(iter(change.moves.values()), change.story_id)
    return StoryChange(story_id=previous, moves=dict.fromkeys(change.moves, change.story_id))


def _move(conn: Transaction, user_id: str, story_id: str, moved: Iterable[Item]) -> StoryChange:
    moves = {item.id: item.story_id for item in moved}
    items.assign_stories(conn, user_id, [(item_id, story_id) for item_id in moves])
    drafts.assign_story(conn, user_id, story_id, list(moves))
    return StoryChange(story_id=story_id, moves=moves)
