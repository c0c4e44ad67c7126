"""What the desk said to the review's queue. Each names its list: what was said of another one comes too late."""

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
    """The list from where it was asked for."""

    def __init__(self, number: int, found: "Found") -> None:
        super().__init__()
        self.number = number
        """Which list it is: each tab, filter and search is another one."""
        self.found = found


class RowsRead(Message, bubble=False):
    """Rows that were wanted."""

    def __init__(self, number: int, wish: Wish, read: "Slice") -> None:
        super().__init__()
        self.number = number
        self.wish = wish
        self.read = read


class TotalRead(Message, bubble=False):
    """How many rows a filter shows."""

    def __init__(self, number: int, total: int) -> None:
        super().__init__()
        self.number = number
        self.total = total


class LookedAgain(Message, bubble=False):
    """The rows on the screen as they are now, and what there is beside them."""

    def __init__(self, number: int, looked: "Looked") -> None:
        super().__init__()
        self.number = number
        self.looked = looked


class QueryWrong(Message, bubble=False):
    """What is looked for cannot be looked for."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__()
        self.number = number
        self.why = why


class OptionsRead(Message, bubble=False):
    """What the queue can be filtered by."""

    def __init__(self, sources: "Sequence[Source]", tags: Sequence[str]) -> None:
        super().__init__()
        self.sources = sources
        self.tags = tags


class PreviewRead(Message, bubble=False):
    """How a draft will be live, platform by platform, and when it goes out or where it went."""

    def __init__(self, draft: "ListedDraft", previews: "Sequence[Preview]", outgoing: "Outgoing") -> None:
        super().__init__()
        self.draft = draft
        self.previews = previews
        self.outgoing = outgoing


class PicturesRead(Message, bubble=False):
    """The pictures of a draft that was previewed, in their order."""

    def __init__(self, of: PreviewRead, pictures: "Sequence[Pictured]") -> None:
        super().__init__()
        self.of = of
        self.pictures = pictures
