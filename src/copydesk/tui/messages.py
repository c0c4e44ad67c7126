"""Messages between the console's parts. Background tasks touch no widgets: they post one of these to the owner."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from copydesk.errors import CopydeskError

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.runtime.pipeline_run import RunView


class DeskOpened(Message, bubble=False):
    """The desk is open and can be called."""


class FirstPageLoaded(Message, bubble=False):
    """The first drafts awaiting review, before the desk is open. Call `on_displayed` once they are on screen."""

    def __init__(self, drafts: "Sequence[ListedDraft]", on_displayed: Callable[[], None]) -> None:
        super().__init__()
        self.drafts = drafts
        self.on_displayed = on_displayed


class DeskClosed(Message, bubble=False):
    """The desk could not be opened, or was closed, because of `error`."""

    def __init__(self, error: CopydeskError) -> None:
        super().__init__()
        self.error = error


class DeskChanged(Message, bubble=False):
    """Something was written to the desk's database: by another process, by a job or by this console."""

    def can_replace(self, message: Message) -> bool:
        """Coalesce: one of these is as good as many."""
        return isinstance(message, DeskChanged)


class JobFinished(Message, bubble=False):
    """A background job finished; there may be new or changed drafts."""


class RunChanged(Message, bubble=False):
    """The pipeline run made progress or finished."""

    def __init__(self, view: "RunView") -> None:
        super().__init__()
        self.view = view

    def can_replace(self, message: Message) -> bool:
        """Replace only older progress of the same run; its end is always delivered."""
        return isinstance(message, RunChanged) and message.view.is_active and message.view.run_id == self.view.run_id


class WorkStatusChanged(Message, bubble=False):
    """Progress of a longer operation; an empty text when it is over."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
