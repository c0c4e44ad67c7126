"""What an action is for: the draft under the cursor, or all that are marked."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft


class Those(NamedTuple):
    """Many drafts."""

    ids: Sequence[str]
    left: int = 0
    """How many came among them since the list was read: nobody has seen these."""


class Chosen(NamedTuple):
    """One draft, or many that are found when the action is carried out."""

    draft: "ListedDraft | None"
    """The one; None where there are many."""
    number: int = 1
    find: "Callable[[Desk], Awaitable[Those]] | None" = None
    """Gives the many."""
    begin: Callable[[], None] = lambda: None
    """Hears that the many are acted on: what is chosen from now on is for the next action."""
    keep: Callable[[Sequence[str] | None], None] = lambda _: None
    """Hears of those of the many to which nothing was done, when all is done; None where that is all of them."""


def one(draft: "ListedDraft") -> Chosen:
    """The draft under the cursor."""
    return Chosen(draft)


def these(ids: Sequence[str]) -> Chosen:
    """Drafts whose ids are known."""

    async def known(_: "Desk") -> Those:
        return Those(ids)

    return Chosen(None, len(ids), known)
