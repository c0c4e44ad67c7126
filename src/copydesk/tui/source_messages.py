"""Messages from background tasks to the Sources screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from copydesk.desk.feed_import import TriedFeed
    from copydesk.desk.opml import Outline
    from copydesk.desk.overviews import RecentItem, SourceOverview
    from copydesk.desk.sources import FetchTest, Tried
    from copydesk.model.run import Run, RunStatistics
    from copydesk.model.source import Source
    from copydesk.tui.source_entry import Place


class SourcesRead(Message, bubble=False):
    """The current sources and runs."""

    def __init__(self, sources: "Sequence[SourceOverview]", runs: "Sequence[Run]", statistics: "RunStatistics") -> None:
        super().__init__()
        self.sources = sources
        self.runs = runs
        self.statistics = statistics


class Brought(Message, bubble=False):
    """The most recent items of a source."""

    def __init__(self, source_id: str, items: "Sequence[RecentItem]") -> None:
        super().__init__()
        self.source_id = source_id
        self.items = items


class SourceTested(Message, bubble=False):
    """The result of a test fetch of an existing source."""

    def __init__(self, result: "FetchTest") -> None:
        super().__init__()
        self.result = result


class PlaceTried(Message, bubble=False):
    """The result of a test fetch of a location that may become a source."""

    def __init__(self, place: "Place", result: "Tried") -> None:
        super().__init__()
        self.place = place
        self.result = result


class SourceRefused(Message, bubble=False):
    """The source was not saved, or cannot be one; `reason` is for the user."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class SourceSaved(Message, bubble=False):
    def __init__(self, source: "Source") -> None:
        super().__init__()
        self.source = source


class FeedsRead(Message, bubble=False):
    """The feeds of an OPML file, before any of them is tested."""

    def __init__(self, feeds: "Sequence[Outline]") -> None:
        super().__init__()
        self.feeds = feeds


class FeedSettled(Message, bubble=False):
    """One feed of an import was added or failed."""

    def __init__(self, tried: "TriedFeed") -> None:
        super().__init__()
        self.tried = tried


class FeedsEnded(Message, bubble=False):
    """The import has finished or was cancelled."""


class FileThere(Message, bubble=False):
    """The file to which the sources are to be exported exists already."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
