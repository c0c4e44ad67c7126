"""Choose the items of round-ups: those of a story that several sources report, or the best stories of one interest.

An item is in one round-up at most, and an interest has one a day. Stories keep their own drafts in other formats.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from copydesk.model.item import Item
from copydesk.ranking.rank import RankedStory
from copydesk.ranking.topics import Topics
from copydesk.text import links

MIN_SOURCES = 3
"""Sources that make a story a round-up of its own."""
MAX_CANDIDATES = 20
"""Items offered to the writer, which uses a few of them: some have no sentence worth quoting."""
MAX_PER_SOURCE = 2
"""Items of one source among them, so that a busy one does not crowd out the others."""


class Roundup(NamedTuple):
    """Items that a draft may link to, the lead first."""

    items: tuple[Item, ...]
    topic: str = ""
    """The interest that they share; empty if they report the same story."""


class Roundups:
    """The possible round-ups of a run's stories.

    `linked` are the ids of the items that are in one already, `recent` the items of each round-up of the last day.
    """

    def __init__(
        self,
        stories: Sequence[RankedStory],
        interests: Iterable[str],
        linked: Collection[str],
        recent: Iterable[Sequence[Item]] = (),
    ) -> None:
        topics = Topics(interests)
        self._linked = set(linked)
        self._exhausted = {topics.find_shared(items) for items in recent} - {""}
        self._topics_by_story = {story.story_id: topics.find(story.lead) for story in stories}
        self._stories_by_topic: dict[str, list[RankedStory]] = {}
        for story in sorted(stories, key=lambda story: -story.score.total):
            for topic in self._topics_by_story[story.story_id]:
                self._stories_by_topic.setdefault(topic, []).append(story)

    def list_for(self, story: RankedStory) -> Iterator[Roundup]:
        """Yield the round-ups that the story may lead, best first; none if it is in one already."""
        if story.lead.id in self._linked:
            return
        if _count_sources(story.items) >= MIN_SOURCES:
            yield Roundup(story.items)
        for topic in self._topics_by_story[story.story_id]:
            items = () if topic in self._exhausted else tuple(islice(self._find_items(story, topic), MAX_CANDIDATES))
            if _count_sources(items) >= MIN_SOURCES:
                yield Roundup(items, topic)

    def _find_items(self, story: RankedStory, topic: str) -> Iterator[Item]:
        """Yield the story's lead, then the items of the interest's other stories by score."""
        yield story.lead
        counts = Counter([_source_key(story.lead)])
        for other in self._stories_by_topic[topic]:
            key = _source_key(other.lead)
            if other is not story and other.lead.id not in self._linked and counts[key] < MAX_PER_SOURCE:
                counts[key] += 1
                yield other.lead

    def add_linked(self, item_ids: Iterable[str]) -> None:
        """Record that a round-up links to these items."""
        self._linked.update(item_ids)

    def exhaust(self, topic: str) -> None:
        """Record that the interest has its round-up, or that too few of its stories can be quoted."""
        self._exhausted.add(topic)


def _count_sources(items: Iterable[Item]) -> int:
    return len({_source_key(item) for item in items})


def _source_key(item: Item) -> str:
    """Return what tells sources apart: the publisher or the site, because an aggregator brings those of many."""
    return item.entry.publisher or links.host(item.entry.url) or item.source_id
