"""Preview of changed interests, filters and weights; and why an item has no draft."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.draft import ScorePart, Status
from copydesk.model.item import ItemState
from copydesk.model.ranking import ChangeRanking
from copydesk.model.serialization import Struct
from copydesk.model.source import SourceConfig
from copydesk.model.validation import Id
from copydesk.text.formatting import plural


class RankingPreviewRequest(ChangeRanking, frozen=True, forbid_unknown_fields=True):
    """A change of the settings to preview; null leaves a setting as it is."""

    source_id: Id | None = None
    """The source that `source_config` is for."""
    source_config: SourceConfig | None = None
    """In place of the settings of that source."""


class Hits(Struct, frozen=True):
    """Share of the approved stories that were among the best of their day."""

    hits: int
    of: int
    low: float
    """Lower end of the 95% interval of the share."""
    high: float


class PreviewedStory(Struct, frozen=True):
    """A story that the change would have drafted, or not drafted any more."""

    item_id: str
    title: str
    source: str
    url: str | None
    day: datetime
    rank: int | None
    """Rank on that day with the change; null if filtered out or dropped."""
    rank_now: int | None
    """Rank on that day as the settings are."""
    reason: str = ""
    """Why it is filtered out or dropped in one of the two."""


class RankingPreview(Struct, frozen=True):
    """The last days, replayed as the settings are and with the change. Nothing was fetched, written or stored.

    Each day is ranked at its end. What is learnt from decisions and what was drafted before play no part: they come
    from these days themselves.
    """

    days: int
    items: int
    drafted_now: int
    """Stories that would have been drafted as the settings are."""
    drafted: int
    """Stories that would have been drafted with the change."""
    gained: tuple[PreviewedStory, ...]
    """The first stories drafted only with the change, newest day first."""
    gained_count: int
    lost: tuple[PreviewedStory, ...]
    """The first stories drafted only as the settings are."""
    lost_count: int
    top: int
    """Ranks that count as a hit."""
    hits_now: Hits
    """The last approved stories among the top, as the settings are."""
    hits: Hits
    """The same with the change."""
    hits_by_recency: Hits
    """The same if the newest came first."""


def describe_drafted(found: RankingPreview) -> str:
    """Return what the change does to the stories that are drafted: "21 of 22 stories would still be drafted"."""
    others = f", and {plural(found.gained_count, 'other')}" if found.gained_count else ""
    if not found.drafted_now:
        return f"No story is drafted as it is{f'; {found.gained_count:,} would be' if others else ''}."
    still = found.drafted_now - found.lost_count
    return f"{still:,} of {plural(found.drafted_now, 'story')} would still be drafted{others}."


def describe_reason(story: PreviewedStory) -> str:
    """Return why the story is left out in one of the two: "so far: matches none of your interests" if it is gained."""
    return f"so far: {story.reason}" if story.reason and story.rank is not None else story.reason


class ItemFate(StrEnum):
    """The stage that an item reached, or the reason it went no further."""

    UNKNOWN = "unknown"
    """No source brought it."""
    NOT_FETCHED = "not_fetched"
    """No source brought it, but a source of the same site has not been fetched yet, or its last fetch failed."""
    FILTERED = "filtered"
    """A filter excludes it."""
    DECLINED = "declined"
    """The writer had nothing to write from it."""
    HISTORY = "history"
    """Published before its source was added."""
    MERGED = "merged"
    """Another item of the same story stands for it."""
    DRAFTED = "drafted"
    WAITING = "waiting"
    """It waits for a run, with a rank."""
    DROPPED = "dropped"
    """It waits, but a run would not draft it."""


class InterestRank(Struct, frozen=True):
    """The rank of a story without one of the user's interests."""

    interest: str
    rank: int | None
    """Null if it would be dropped."""


class StoryDraft(Struct, frozen=True):
    """A draft of an item's story."""

    id: str
    status: Status
    archived: bool


class Explanation(Struct, frozen=True):
    """Why an item has no draft, or where its draft is."""

    fate: ItemFate
    why: str
    """One or two sentences."""
    item_id: str | None = None
    title: str = ""
    source: str = ""
    state: ItemState | None = None
    lead_title: str | None = None
    """Title of the item that stands for the story, if that is another one."""
    drafts: tuple[StoryDraft, ...] = ()
    rank: int | None = None
    """Among the stories that wait."""
    of: int | None = None
    """Number of the stories that wait."""
    score: float | None = None
    parts: tuple[ScorePart, ...] = ()
    without_interest: tuple[InterestRank, ...] = ()
