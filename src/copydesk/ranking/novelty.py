"""Compare stories with what was drafted before."""

from collections.abc import Iterable
from typing import NamedTuple

from copydesk.ranking.stories import Candidate
from copydesk.ranking.titles import parse_title

_REPEAT_THRESHOLD = 0.6
"""Jaccard index above which a story, with the same numbers, counts as drafted before."""


_MAX_TITLE_IN_REASON = 80
"""Characters of a title in a reason."""


class Similarity(NamedTuple):
    """Similarity to the most similar title drafted before, 0 to 1."""

    similarity: float
    why: str
    is_repeat: bool


_NEW = Similarity(0.0, "nothing like it drafted in 60 days", is_repeat=False)


class NoveltyIndex:
    """The titles drafted before, and the most similar one of each candidate."""

    def __init__(self, titles: Iterable[str], candidates: Iterable[Candidate]) -> None:
        self._titles = [parse_title(title) for title in dict.fromkeys(titles)]
        self._by_word: dict[str, list[int]] = {}
        for index, title in enumerate(self._titles):
            for word in title.words:
                self._by_word.setdefault(word, []).append(index)
        self._most_similar_by_story = (
            {story.story_id: self._find_most_similar(story) for story in candidates} if self._titles else {}
        )

    def most_similar(self, story: Candidate) -> Similarity:
        """Return the similarity of a candidate's title to the most similar drafted title."""
        return self._most_similar_by_story.get(story.story_id, _NEW)

    def _find_most_similar(self, story: Candidate) -> Similarity:
        title = parse_title(story.lead.entry.title)
        shared: dict[int, int] = {}
        for word in title.words:
            for index in self._by_word.get(word, ()):
                shared[index] = shared.get(index, 0) + 1
        size = len(title.words)
        # The negated index makes max() prefer the earlier title among equals. One shared word is no similarity.
        similarities = [
            (count / (size + len(self._titles[index].words) - count), -index)
            for index, count in shared.items()
            if count > 1
        ]
        if not similarities:
            return _NEW
        likeness, index = max(similarities)
        drafted = self._titles[-index]
        repeated = likeness > _REPEAT_THRESHOLD and drafted.numbers == title.numbers
        excerpt = (
            drafted.text if len(drafted.text) <= _MAX_TITLE_IN_REASON else drafted.text[:_MAX_TITLE_IN_REASON] + "…"
        )
        return Similarity(likeness, f"{likeness:.0%} like “{excerpt}”, drafted before", repeated)
