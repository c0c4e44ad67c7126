"""What the workers of the screen Sources tell it."""

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
    """The sources and the runs as the desk has them."""

    def __init__(self, sources: "Sequence[SourceOverview]", runs: "Sequence[Run]", statistics: "RunStatistics") -> None:
        super().__init__()
        self.sources = sources
        self.runs = runs
        self.statistics = statistics


class Brought(Message, bubble=False):
    """What a source brought last."""

    def __init__(self, source_id: str, items: "Sequence[RecentItem]") -> None:
        super().__init__()
        self.source_id = source_id
        self.items = items


class SourceTested(Message, bubble=False):
    """What a source holds now."""

    def __init__(self, result: "FetchTest") -> None:
        super().__init__()
        self.result = result


class PlaceTried(Message, bubble=False):
    """What may become a source was read."""

    def __init__(self, place: "Place", result: "Tried") -> None:
        super().__init__()
        self.place = place
        self.result = result


class SourceRefused(Message, bubble=False):
    """It was not saved, or can be no source; `why` is for the user."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class SourceSaved(Message, bubble=False):
    """It was saved."""

    def __init__(self, source: "Source") -> None:
        super().__init__()
        self.source = source


class FeedsRead(Message, bubble=False):
    """The feeds of a file, before any of them is tested."""

    def __init__(self, feeds: "Sequence[Outline]") -> None:
        super().__init__()
        self.feeds = feeds


class FeedSettled(Message, bubble=False):
    """One feed of a list was added, or not."""

    def __init__(self, tried: "TriedFeed") -> None:
        super().__init__()
        self.tried = tried


class FeedsEnded(Message, bubble=False):
    """All feeds of a list are settled, or nobody waits for the rest."""


class FileThere(Message, bubble=False):
    """There is a file already where the sources were to be written."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
