"""Items gathered into stories, and the one item that stands for each."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from copydesk.model.draft import StorySource
from copydesk.model.item import Item
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct
from copydesk.ranking.canonical import names_a_page

_AGGREGATORS = frozenset((SourceType.GOOGLE_NEWS, SourceType.HACKERNEWS, SourceType.REDDIT, SourceType.TWITTER))
"""They point at what others wrote."""
_MUCH_TEXT = 4000


class Candidate(Struct, frozen=True):
    """A story that may be drafted: the item that stands for it, and all items that tell it, that one first."""

    story_id: str
    lead: Item
    items: tuple[Item, ...]


def gather(items: Iterable[Item]) -> tuple[Candidate, ...]:
    """The stories that these items tell, by id, whatever the order of the items."""
    told: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        told[item.story_id or item.id].append(item)
    return tuple(candidate(story_id, told[story_id]) for story_id in sorted(told))


def candidate(story_id: str, items: Sequence[Item]) -> Candidate:
    """A story of at least one item."""
    lead = lead_of(items)
    others = sorted(
        (item for item in items if item.id != lead.id), key=lambda item: (item.published, item.source_id, item.id)
    )
    return Candidate(story_id=story_id, lead=lead, items=(lead, *others))


def lead_of(items: Sequence[Item]) -> Item:
    """The item to draft a story from: an article rather than a pointer to one, the one that says most, the earliest."""
    return min(items, key=_distance)


def _distance(item: Item) -> tuple[bool, bool, int, float, str, str]:
    said = min(len(item.entry.text) or len(item.entry.summary), _MUCH_TEXT)
    # Within a factor of two, who was first matters more than who wrote more.
    amount = said.bit_length()
    points_elsewhere = item.source_type in _AGGREGATORS
    return (
        points_elsewhere,
        not names_a_page(item.canonical),
        -amount,
        item.published.timestamp(),
        item.source_id,
        item.id,
    )


def tellers(story: Candidate) -> tuple[StorySource, ...]:
    """Who tells the story: each source once, the lead's first, then in order of time."""
    first = {item.source_id: item for item in reversed(story.items)}
    return tuple(_teller(first[source_id]) for source_id in dict.fromkeys(item.source_id for item in story.items))


def _teller(item: Item) -> StorySource:
    assert item.source_type, "what the user gave is not ranked"
    return StorySource(
        item_id=item.id,
        source_id=item.source_id,
        name=item.source_name,
        type=item.source_type,
        title=item.entry.title,
        url=item.entry.url,
    )
