"""Messages with data for the review queue.

Each carries the number of the list that it was loaded for: an answer for an earlier list is dropped.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from copydesk.tui.window import Wish

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.model.posting import Preview
    from copydesk.model.source import Source
    from copydesk.model.window import Slice
    from copydesk.tui.pages.outgoing import Outgoing
    from copydesk.tui.pages.pictures import Pictured
    from copydesk.tui.queue_reading import Found, Looked


class QueueRead(Message, bubble=False):
    """A list was loaded, from the requested position."""

    def __init__(self, number: int, found: "Found") -> None:
        super().__init__()
        self.number = number
        """Identifies the list: each tab, filter and search gets a new number."""
        self.found = found


class RowsRead(Message, bubble=False):
    """Requested rows of the list were loaded."""

    def __init__(self, number: int, wish: Wish, read: "Slice") -> None:
        super().__init__()
        self.number = number
        self.wish = wish
        self.read = read


class TotalRead(Message, bubble=False):
    """The rows of a filtered list were counted."""

    def __init__(self, number: int, total: int) -> None:
        super().__init__()
        self.number = number
        self.total = total


class LookedAgain(Message, bubble=False):
    """The visible rows were loaded again, with the counts and the number of new drafts."""

    def __init__(self, number: int, looked: "Looked") -> None:
        super().__init__()
        self.number = number
        self.looked = looked


class QueryWrong(Message, bubble=False):
    """The search query is invalid; `reason` is shown to the user."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__()
        self.number = number
        self.why = why


class OptionsRead(Message, bubble=False):
    """The sources and tags to filter by were loaded."""

    def __init__(self, sources: "Sequence[Source]", tags: Sequence[str]) -> None:
        super().__init__()
        self.sources = sources
        self.tags = tags


class PreviewRead(Message, bubble=False):
    """The previews of a draft and its delivery were loaded."""

    def __init__(self, draft: "ListedDraft", previews: "Sequence[Preview]", outgoing: "Outgoing") -> None:
        super().__init__()
        self.draft = draft
        self.previews = previews
        self.outgoing = outgoing


class PicturesRead(Message, bubble=False):
    """The images of a previewed draft were loaded, in their order."""

    def __init__(self, of: PreviewRead, pictures: "Sequence[Pictured]") -> None:
        super().__init__()
        self.of = of
        self.pictures = pictures
