"""Messages from background tasks to the Sources screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from copydesk.desk.sources.feed_import import FeedImportResult, Outline
    from copydesk.desk.sources.overview import RecentItem, SourceOverview
    from copydesk.desk.sources.service import CandidateTest, FetchTest
    from copydesk.model.run import Run, RunStatistics
    from copydesk.model.source import Source
    from copydesk.tui.sources.form_state import SourceLocation


class SourcesLoaded(Message, bubble=False):
    """The current sources and runs."""

    def __init__(self, sources: "Sequence[SourceOverview]", runs: "Sequence[Run]", statistics: "RunStatistics") -> None:
        super().__init__()
        self.sources = sources
        self.runs = runs
        self.statistics = statistics


class RecentItemsLoaded(Message, bubble=False):
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


class LocationTested(Message, bubble=False):
    """The result of a test fetch of a location that may become a source."""

    def __init__(self, location: "SourceLocation", result: "CandidateTest") -> None:
        super().__init__()
        self.location = location
        self.result = result


class SourceRefused(Message, bubble=False):
    """The source was not saved, or cannot be one; `reason` is for the user."""

    def __init__(self, reason: str, fields: "Sequence[str]" = ()) -> None:
        super().__init__()
        self.reason = reason
        self.fields = fields
        """Names of the fields that it is about."""


class SourceSaved(Message, bubble=False):
    """The source was added or changed."""

    def __init__(self, source: "Source") -> None:
        super().__init__()
        self.source = source


class FeedsLoaded(Message, bubble=False):
    """The feeds of an OPML file, before any of them is tested."""

    def __init__(self, feeds: "Sequence[Outline]") -> None:
        super().__init__()
        self.feeds = feeds


class FeedImported(Message, bubble=False):
    """One feed of an import was added or failed."""

    def __init__(self, result: "FeedImportResult") -> None:
        super().__init__()
        self.result = result


class FeedImportFinished(Message, bubble=False):
    """The import has finished or was cancelled."""


class ExportFileExists(Message, bubble=False):
    """The file to which the sources are to be exported exists already."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
