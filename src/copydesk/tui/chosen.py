"""The drafts that an action applies to: the one under the cursor, or all marked ones."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft


class ResolvedDrafts(NamedTuple):
    """The ids of several drafts."""

    ids: Sequence[str]
    skipped: int = 0
    """Number of drafts excluded because they arrived after the list was loaded: the user has not seen them."""


class Selection(NamedTuple):
    """One draft, or several whose ids are determined when the action runs."""

    draft: "ListedDraft | None"
    """The single draft; None for several."""
    number: int = 1
    resolve: "Callable[[Desk], Awaitable[ResolvedDrafts]] | None" = None
    """Returns the ids of several drafts."""
    on_start: Callable[[], None] = lambda: None
    """Called when the action on several drafts starts: later marks belong to the next action."""
    on_finish: Callable[[Sequence[str] | None], None] = lambda _: None
    """Called at the end with the ids that nothing was done to; None if nothing was done to any of them."""


def select_draft(draft: "ListedDraft") -> Selection:
    """Select the draft under the cursor."""
    return Selection(draft)


def select_ids(ids: Sequence[str]) -> Selection:
    """Select drafts by id."""

    async def resolve(_: "Desk") -> ResolvedDrafts:
        return ResolvedDrafts(ids)

    return Selection(None, len(ids), resolve)
