"""The score of a story: a sum of parts, each between 0 and 1 times its weight, each with its reason in words.

Pure: what it needs to know comes in as `Context`, and the time as `now`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import Score, ScorePart
from copydesk.model.wire import Struct
from copydesk.ranking.interest import Interests
from copydesk.ranking.novelty import ToldBefore
from copydesk.ranking.popularity import Popularity
from copydesk.ranking.preference import Preference
from copydesk.ranking.stories import Candidate, tellers

_DIGITS = 4
"""Of a part's value: more would pretend to know."""
_FULL_CORROBORATION = 2
"""Doublings of the number of sources: four sources are as good as it gets."""


class Weights(Struct, frozen=True):
    """What each part counts at most. InvalidError below 0."""

    recency: float = 0.22
    interest: float = 0.28
    source: float = 0.12
    popularity: float = 0.14
    corroboration: float = 0.06
    novelty: float = 0.10
    preference: float = 0.30
    """Reached only with very many decisions: with n of them it is n / (n + 50) of this."""

    def __post_init__(self) -> None:
        wrong = [name for name in self.__struct_fields__ if not 0 <= getattr(self, name) < math.inf]
        if wrong:
            raise InvalidError(*(FieldError(f"ranking.{name}", "a weight is a number from 0 up") for name in wrong))


class Standing(Struct, frozen=True):
    """What is known of a source: its settings, and how the user decided on drafts made from it."""

    weight: float = 1.0
    min_score: float | None = None
    approved: int = 0
    rejected: int = 0


class Context(Struct, frozen=True):
    """What the score of a story depends on besides the story and the time."""

    interests: tuple[str, ...] = ()
    """Words and phrases; one that begins with `-` keeps a story out."""
    weights: Weights = Weights()
    half_life_hours: float = 18.0
    standings: Mapping[str, Standing] = {}
    """By source id; a source that is not there has the defaults."""
    told: tuple[str, ...] = ()
    """Titles of the items that were drafted or posted in the last 60 days."""
    preference: Preference = Preference()
    min_score: float = 0.0
    """For all sources; a source's own `min_score` goes before it."""


class Field(Struct, frozen=True):
    """A context made ready for a set of candidates, which are compared with each other."""

    context: Context
    interests: Interests
    popularity: Popularity
    told: ToldBefore


def survey(candidates: Sequence[Candidate], context: Context, now: datetime) -> Field:
    """What there is to know of all candidates together."""
    return Field(
        context=context,
        interests=Interests(context.interests, candidates),
        popularity=Popularity(candidates, now),
        told=ToldBefore(context.told, candidates),
    )


def score(story: Candidate, field: Field, now: datetime) -> Score:
    """The score of a story among those of `field`. The total is the sum of the points of the parts, exactly."""
    parts = tuple(part(story, field, now) for part in _PARTS)
    return Score(total=sum(part.points for part in parts), parts=parts, sources=tellers(story))


def _part(name: str, value: float, weight: float, why: str) -> ScorePart:
    value = round(value, _DIGITS)
    return ScorePart(name=name, value=value, weight=weight, points=value * weight, why=why)


def _recency(story: Candidate, field: Field, now: datetime) -> ScorePart:
    age = max(0.0, (now - story.lead.published).total_seconds() / 3600)
    value = 2 ** (-age / field.context.half_life_hours)
    return _part("recency", value, field.context.weights.recency, f"{_age(age)} old")


def _age(hours: float) -> str:
    for amount, unit in ((hours / 24, "day"), (hours, "hour"), (hours * 60, "minute")):
        if amount >= (2 if unit == "day" else 1):
            return f"{amount:.0f} {unit}{'s' * (round(amount) != 1)}"
    return "less than a minute"


def _interest(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    match = field.interests.match(story)
    return _part("interest", match.value, field.context.weights.interest, match.why)


def _source(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    """The user's weight of the source, times the share of approvals, which begins at a half (Beta(2, 2))."""
    standing = field.context.standings.get(story.lead.source_id, Standing())
    decided = standing.approved + standing.rejected
    value = standing.weight * (standing.approved + 2) / (decided + 4)
    why = f"{standing.approved} approved, {standing.rejected} rejected from {story.lead.source_name}"
    if not decided:
        why = f"nothing decided yet from {story.lead.source_name}"
    if standing.weight != 1:
        why += f", weight {standing.weight:g}"
    return _part("source", min(1.0, value), field.context.weights.source, why)


def _popularity(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    value, why = field.popularity.of(story)
    return _part("popularity", value, field.context.weights.popularity, why)


def _corroboration(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    count = len({item.source_id for item in story.items})
    value = min(1.0, math.log2(count) / _FULL_CORROBORATION)
    why = f"{count} sources tell it" if count > 1 else "one source tells it"
    return _part("corroboration", value, field.context.weights.corroboration, why)


def _novelty(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    likest = field.told.likest(story)
    return _part("novelty", 1 - likest.likeness, field.context.weights.novelty, likest.why)


def _preference(story: Candidate, field: Field, _now: datetime) -> ScorePart:
    learnt, entry = field.context.preference, story.lead.entry
    weight = field.context.weights.preference * learnt.trust
    if not learnt.labels:
        return _part("preference", 0.5, weight, "nothing learnt yet")
    opinion = learnt.judge(f"{entry.title}\n{entry.summary}", story.lead.source_id)
    pulls = ", ".join(pull.word for pull in opinion.pulls)
    tendency = "approve" if opinion.probability >= 0.5 else "reject"
    why = f"you tend to {tendency} {pulls}" if pulls else f"learnt from {learnt.labels} decisions"
    return _part("preference", opinion.probability, weight, why)


_PARTS: tuple[Callable[[Candidate, Field, datetime], ScorePart], ...] = (
    _recency,
    _interest,
    _source,
    _popularity,
    _corroboration,
    _novelty,
    _preference,
)
