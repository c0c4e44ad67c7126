"""Group items into stories, and choose the lead item of each."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from copydesk.model.draft import StorySource
from copydesk.model.item import Item
from copydesk.model.serialization import Struct
from copydesk.ranking.canonical_url import identifies_page

_MAX_COUNTED_TEXT = 4000
"""Characters; beyond, more text is no advantage."""


class Candidate(Struct, frozen=True):
    """A story that may be drafted. `items` has the lead first."""

    story_id: str
    lead: Item
    items: tuple[Item, ...]


def group_into_stories(items: Iterable[Item], aggregators: Collection[str] = ()) -> tuple[Candidate, ...]:
    """Group items by story; sorted by story id, whatever the order of the items.

    `aggregators` are the source types whose items point to articles elsewhere.
    """
    items_by_story: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        items_by_story[item.story_id or item.id].append(item)
    return tuple(
        build_candidate(story_id, items_by_story[story_id], aggregators) for story_id in sorted(items_by_story)
    )


def build_candidate(story_id: str, items: Sequence[Item], aggregators: Collection[str] = ()) -> Candidate:
    """Build a story from at least one item."""
    lead = choose_lead(items, aggregators)
    other_items = sorted(
        (item for item in items if item.id != lead.id), key=lambda item: (item.published, item.source_id, item.id)
    )
    return Candidate(story_id=story_id, lead=lead, items=(lead, *other_items))


def choose_lead(items: Sequence[Item], aggregators: Collection[str] = ()) -> Item:
    """Return the item to draft from: an article rather than a pointer to one, then the longest, then the earliest."""
    return min(items, key=lambda item: (item.source_type in aggregators, *_lead_order(item)))


def _lead_order(item: Item) -> tuple[bool, int, float, str, str]:
    length = min(len(item.entry.text) or len(item.entry.summary), _MAX_COUNTED_TEXT)
    # By powers of two: among texts of similar length the earlier one wins.
    magnitude = length.bit_length()
    return (
        # Without the address of a page there is no article to draft from.
        not identifies_page(item.canonical),
        -magnitude,
        item.published.timestamp(),
        item.source_id,
        item.id,
    )


def sources_of(story: Candidate) -> tuple[StorySource, ...]:
    """Return the sources of the story without duplicates: the lead's first, then by time."""
    # Reversed, so that a source's first item replaces its later ones.
    first_items = {item.source_id: item for item in reversed(story.items)}
    return tuple(
        _story_source(first_items[source_id]) for source_id in dict.fromkeys(item.source_id for item in story.items)
    )


def _story_source(item: Item) -> StorySource:
    assert item.source_type, "what the user gave is not ranked"
    return StorySource(
        item_id=item.id,
        source_id=item.source_id,
        name=item.source_name,
        type=item.source_type,
        title=item.entry.title,
        url=item.entry.url,
    )
