"""What the console's parts tell each other. Workers touch no widget: they post one of these to whoever owns it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from copydesk.errors import CopydeskError

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.model.item import Item
    from copydesk.tui.deciding.outcomes import Outcome
    from copydesk.tui.run_view import RunView


class DeskOpened(Message, bubble=False):
    """The desk can be asked from now on."""


class Glanced(Message, bubble=False):
    """What waits for review, before the desk is open. `shown` is to be called when it is on the screen."""

    def __init__(self, drafts: "Sequence[ListedDraft]", shown: Callable[[], None]) -> None:
        super().__init__()
        self.drafts = drafts
        self.shown = shown


class DeskClosed(Message, bubble=False):
    """The desk could not be opened; the error says why."""

    def __init__(self, error: CopydeskError) -> None:
        super().__init__()
        self.error = error


class DeskChanged(Message, bubble=False):
    """Something was written to the desk's database: by another process, by a job, or from here."""

    def can_replace(self, message: Message) -> bool:
        """One of them is as good as many."""
        return isinstance(message, DeskChanged)


class JobDone(Message, bubble=False):
    """Something was done without having been asked; there may be more drafts now, or other ones."""


class RunChanged(Message, bubble=False):
    """The run got on, or ended."""

    def __init__(self, view: "RunView") -> None:
        super().__init__()
        self.view = view

    def can_replace(self, message: Message) -> bool:
        """Only the last word counts; the end is never left out."""
        return isinstance(message, RunChanged) and message.view.under_way and message.view.run_id == self.view.run_id


class ItemRead(Message, bubble=False):
    """A draft's source item."""

    def __init__(self, item: "Item") -> None:
        super().__init__()
        self.item = item


class Worked(Message, bubble=False):
    """How far something is that takes a while; no words where it is over."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words


class Decided(Message, bubble=False):
    """What became of what was decided, or of what was taken back."""

    def __init__(
        self,
        outcome: "Outcome",
        statuses: "Mapping[str, Status] | None" = None,
        *,
        many: bool = False,
        shown: "Status | None" = None,
        then: Callable[[Sequence[str]], object] | None = None,
        keep: Callable[[Sequence[str] | None], None] | None = None,
    ) -> None:
        super().__init__()
        self.outcome = outcome
        self.statuses = statuses or {}
        """The states of the drafts by their ids, where they are known."""
        self.shown = shown
        """What the row of a single draft says already."""
        self.many = many
        self.then = then
        """Hears of the drafts that it was done to."""
        self.keep = keep
        """Hears of those of many to which it was not."""
