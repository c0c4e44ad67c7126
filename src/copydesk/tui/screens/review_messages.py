"""Messages with data for the review queue.

Each carries the number of the list that it was loaded for: an answer for an earlier list is dropped.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from copydesk.tui.window import RowRequest

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.model.posting import Preview
    from copydesk.model.source import Source
    from copydesk.model.window import DraftSlice
    from copydesk.tui.pages.outgoing import DeliveryInfo
    from copydesk.tui.pages.pictures import ImageView
    from copydesk.tui.queue_reading import LoadedQueue, RefreshedRows


class QueueLoaded(Message, bubble=False):
    """A list was loaded, from the requested position."""

    def __init__(self, list_number: int, result: "LoadedQueue") -> None:
        super().__init__()
        self.list_number = list_number
        """Identifies the list: each tab, filter and search gets a new number."""
        self.result = result


class RowsLoaded(Message, bubble=False):
    """Requested rows of the list were loaded."""

    def __init__(self, list_number: int, request: RowRequest, rows: "DraftSlice") -> None:
        super().__init__()
        self.list_number = list_number
        self.request = request
        self.rows = rows


class TotalCounted(Message, bubble=False):
    """The rows of a filtered list were counted."""

    def __init__(self, list_number: int, total: int) -> None:
        super().__init__()
        self.list_number = list_number
        self.total = total


class RowsRefreshed(Message, bubble=False):
    """The visible rows were loaded again, with the counts and the number of new drafts."""

    def __init__(self, list_number: int, result: "RefreshedRows") -> None:
        super().__init__()
        self.list_number = list_number
        self.result = result


class QueryRejected(Message, bubble=False):
    """The search query is invalid; `reason` is shown to the user."""

    def __init__(self, list_number: int, reason: str) -> None:
        super().__init__()
        self.list_number = list_number
        self.reason = reason


class FilterOptionsLoaded(Message, bubble=False):
    """The sources and tags to filter by were loaded."""

    def __init__(self, sources: "Sequence[Source]", tags: Sequence[str]) -> None:
        super().__init__()
        self.sources = sources
        self.tags = tags


class PreviewLoaded(Message, bubble=False):
    """The previews of a draft and its delivery were loaded."""

    def __init__(self, draft: "ListedDraft", previews: "Sequence[Preview]", delivery: "DeliveryInfo") -> None:
        super().__init__()
        self.draft = draft
        self.previews = previews
        self.delivery = delivery


class ImagesLoaded(Message, bubble=False):
    """The images of a previewed draft were loaded, in their order."""

    def __init__(self, preview: PreviewLoaded, images: "Sequence[ImageView]") -> None:
        super().__init__()
        self.preview = preview
        self.images = images
