"""How much a story resembles what was drafted before."""

from collections.abc import Iterable
from typing import NamedTuple

from copydesk.ranking.stories import Candidate
from copydesk.ranking.titles import read_title

_REPEATED = 0.6
"""From this Jaccard index on (and with the same numbers) a story has been told before."""


_SHOWN = 80
"""Characters of a title in a reason."""


class Likeness(NamedTuple):
    """How much a story resembles the most similar one drafted before, 0 to 1."""

    likeness: float
    why: str
    repeated: bool


_NEW = Likeness(0.0, "nothing like it drafted in 60 days", repeated=False)


class ToldBefore:
    """The titles that were drafted, and what each candidate has of them."""

    def __init__(self, titles: Iterable[str], candidates: Iterable[Candidate]) -> None:
        self._titles = [read_title(title) for title in dict.fromkeys(titles)]
        self._by_word: dict[str, list[int]] = {}
        for at, title in enumerate(self._titles):
            for word in title.words:
                self._by_word.setdefault(word, []).append(at)
        self._likest = {story.story_id: self._look(story) for story in candidates} if self._titles else {}

    def likest(self, story: Candidate) -> Likeness:
        """The drafted title that is most like the title of one of the candidates."""
        return self._likest.get(story.story_id, _NEW)

    def _look(self, story: Candidate) -> Likeness:
        title = read_title(story.lead.entry.title)
        shared: dict[int, int] = {}
        for word in title.words:
            for at in self._by_word.get(word, ()):
                shared[at] = shared.get(at, 0) + 1
        size = len(title.words)
        alike = [(n / (size + len(self._titles[at].words) - n), -at) for at, n in shared.items() if n > 1]
        if not alike:
            return _NEW
        likeness, at = max(alike)
        like = self._titles[-at]
        repeated = likeness > _REPEATED and like.numbers == title.numbers
        named = like.text if len(like.text) <= _SHOWN else like.text[:_SHOWN] + "…"
        return Likeness(likeness, f"{likeness:.0%} like “{named}”, drafted before", repeated)
