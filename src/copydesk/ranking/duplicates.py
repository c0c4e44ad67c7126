"""Which story an item tells: a stream of items, each compared with those of the last two weeks.

Two items tell one story when they link to the same page, or when they come from different sources and their titles
say the same. One source's titles are never compared with each other: there, likeness means a series.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from sys import intern

from copydesk.ranking.canonical import names_a_page
from copydesk.ranking.titles import NEAR, read_title, same_story

_DAY = 86_400
_LONGEST_LIST = 512
"""Items found by one word: the newest so many. A word of more of them says little about any."""


class _Told:
    """One item of the window."""

    __slots__ = ("at", "canonical", "source_id", "story_id", "title")

    def __init__(self, story_id: str, source_id: str, title: str, canonical: str, published: datetime) -> None:
        self.story_id = story_id
        self.source_id = intern(source_id)
        self.title = read_title(title)
        self.canonical = canonical
        self.at = published.timestamp()


class StoryIndex:
    """The stories of the window, found by address and by title.

    Memory is bounded by the window: an item goes when one more than `window` newer comes in (give or take a day).
    Addresses are keys of `canonical_url`, or empty; times are aware.
    """

    def __init__(self, window: timedelta = timedelta(days=14)) -> None:
        self._window = window.total_seconds()
        self._newest = float("-inf")
        self._first_day: int | None = None
        self._days: dict[int, list[_Told]] = {}
        self._pages: dict[str, list[_Told]] = {}
        self._words: dict[str, list[_Told]] = {}
        self._tellers: dict[str, Counter[str]] = {}

    def __len__(self) -> int:
        """Items in the window."""
        return sum(map(len, self._days.values()))

    def place(self, item_id: str, source_id: str, title: str, canonical: str, published: datetime) -> str | None:
        """The story that a new item belongs to, None where it starts one, with its own id. It is in the index then."""
        told = _Told(item_id, source_id, title, canonical, published)
        known = self._find(told)
        if known is not None:
            told.story_id = known
        self._insert(told)
        return known

    def add(self, story_id: str, source_id: str, title: str, canonical: str, published: datetime) -> None:
        """Put in an item whose story is known."""
        self._insert(_Told(story_id, source_id, title, canonical, published))

    def _find(self, told: _Told) -> str | None:
        by_address = self._by_address(told)
        return by_address if by_address is not None else self._by_title(told)

    def _by_address(self, told: _Told) -> str | None:
        same_page = [one for one in self._pages.get(told.canonical, ()) if self._is_near(one, told)]
        stories = {one.story_id for one in same_page}
        # A page that stands for two stories (a changelog, a list of links) tells nothing about a third.
        if len(stories) != 1 or any(_is_another_entry(one, told) for one in same_page):
            return None
        return stories.pop()

    def _by_title(self, told: _Told) -> str | None:
        """The story with the most similar title; of equals the one told first.

        A story that has an item of this source already takes no second one by its title: else two titles of one
        source would meet through a third of another.
        """
        found = [
            (-shared, one.at, one.story_id)
            for one in self._alike(told)
            if told.source_id not in self._tellers[one.story_id]
            and (shared := same_story(one.title, told.title, abs(one.at - told.at)))
        ]
        return min(found)[2] if found else None

    def _alike(self, told: _Told) -> Iterator[_Told]:
        """The items near in time that share two rare words with this one.

        Titles with a Jaccard index of t or more share two of the n - tn + 2 rarest words of either (prefix filtering:
        Chaudhuri, Ganti, Kaushik, ICDE 2006), so that of what the lists hold none is missed.
        """
        count = len(told.title.words)
        known = [same for word in told.title.words if (same := self._words.get(word))]
        # The rarest words are those that nobody said yet.
        rarest = int(count - NEAR * count) + 2 - (count - len(known))
        once: set[_Told] = set()
        twice: set[_Told] = set()
        for same_word in sorted(known, key=len)[: max(rarest, 0)]:
            twice.update(once.intersection(same_word))
            once.update(same_word)
        return (one for one in twice if self._is_near(one, told))

    def _is_near(self, one: _Told, other: _Told) -> bool:
        return abs(one.at - other.at) <= self._window

    def _insert(self, told: _Told) -> None:
        if told.at < self._newest - self._window:
            return
        for word in told.title.words:
            same = self._words.setdefault(word, [])
            same.append(told)
            if len(same) > _LONGEST_LIST:
                del same[0]
        if names_a_page(told.canonical):
            _put_on(self._pages.setdefault(told.canonical, []), told)
        self._tellers.setdefault(told.story_id, Counter())[told.source_id] += 1
        self._days.setdefault(int(told.at // _DAY), []).append(told)
        if told.at > self._newest:
            self._newest = told.at
            self._let_go(int((told.at - self._window) // _DAY))

    def _let_go(self, first_day: int) -> None:
        """Remove the items of the days before `first_day`."""
        if first_day == self._first_day:
            return
        self._first_day = first_day
        for day in [day for day in self._days if day < first_day]:
            for told in self._days.pop(day):
                self._remove(told)

    def _remove(self, told: _Told) -> None:
        for word in told.title.words:
            _take_out(self._words, word, told)
        _take_out(self._pages, told.canonical, told)
        tellers = self._tellers[told.story_id]
        tellers[told.source_id] -= 1
        if not tellers[told.source_id]:
            del tellers[told.source_id]
        if not tellers:
            del self._tellers[told.story_id]


def _put_on(page: list[_Told], told: _Told) -> None:
    """Add `told` to the items of a page: the newest of each story and source, or of the two newest stories.

    More would say no more: a page of two stories tells nothing. The newest are the last to leave the window.
    """
    for number, one in enumerate(page):
        if one.story_id == told.story_id and one.source_id == told.source_id:
            page[number] = max(one, told, key=_when)
            return
    page.append(told)
    newest = {one.story_id: one for one in sorted(page, key=_when)}
    if len(newest) > 1:
        page[:] = sorted(newest.values(), key=_when)[-2:]


def _when(told: _Told) -> float:
    return told.at


def _take_out(lists: dict[str, list[_Told]], key: str, told: _Told) -> None:
    """Remove `told` from the list under `key`, and the list once it is empty."""
    held = lists.get(key, [])
    if told in held:
        held.remove(told)
    if not held:
        lists.pop(key, None)


def _is_another_entry(one: _Told, other: _Told) -> bool:
    """Whether one source gave one address to two entries that are not the same: a changelog, a list of links."""
    if one.source_id != other.source_id or not one.title.words or not other.title.words:
        return False
    numbers = one.title.numbers, other.title.numbers
    return one.title.words.isdisjoint(other.title.words) or (all(numbers) and numbers[0].isdisjoint(numbers[1]))
