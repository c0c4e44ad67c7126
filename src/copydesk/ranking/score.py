"""Score a story: a sum of parts, each a value times its weight, each with its reason.

Values are from 0 to 1, of the learnt preference from -0.5 to 0.5.

Pure: what it needs to know comes in as `ScoringContext`, and the time as `now`. Popularity is a rank within the source
type, because points mean different things on Reddit and X.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Score, ScorePart
from copydesk.model.item import Item
from copydesk.model.serialization import Struct
from copydesk.ranking.filters import Phrases
from copydesk.ranking.preference import Preference
from copydesk.ranking.stories import Candidate, sources_of
from copydesk.ranking.title_similarity import parse_title
from copydesk.text.folding import fold
from copydesk.text.formatting import format_relative, plural

_MAX_BODY = 1000
"""Characters of summary and text that are searched: the topic comes first."""
_TITLE_WEIGHT = 3
"""Weight of a phrase in the title, relative to one in the text."""
_MAX_PHRASES_IN_REASON = 4
"""Phrases named in a reason."""

_REPEAT_THRESHOLD = 0.6
"""Jaccard index above which a story, with the same numbers, counts as drafted before."""

_MAX_TITLE_IN_REASON = 80
"""Characters of a title in a reason."""

_GRAVITY = 0.8
"""Decay of popularity: divided by the age in hours to this power."""
_AVERAGE = 0.5
_AS_AVERAGE = "(counts as average)"

_DIGITS = 4
"""Of a part's value; more would be false precision."""
_FULL_CORROBORATION = 2
"""log2 of the number of sources that gives the full value: four."""


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

    @property
    def required(self) -> bool:
        """Return True if the user has interests: then a story that matches none is not drafted."""
        return bool(self._included)

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
            return _AVERAGE, f"no metrics {_AS_AVERAGE}"
        percentile, item = max(
            ((self._percentile(item), item) for item in items), key=lambda pair: (pair[0], pair[1].id)
        )
        # Most feeds report no comments at all. One that does must not rank below them because nobody commented yet.
        if percentile < _AVERAGE and item.entry.points is None:
            return _AVERAGE, f"{_format_metrics(item)} {_AS_AVERAGE}"
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


class Weights(Struct, frozen=True):
    """Maximum points of each part. Raise InvalidError for negative or infinite ones."""

    recency: float = 0.22
    interest: float = 0.28
    source: float = 0.12
    popularity: float = 0.14
    corroboration: float = 0.06
    novelty: float = 0.10
    preference: float = 0.30
    """Approached only with very many decisions: n of them give n / (n + 50) of it."""

    def __post_init__(self) -> None:
        invalid = [name for name in self.__struct_fields__ if not 0 <= getattr(self, name) < math.inf]
        if invalid:
            raise InvalidError(*(FieldError(f"ranking.{name}", "a weight is a number from 0 up") for name in invalid))


class SourceRecord(Struct, frozen=True):
    """Settings of a source, and the user's decisions on drafts made from it."""

    weight: float = 1.0
    min_score: float | None = None
    approved: int = 0
    rejected: int = 0


class ScoringContext(Struct, frozen=True):
    """Inputs of the score besides the story and the time."""

    interests: tuple[str, ...] = ()
    """Words and phrases; one with a leading `-` excludes stories."""
    weights: Weights = Weights()
    half_life_hours: float = 18.0
    source_records: Mapping[str, SourceRecord] = {}
    """By source id; missing sources have the defaults."""
    recent_titles: tuple[str, ...] = ()
    """Titles of items drafted or posted in the last 60 days."""
    preference: Preference = Preference()
    min_score: float = 0.0
    """For all sources; a source's own `min_score` takes precedence."""


class PreparedContext(Struct, frozen=True):
    """A context with indexes over the candidates, which are scored relative to each other."""

    context: ScoringContext
    interests: Interests
    popularity: Popularity
    novelty: NoveltyIndex


def prepare(candidates: Sequence[Candidate], context: ScoringContext, now: datetime) -> PreparedContext:
    """Index the candidates for scoring."""
    return PreparedContext(
        context=context,
        interests=Interests(context.interests, candidates),
        popularity=Popularity(candidates, now),
        novelty=NoveltyIndex(context.recent_titles, candidates),
    )


def score(story: Candidate, prepared: PreparedContext, now: datetime) -> Score:
    """Return the story's score. Its total is exactly the sum of its parts' points."""
    parts = tuple(part(story, prepared, now) for part in _PARTS)
    return Score(total=sum(part.points for part in parts), parts=parts, sources=sources_of(story))


def _part(name: str, value: float, weight: float, why: str) -> ScorePart:
    # Rounded before it is weighted, so that displayed values and points agree.
    value = round(value, _DIGITS)
    return ScorePart(name=name, value=value, weight=weight, points=value * weight, why=why)


def _recency(story: Candidate, prepared: PreparedContext, now: datetime) -> ScorePart:
    age = max(0.0, (now - story.lead.published).total_seconds() / 3600)
    # A date in the future counts as now.
    why = f"published {format_relative(min(story.lead.published, now), now)}"
    value = 2 ** (-age / prepared.context.half_life_hours)
    return _part("recency", value, prepared.context.weights.recency, why)


def _interest(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    match = prepared.interests.match(story)
    return _part("interest", match.value, prepared.context.weights.interest, match.why)


def _source(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    """Return the user's weight of the source times its approval rate, smoothed by a Beta(2, 2) prior."""
    record = prepared.context.source_records.get(story.lead.source_id, SourceRecord())
    decision_count = record.approved + record.rejected
    value = record.weight * (record.approved + 2) / (decision_count + 4)
    why = f"{record.approved} approved, {record.rejected} rejected from {story.lead.source_name}"
    if not decision_count:
        why = f"no decisions yet on {story.lead.source_name}"
    if record.weight != 1:
        why += f", weight {record.weight:g}"
    return _part("source", min(1.0, value), prepared.context.weights.source, why)


def _popularity(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    value, why = prepared.popularity.percentile(story)
    return _part("popularity", value, prepared.context.weights.popularity, why)


def _corroboration(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    # Sources, not items: one source may repeat a story.
    count = len({item.source_id for item in story.items})
    value = min(1.0, math.log2(count) / _FULL_CORROBORATION)
    why = f"reported by {count} sources" if count > 1 else "reported by one source"
    return _part("corroboration", value, prepared.context.weights.corroboration, why)


def _novelty(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    similarity = prepared.novelty.most_similar(story)
    return _part("novelty", 1 - similarity.similarity, prepared.context.weights.novelty, similarity.why)


def _preference(story: Candidate, prepared: PreparedContext, _now: datetime) -> ScorePart:
    """Return the learnt preference, from -0.5 to 0.5: an item like any other gets no points."""
    preference, entry = prepared.context.preference, story.lead.entry
    weight = prepared.context.weights.preference * preference.confidence
    if not preference.decision_count:
        return _part("preference", 0.0, weight, "no decisions to learn from yet")
    prediction = preference.predict(f"{entry.title}\n{entry.summary}", story.lead.source_id)
    why = f"no word stands out in {plural(preference.decision_count, 'decision')}"
    return _part("preference", prediction.value, weight, ", ".join(map(str, prediction.records)) or why)


_PARTS: tuple[Callable[[Candidate, PreparedContext, datetime], ScorePart], ...] = (
    _recency,
    _interest,
    _source,
    _popularity,
    _corroboration,
    _novelty,
    _preference,
)
