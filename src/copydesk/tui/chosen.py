"""The drafts that an action applies to: the one under the cursor, or all marked ones."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft


class Those(NamedTuple):
    """The ids of several drafts."""

    ids: Sequence[str]
    left: int = 0
    """Number of drafts excluded because they arrived after the list was loaded: the user has not seen them."""


class Chosen(NamedTuple):
    """One draft, or several whose ids are determined when the action runs."""

    draft: "ListedDraft | None"
    """The single draft; None for several."""
    number: int = 1
    find: "Callable[[Desk], Awaitable[Those]] | None" = None
    """Returns the ids of several drafts."""
    begin: Callable[[], None] = lambda: None
    """Called when the action on several drafts starts: later marks belong to the next action."""
    keep: Callable[[Sequence[str] | None], None] = lambda _: None
    """Called at the end with the ids that nothing was done to; None if nothing was done to any of them."""


def one(draft: "ListedDraft") -> Chosen:
    """Select the draft under the cursor."""
    return Chosen(draft)


def these(ids: Sequence[str]) -> Chosen:
    """Select drafts by id."""

    async def resolve(_: "Desk") -> Those:
        return Those(ids)

    return Chosen(None, len(ids), resolve)
