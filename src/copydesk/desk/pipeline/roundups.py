"""Choose the items of round-ups: those of a story or a subject that several sources report, or of one interest.

An item is in one round-up at most, and an interest has one a day. Stories keep their own drafts in other formats.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import NamedTuple

from copydesk.model.item import Item
from copydesk.ranking.rank import RankedStory
from copydesk.ranking.subjects import find_subject, searchable_words, shared_words
from copydesk.ranking.title_similarity import parse_title
from copydesk.ranking.topics import Topics
from copydesk.text import links

MIN_SOURCES = 3
"""Sources that make a story a round-up of its own."""
MAX_CANDIDATES = 20
"""Items offered to the writer, which uses a few of them: some have no sentence worth quoting."""
MAX_PER_SOURCE = 2
"""Items of one source among them, so that a busy one does not crowd out the others."""

MAX_DISTANCE = timedelta(days=3)
"""Time between the items of one subject, of which later ones overtake what earlier ones say."""
MAX_INTEREST_DISTANCE = timedelta(days=7)
"""Time between the items of an interest, which are several stories."""
MIN_SHARED_STEMS = 2
"""Words that the titles of two items of an interest share, besides its own, if they are about one subject."""


class Roundup(NamedTuple):
    """Items that a draft may link to, the lead first."""

    items: tuple[Item, ...]
    topic: str = ""
    """The subject or the interest that they share; empty if they report the same story."""


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
        self._titles = {story.story_id: parse_title(story.lead.entry.title) for story in stories}
        self._stories_by_word: dict[str, list[RankedStory]] = {}
        for story in sorted(stories, key=lambda story: -story.score.total):
            for topic in self._topics_by_story[story.story_id]:
                self._stories_by_topic.setdefault(topic, []).append(story)
            for word in searchable_words(self._titles[story.story_id]):
                self._stories_by_word.setdefault(word, []).append(story)

    def list_for(self, story: RankedStory) -> Iterator[Roundup]:
        """Yield the round-ups that the story may lead, best first; none if it is in one already."""
        if story.lead.id in self._linked:
            return
        if _count_sources(story.items) >= MIN_SOURCES:
            yield Roundup(story.items)
        related = tuple(islice(self._find_related(story), MAX_CANDIDATES))
        subject = find_subject([parse_title(item.entry.title) for item in related])
        if subject and subject not in self._exhausted and _count_sources(related) >= MIN_SOURCES:
            yield Roundup(related, subject)
        for topic in self._topics_by_story[story.story_id]:
            items = () if topic in self._exhausted else tuple(islice(self._find_items(story, topic), MAX_CANDIDATES))
            if _count_sources(items) >= MIN_SOURCES:
                yield Roundup(items, topic)

    def _find_related(self, story: RankedStory) -> Iterator[Item]:
        """Yield the story's items, then the leads of other stories about the same subject by score."""
        yield from story.items
        title, counts = self._titles[story.story_id], Counter(map(_source_key, story.items))
        others = {
            other.story_id: other for word in searchable_words(title) for other in self._stories_by_word.get(word, ())
        }
        common = title.words
        for other in sorted(others.values(), key=lambda other: -other.score.total):
            key, shared = _source_key(other.lead), shared_words(title, self._titles[other.story_id], common)
            if (
                not shared
                or not self._is_contemporary(story, other)
                or other is story
                or other.lead.id in self._linked
                or counts[key] >= MAX_PER_SOURCE
            ):
                continue
            common = shared
            counts[key] += 1
            yield other.lead

    def _is_contemporary(self, story: RankedStory, other: RankedStory) -> bool:
        """Return True if two stories are a few days apart, and not one announces what the other may report."""
        titles = self._titles[story.story_id], self._titles[other.story_id]
        is_near = abs(story.lead.published - other.lead.published) <= MAX_DISTANCE
        return is_near and bool(titles[0].announced) == bool(titles[1].announced)

    def _find_items(self, story: RankedStory, topic: str) -> Iterator[Item]:
        """Yield the story's lead, then the items of the interest's other stories by score, one of each subject."""
        yield story.lead
        counts, titles = Counter([_source_key(story.lead)]), [self._titles[story.story_id]]
        interest = parse_title(topic).words
        for other in self._stories_by_topic[topic]:
            key, title = _source_key(other.lead), self._titles[other.story_id]
            is_near = abs(story.lead.published - other.lead.published) <= MAX_INTEREST_DISTANCE
            if other is story or not is_near or other.lead.id in self._linked or counts[key] >= MAX_PER_SOURCE:
                continue
            # Two reports of one event would say the same; what all items of the interest share makes no event.
            stems = searchable_words(title) - interest
            if any(len(stems & earlier.words) >= MIN_SHARED_STEMS for earlier in titles):
                continue
            counts[key] += 1
            titles.append(title)
            yield other.lead

    def add_linked(self, item_ids: Iterable[str]) -> None:
        """Record that a round-up links to these items."""
        self._linked.update(item_ids)

    def exhaust(self, topic: str) -> None:
        """Record that the interest or the subject has its round-up."""
        self._exhausted.add(topic)

    def give_up(self, topic: str) -> None:
        """Record that too few stories of an interest can be quoted. Those of a subject depend on the lead."""
        if topic in self._stories_by_topic:
            self.exhaust(topic)


def _count_sources(items: Iterable[Item]) -> int:
    return len({_source_key(item) for item in items})


def _source_key(item: Item) -> str:
    """Return what tells sources apart: the publisher or the site, because an aggregator brings those of many."""
    return item.entry.publisher or links.host(item.entry.url) or item.source_id
