"""Assign items to stories, group them by story, and choose the lead item of each.

A new item is compared with those of a sliding window of two weeks. Two items tell one story if they link to the same
page, or if they come from different sources and have similar titles. Titles of one source are never compared with each
other: there, similarity means a series.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from sys import intern

from copydesk.model.draft import StorySource
from copydesk.model.item import Item
from copydesk.model.serialization import Struct
from copydesk.ranking.canonical_url import identifies_page
from copydesk.ranking.title_similarity import parse_title, story_similarity

_MAX_COUNTED_TEXT = 4000
"""Characters; beyond, more text is no advantage."""

_SECONDS_PER_DAY = 86_400
# The newest stay, because stories are told within days.
_MAX_ITEMS_PER_WORD = 512
"""Newest items kept per word. More frequent words say little about any item, and would cost much."""

_MAX_LOOKED_UP = 600
"""Items that are looked at for one item, those of its rarest words."""
_MIN_LISTS = 3
"""Words that are looked up however frequent they are."""


class Candidate(Struct, frozen=True, gc=False):
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


class _IndexedItem:
    """An item in the window. Slots and interned strings save memory: there are tens of thousands."""

    __slots__ = ("canonical", "source_id", "story_id", "timestamp", "title")

    def __init__(
        self, story_id: str, source_id: str, title: str, canonical: str, published: datetime, summary: str
    ) -> None:
        self.story_id = story_id
        self.source_id = intern(source_id)
        self.title = parse_title(title, summary)
        self.canonical = canonical
        self.timestamp = published.timestamp()


class StoryIndex:
    """The stories of the window, indexed by URL and by the words of their titles.

    Memory is bounded by the window: an item is dropped once one more than `window` newer is added, give or take a day.
    URLs are keys of `canonical_url` or empty; times are aware.
    """

    def __init__(self, window: timedelta = timedelta(days=14)) -> None:
        self._window = window.total_seconds()
        self._newest = float("-inf")
        # The day up to which items have been removed.
        self._first_day: int | None = None
        self._days: dict[int, list[_IndexedItem]] = {}
        self._items_by_page: dict[str, list[_IndexedItem]] = {}
        self._items_by_word: dict[str, list[_IndexedItem]] = {}
        # Counted rather than derived: items of a story leave the window one by one.
        self._source_counts: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        """Return the number of items in the window."""
        return sum(map(len, self._days.values()))

    def assign(
        self, item_id: str, source_id: str, title: str, canonical: str, published: datetime, summary: str = ""
    ) -> str | None:
        """Add a new item. Return the id of the story it belongs to, or None if it starts one (with its own id)."""
        item = _IndexedItem(item_id, source_id, title, canonical, published, summary)
        # Found before it is inserted, because an item must not match itself.
        story_id = self._find(item)
        if story_id is not None:
            item.story_id = story_id
        self._insert(item)
        return story_id

    def add(
        self, story_id: str, source_id: str, title: str, canonical: str, published: datetime, summary: str = ""
    ) -> None:
        """Add an item whose story is known."""
        self._insert(_IndexedItem(story_id, source_id, title, canonical, published, summary))

    def _find(self, item: _IndexedItem) -> str | None:
        by_url = self._find_by_url(item)
        # An equal address is stronger evidence than similar words.
        return by_url if by_url is not None else self._find_by_title(item)

    def _find_by_url(self, item: _IndexedItem) -> str | None:
        same_page = [
            other for other in self._items_by_page.get(item.canonical, ()) if self._is_within_window(other, item)
        ]
        if not same_page:
            return None
        stories = {other.story_id for other in same_page}
        # A page shared by two stories, such as a changelog or a list of links, does not identify a third.
        if len(stories) != 1 or any(_is_different_entry(other, item) for other in same_page):
            return None
        return stories.pop()

    def _find_by_title(self, item: _IndexedItem) -> str | None:
        """Return the story with the most similar title; of equals, the one with the earliest item.

        A story that already has an item of this source takes no second one by title: otherwise two titles of one source
        would meet through a third of another source.
        """
        matches = [
            (-similarity, other.timestamp, other.story_id)
            for other in self._similar_candidates(item)
            if item.source_id not in self._source_counts[other.story_id]
            and (similarity := story_similarity(other.title, item.title, item.timestamp - other.timestamp))
        ]
        return min(matches)[2] if matches else None

    def _similar_candidates(self, item: _IndexedItem) -> Iterator[_IndexedItem]:
        """Return the items close in time that share at least two of this one's rare words or names."""
        word_lists = [items for word in item.title.keys if (items := self._items_by_word.get(word))]
        once: set[_IndexedItem] = set()
        twice: set[_IndexedItem] = set()
        # Rarest words first: their lists are short, and they say most about the item.
        looked_up = 0
        for count, items_of_word in enumerate(sorted(word_lists, key=len)):
            looked_up += len(items_of_word)
            if looked_up > _MAX_LOOKED_UP and count >= _MIN_LISTS:
                break
            # Before `once` grows, so that an item counts once per word.
            twice.update(once.intersection(items_of_word))
            once.update(items_of_word)
        oldest, newest = item.timestamp - self._window, item.timestamp + self._window
        return (other for other in twice if oldest <= other.timestamp <= newest)

    def _is_within_window(self, item: _IndexedItem, other: _IndexedItem) -> bool:
        return abs(item.timestamp - other.timestamp) <= self._window

    def _insert(self, item: _IndexedItem) -> None:
        # Older than the window: it would match nothing, and nothing would remove it before the next day passes.
        if item.timestamp < self._newest - self._window:
            return
        for word in item.title.keys:
            items = self._items_by_word.get(word)
            if items is None:
                # A list made with its only item takes less memory than one that grew to it, and most words are rare.
                self._items_by_word[word] = [item]
                continue
            items.append(item)
            if len(items) > _MAX_ITEMS_PER_WORD:
                # Items arrive roughly by time, so the first is about the oldest.
                del items[0]
        if identifies_page(item.canonical):
            _add_to_page(self._items_by_page.setdefault(item.canonical, []), item)
        source_counts = self._source_counts.setdefault(item.story_id, {})
        source_counts[item.source_id] = source_counts.get(item.source_id, 0) + 1
        self._days.setdefault(int(item.timestamp // _SECONDS_PER_DAY), []).append(item)
        if item.timestamp > self._newest:
            self._newest = item.timestamp
            self._expire_before(int((item.timestamp - self._window) // _SECONDS_PER_DAY))

    def _expire_before(self, first_day: int) -> None:
        """Remove the items of the days before `first_day`."""
        # Called for nearly every item, but there is something to remove only once per day.
        if first_day == self._first_day:
            return
        self._first_day = first_day
        for day in [day for day in self._days if day < first_day]:
            for item in self._days.pop(day):
                self._remove(item)

    def _remove(self, item: _IndexedItem) -> None:
        for word in item.title.keys:
            _remove_from(self._items_by_word, word, item)
        _remove_from(self._items_by_page, item.canonical, item)
        source_counts = self._source_counts[item.story_id]
        source_counts[item.source_id] -= 1
        if not source_counts[item.source_id]:
            del source_counts[item.source_id]
        if not source_counts:
            del self._source_counts[item.story_id]


def _add_to_page(page: list[_IndexedItem], item: _IndexedItem) -> None:
    """Add `item` to the items of a page: the newest per story and source, reduced to those of the two newest stories.

    More would be useless, because a page of two stories identifies none. The newest are the last to leave the window.
    """
    for index, other in enumerate(page):
        if other.story_id == item.story_id and other.source_id == item.source_id:
            page[index] = max(other, item, key=_timestamp)
            return
    page.append(item)
    newest = {other.story_id: other for other in sorted(page, key=_timestamp)}
    if len(newest) > 1:
        page[:] = sorted(newest.values(), key=_timestamp)[-2:]


def _timestamp(item: _IndexedItem) -> float:
    return item.timestamp


def _remove_from(lists: dict[str, list[_IndexedItem]], key: str, item: _IndexedItem) -> None:
    """Remove `item` from the list under `key`, and the list when it is empty."""
    items = lists.get(key, [])
    # It may be gone already: long lists drop their oldest items.
    if item in items:
        items.remove(item)
    if not items:
        lists.pop(key, None)


def _is_different_entry(item: _IndexedItem, other: _IndexedItem) -> bool:
    """Return True if one source uses one URL for two different entries, as in a changelog or a list of links."""
    if item.source_id != other.source_id or not item.title.words or not other.title.words:
        return False
    numbers = item.title.numbers, other.title.numbers
    return item.title.words.isdisjoint(other.title.words) or (all(numbers) and numbers[0].isdisjoint(numbers[1]))
