"""How well a story matches the words and phrases that the user writes about."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from copydesk.ranking.phrases import Phrases
from copydesk.ranking.stories import Candidate
from copydesk.ranking.words import fold

_MAX_BODY = 1000
"""Characters of the text that are looked at: what a story is about stands in front."""
_IN_TITLE = 3
"""A phrase in the title counts as much as three in the text."""
_SHOWN = 4


class Match(NamedTuple):
    """How well a story matches, 0 to 1; `veto` is the phrase that keeps it out."""

    value: float
    why: str
    veto: str | None = None


class Interests:
    """The user's interests, weighed by how rare each is among the candidates at hand."""

    def __init__(self, interests: Iterable[str], candidates: Sequence[Candidate]) -> None:
        listed = tuple(each.strip() for each in interests if each.strip("- \t\n"))
        self._wanted = Phrases(each for each in listed if not each.startswith("-"))
        self._unwanted = Phrases(each[1:] for each in listed if each.startswith("-"))
        self._found = {story.story_id: self._look(story) for story in candidates} if listed else {}
        self._count = len(candidates)
        self._in_stories: dict[str, int] = {}
        for title, body, _ in self._found.values():
            for phrase in title | body:
                self._in_stories[phrase] = self._in_stories.get(phrase, 0) + 1

    def match(self, story: Candidate) -> Match:
        """How well one of the candidates matches."""
        title, body, veto = self._found.get(story.story_id, _NOTHING)
        if not self._wanted:
            return Match(0.5, "no interests set: counted as average", veto)
        hits = sorted(title | body, key=lambda phrase: (phrase not in title, -self._rarity(phrase), phrase))
        if not hits:
            return Match(0.0, "matches none of your interests", veto)
        weight = sum(self._rarity(phrase) * (_IN_TITLE if phrase in title else 1) for phrase in hits)
        more = f" and {len(hits) - _SHOWN} more" * (len(hits) > _SHOWN)
        return Match(1 - math.exp(-weight), f"matches {', '.join(hits[:_SHOWN])}{more}", veto)

    def _rarity(self, phrase: str) -> float:
        """The phrase's inverse document frequency, from nearly 0 (in every story) to 1 (in this one alone)."""
        return math.log(1 + self._count / self._in_stories[phrase]) / math.log(1 + self._count)

    def _look(self, story: Candidate) -> "_Found":
        title = fold("\n".join(item.entry.title for item in story.items))
        lead = story.lead.entry
        body = fold("\n".join((lead.summary[:_MAX_BODY], lead.text[:_MAX_BODY], *lead.tags)))
        veto = next(iter(self._unwanted.found(title) or self._unwanted.found(body)), None)
        return _Found(frozenset(self._wanted.found(title)), frozenset(self._wanted.found(body)), veto)


class _Found(NamedTuple):
    title: frozenset[str]
    body: frozenset[str]
    veto: str | None


_NOTHING = _Found(frozenset(), frozenset(), None)
