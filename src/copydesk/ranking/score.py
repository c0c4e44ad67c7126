"""Score a story: a sum of parts, each a value from 0 to 1 times its weight, each with its reason.

Pure: what it needs to know comes in as `ScoringContext`, and the time as `now`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Score, ScorePart
from copydesk.model.serialization import Struct
from copydesk.ranking.preference import Preference
from copydesk.ranking.signals import Interests, NoveltyIndex, Popularity
from copydesk.ranking.stories import Candidate, sources_of
from copydesk.text.formatting import format_relative

_DIGITS = 4
"""Of a part's value; more would be false precision."""
_FULL_CORROBORATION = 2
"""log2 of the number of sources that gives the full value: four."""


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
    """The user's weight of the source times its approval rate, smoothed by a Beta(2, 2) prior."""
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
    preference, entry = prepared.context.preference, story.lead.entry
    weight = prepared.context.weights.preference * preference.confidence
    if not preference.decision_count:
        return _part("preference", 0.5, weight, "no decisions to learn from yet")
    prediction = preference.predict(f"{entry.title}\n{entry.summary}", story.lead.source_id)
    words = ", ".join(feature.word for feature in prediction.features)
    verb = "approve" if prediction.probability >= 0.5 else "reject"
    why = f"you tend to {verb} {words}" if words else f"learned from {preference.decision_count:,} decisions"
    return _part("preference", prediction.probability, weight, why)


_PARTS: tuple[Callable[[Candidate, PreparedContext, datetime], ScorePart], ...] = (
    _recency,
    _interest,
    _source,
    _popularity,
    _corroboration,
    _novelty,
    _preference,
)
