"""Score how well stories match the words and phrases that the user writes about."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from copydesk.ranking.phrases import Phrases
from copydesk.ranking.stories import Candidate
from copydesk.ranking.words import fold

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
            return InterestMatch(0.5, "no interests set: counted as average", veto)
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
