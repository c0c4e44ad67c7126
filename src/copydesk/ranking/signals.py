"""Signals of a story's value: the user's interests, novelty among what was drafted before, and popularity.

Popularity is a rank within the source type: points mean different things on Reddit and X.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from copydesk.model.item import Item
from copydesk.ranking.matchers import Phrases
from copydesk.ranking.stories import Candidate
from copydesk.ranking.title_similarity import parse_title
from copydesk.ranking.tokens import fold

_MAX_BODY = 1000
"""Characters of summary and text that are searched: the topic comes first."""
_TITLE_WEIGHT = 3
"""Weight of a phrase in the title, relative to one in the text."""
_MAX_PHRASES_IN_REASON = 4
"""Phrases named in a reason."""


class InterestMatch(NamedTuple):
    """Degree of the match, 0 to 1; `veto` is the unwanted phrase that excludes the story."""

    value: float
    why: str
    veto: str | None = None


class Interests:
    """The user's interests, weighted by their rarity among the candidates."""

    def __init__(self, interests: Iterable[str], candidates: Sequence[Candidate]) -> None:
        terms = tuple(interest.strip() for interest in interests if interest.strip("- \t\n"))
        self._included = Phrases(interest for interest in terms if not interest.startswith("-"))
        self._excluded = Phrases(interest[1:] for interest in terms if interest.startswith("-"))
        self._found = {story.story_id: self._find_phrases(story) for story in candidates} if terms else {}
        self._count = len(candidates)
        self._story_counts: dict[str, int] = {}
        for title, body, _ in self._found.values():
            for phrase in title | body:
                self._story_counts[phrase] = self._story_counts.get(phrase, 0) + 1

    def match(self, story: Candidate) -> InterestMatch:
        """Match one of the candidates."""
        title, body, veto = self._found.get(story.story_id, _NOTHING_FOUND)
        if not self._included:
            return InterestMatch(0.5, "no interests set (counts as average)", veto)
        hits = sorted(title | body, key=lambda phrase: (phrase not in title, -self._inverse_frequency(phrase), phrase))
        if not hits:
            return InterestMatch(0.0, "matches none of your interests", veto)
        # Saturating: each further hit adds less, and the value stays below 1.
        weight = sum(self._inverse_frequency(phrase) * (_TITLE_WEIGHT if phrase in title else 1) for phrase in hits)
        more = f" and {len(hits) - _MAX_PHRASES_IN_REASON} more" * (len(hits) > _MAX_PHRASES_IN_REASON)
        return InterestMatch(1 - math.exp(-weight), f"matches {', '.join(hits[:_MAX_PHRASES_IN_REASON])}{more}", veto)

    def _inverse_frequency(self, phrase: str) -> float:
        """Return the phrase's inverse document frequency, from nearly 0 (in every story) to 1 (in this one alone)."""
        return math.log(1 + self._count / self._story_counts[phrase]) / math.log(1 + self._count)

    def _find_phrases(self, story: Candidate) -> "_Found":
        title = fold("\n".join(item.entry.title for item in story.items))
        lead = story.lead.entry
        body = fold("\n".join((lead.summary[:_MAX_BODY], lead.text[:_MAX_BODY], *lead.tags)))
        veto = next(iter(self._excluded.find(title) or self._excluded.find(body)), None)
        return _Found(frozenset(self._included.find(title)), frozenset(self._included.find(body)), veto)


class _Found(NamedTuple):
    title: frozenset[str]
    body: frozenset[str]
    veto: str | None


_NOTHING_FOUND = _Found(frozenset(), frozenset(), None)


_REPEAT_THRESHOLD = 0.6
"""Jaccard index above which a story, with the same numbers, counts as drafted before."""


_MAX_TITLE_IN_REASON = 80
"""Characters of a title in a reason."""


class Similarity(NamedTuple):
    """Similarity to the most similar title drafted before, 0 to 1."""

    similarity: float
    why: str
    is_repeat: bool


_NEW = Similarity(0.0, "nothing similar drafted in 60 days", is_repeat=False)


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


_GRAVITY = 0.8
"""Decay of popularity: divided by the age in hours to this power."""
_NO_METRICS = 0.5, "no metrics (counts as average)"


class Popularity:
    """The candidates' metrics by source type."""

    def __init__(self, candidates: Sequence[Candidate], now: datetime) -> None:
        self._now = now
        self._sorted_scores: defaultdict[str | None, list[float]] = defaultdict(list)
        for story in candidates:
            for item in story.items:
                if _has_metrics(item):
                    self._sorted_scores[item.source_type].append(self._decayed_score(item))
        for scores in self._sorted_scores.values():
            scores.sort()

    def percentile(self, story: Candidate) -> tuple[float, str]:
        """Return the best percentile (0 to 1) among the story's items, with the reason; 0.5 without metrics."""
        items = [item for item in story.items if _has_metrics(item)]
        if not items:
            return _NO_METRICS
        percentile, item = max(
            ((self._percentile(item), item) for item in items), key=lambda pair: (pair[0], pair[1].id)
        )
        return percentile, f"{_format_metrics(item)}: above {percentile:.0%} of the {item.source_type} items"

    def _percentile(self, item: Item) -> float:
        """Return the share of items below this one, plus half of those equal to it, itself included."""
        scores, score = self._sorted_scores[item.source_type], self._decayed_score(item)
        return (bisect_left(scores, score) + bisect_right(scores, score)) / 2 / len(scores)

    def _decayed_score(self, item: Item) -> float:
        """Return the item's decayed popularity. A comment counts as two points; the logarithm tames outliers."""
        hours = max(1.0, (self._now - item.published).total_seconds() / 3600)
        # Points may be negative.
        points, comments = item.entry.points or 0, item.entry.comments or 0
        return math.log1p(max(0, points) + 2 * max(0, comments)) / math.pow(hours, _GRAVITY)


def _has_metrics(item: Item) -> bool:
    return item.entry.points is not None or item.entry.comments is not None


def _format_metrics(item: Item) -> str:
    points, comments = item.entry.points, item.entry.comments
    parts = [f"{count:,} {unit}" for count, unit in ((points, "points"), (comments, "comments")) if count is not None]
    return ", ".join(parts)
