"""Estimate the probability that the user approves a draft without editing it.

A Bayesian logistic regression over features of the draft and of its story, updated one decision at a time, so that each
decision is first predicted by a model that has not seen it. Its weights start from a shipped prior. It is averaged with
the user's base rate, each weighted by how well it has predicted so far: for a reviewer whose decisions do not depend on
the features, the base rate remains.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from copydesk.model.confidence import MIN_DECISIONS, ConfidenceBin, ConfidenceReport
from copydesk.model.draft import Draft, Field, Format, Severity, Trace
from copydesk.model.serialization import Struct

PRIOR_RATE = 0.5
"""Base rate before any decision: about half of 321 drafts that were judged by hand could be posted as they were."""
_PRIOR_DECISIONS = 2.0
"""Decisions that the prior counts for in the user's base rate."""
_MEMORY = 0.98
"""How much of the earlier evidence for model or base rate counts at each decision: tastes change."""
_MAX_LOGIT = 30.0
_MAX_PROBABILITY = 0.98
_BINS = 5
_NEWTON_STEPS = 8
_STANDARD_SHORT = 300
"""Characters that count as full length."""

_DANGLING = re.compile(
    r"[\"“‘'(\[]*(?:this|that|these|those|it|its|he|she|they|we|i|but|and|so|or|also|such|here|there|then|however|"
    r"moreover|instead|meanwhile|still|yet|both|another|others|the (?:latter|former|same))\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I’m|we|we're|my|our|us|me)\b")
_ANNOUNCES = re.compile(
    r"\b(?:read (?:more|on)|learn (?:more|how)|click|subscribe|sign up|join us|check out|find out|stay tuned|"
    r"in this (?:post|article|video|episode|issue)|this (?:post|article|video|episode|week)|below|you can now|"
    r"we(?:'re| are|’re) (?:excited|happy|pleased|proud|thrilled)|happy to announce|welcome to|first appeared)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?。！？…]['\"”’»)\]]*$")
_CUT = re.compile(r"(?:…|\.\.\.)['\"”’»)\]]*$")
_NAME_OR_NUMBER = re.compile(r"(?<=\s)[A-Z][\w'’-]+|\d[\d.,]*")
_CREDIT = re.compile(r"[^\W\d_]{3,}")
_LINK_OR_TAG = re.compile(r"https?://\S+|[#@]\w+")
_WORD = re.compile(r"[^\W_]{4,}")
_HEADED = re.compile(r"^\W*[\w.'’&-]+(?: [\w.'’&-]+){0,4}(?: [-–—|] |: )|^(?:Show|Ask|Tell) HN")
_POINTS_OUTSIDE = re.compile(
    r"\b(?:(?:that|this|these|those|such|same|other|another|former|latter|above|below|previous|following|next|last)"
    r"\s+[a-z]\w*|equally|the (?:first|second|third)|one (?:common )?example|however|example)\b|\(\d",
    re.IGNORECASE,
)
_BEGINNING = 5
"""Characters by which words are compared, so that inflections agree."""
_COMPARED_PARTS = 12
_BARE_TITLE = 6
"""Words below which a title alone says little."""

Features = tuple[float, ...]


class _Prior(NamedTuple):
    """A feature: its name, and mean and standard deviation of its weight before any decision."""

    name: str
    mean: float
    spread: float


_PRIORS = (
    _Prior("intercept", 0.6, 1.5),
    _Prior("thread", -0.6, 0.8),
    _Prior("blog", -1.0, 0.8),
    _Prior("titleOnly", -0.4, 1.0),
    _Prior("unattributed", -0.5, 0.8),
    _Prior("dangling", -1.0, 0.8),
    _Prior("firstPerson", -0.6, 0.8),
    _Prior("announces", -1.0, 0.8),
    _Prior("cut", -1.0, 0.8),
    _Prior("short", -0.8, 0.8),
    _Prior("long", -0.4, 0.8),
    _Prior("question", -0.5, 0.8),
    _Prior("repeatsTitle", -1.5, 1.0),
    _Prior("repeatsItself", -1.0, 0.8),
    _Prior("headedTitle", -0.6, 0.8),
    _Prior("bareTitle", -0.8, 0.8),
    _Prior("pointsOutside", -0.8, 0.8),
    _Prior("quotations", -0.6, 0.8),
    _Prior("nestedQuotation", -0.4, 0.8),
    _Prior("specific", 0.6, 0.8),
    _Prior("errors", -1.5, 0.8),
    _Prior("warnings", -0.6, 0.8),
    _Prior("length", 0.0, 0.5),
    _Prior("hashtags", 0.0, 0.5),
    _Prior("interest", 0.4, 0.8),
    _Prior("source", 0.4, 0.8),
    _Prior("preference", 1.0, 1.0),
    _Prior("popularity", 0.0, 0.5),
    _Prior("corroboration", 0.0, 0.5),
)
FEATURES = tuple(prior.name for prior in _PRIORS)


def draft_features(draft: Draft) -> Features:
    """Return the features of a draft in the order of FEATURES, each about 0 to 1, those of the score around 0."""
    quotations = [trace.text for trace in draft.sentences if trace.field in (Field.SUMMARY, Field.TEXT)]
    title = " ".join(trace.text for trace in draft.sentences if trace.field is Field.TITLE)
    # Of a writer that does not report the origin of its words, the whole text is looked at.
    parts = quotations or ([] if draft.sentences else [_LINK_OR_TAG.sub("", draft.text).strip()])
    first = parts[0] if parts else ""
    severities = [finding.severity for finding in draft.checks.findings]
    words = len(first.split())
    values = {
        "intercept": 1.0,
        "thread": draft.format is Format.THREAD,
        "blog": draft.format is Format.BLOG,
        "titleOnly": not parts,
        "unattributed": bool(draft.sentences) and not any(map(_names_source, draft.sentences)),
        "dangling": _share(parts, _DANGLING.match),
        "firstPerson": _share(parts, _FIRST_PERSON.search),
        "announces": _share(parts, _ANNOUNCES.search),
        "cut": _share(parts, lambda text: _CUT.search(text) or not _ENDS.search(text)),
        "short": bool(parts) and words < 8,
        "long": max(0.0, min(1.0, (words - 30) / 30)),
        "question": first.endswith("?"),
        "repeatsTitle": max((_overlap(part, title) for part in parts[:_COMPARED_PARTS]), default=0.0),
        "repeatsItself": _repetition(parts[:_COMPARED_PARTS]),
        "headedTitle": _HEADED.search(title) is not None,
        "bareTitle": not parts and (len(title.split()) < _BARE_TITLE or not _NAME_OR_NUMBER.search(title)),
        "pointsOutside": _share(parts, _POINTS_OUTSIDE.search),
        "quotations": min(1.0, max(0, len(parts) - 1) / 3),
        "nestedQuotation": _share(parts, lambda text: any(mark in text for mark in '“”"«»„')),
        "specific": min(1.0, len(_NAME_OR_NUMBER.findall(first)) / 4),
        "errors": Severity.ERROR in severities,
        "warnings": min(1.0, severities.count(Severity.WARNING) / 3),
        "length": min(1.0, len(draft.text) / _STANDARD_SHORT) if draft.format is Format.SHORT else 1.0,
        "hashtags": min(1.0, draft.text.count("#") / 3),
        **_story_features(draft),
    }
    return tuple(float(values[name]) for name in FEATURES)


def _share(parts: Sequence[str], is_found: Callable[[str], object]) -> float:
    return sum(bool(is_found(part)) for part in parts) / len(parts) if parts else 0.0


def _names_source(trace: Trace) -> bool:
    """Return True for words of the writer's own that are more than links and hashtags."""
    return trace.field is Field.TEMPLATE and _CREDIT.search(_LINK_OR_TAG.sub("", trace.text)) is not None


def _overlap(text: str, title: str) -> float:
    """Return the share of the words of the shorter of both that occur in the other, in any inflection."""
    title_words, text_words = _word_beginnings(title), _word_beginnings(text)
    return len(title_words & text_words) / min(len(title_words), len(text_words)) if title_words and text_words else 0.0


def _repetition(parts: Sequence[str]) -> float:
    """Return the largest overlap of two parts."""
    return max((_overlap(part, other) for part, other in combinations(parts, 2)), default=0.0)


def _word_beginnings(text: str) -> set[str]:
    return {word.casefold()[:_BEGINNING] for word in _WORD.findall(text)}


def _story_features(draft: Draft) -> dict[str, float]:
    """Return the parts of the story's score, moved so that an average part is 0."""
    parts = {part.name: part.value for part in draft.score.parts} if draft.score else {}
    centred = {name: parts.get(name, 0.5) - 0.5 for name in ("interest", "source", "popularity")}
    return {
        **centred,
        "preference": 2 * parts.get("preference", 0.0),
        "corroboration": parts.get("corroboration", 0.0),
    }


class Estimate(NamedTuple):
    """A draft's confidence, and False if it is not known yet."""

    confidence: float
    known: bool


class Prediction(NamedTuple):
    """A prediction of a decision, made before it was learnt."""

    confidence: float
    base_rate: float
    """The base rate at that time: the prediction without a model."""
    approved: bool


class Decision(Struct, frozen=True):
    """The features of a draft as it was proposed, and the user's decision."""

    features: Features
    approved: bool
    """Approved without an edit."""


class ConfidenceModel:
    """The estimator, and the record of its predictions."""

    def __init__(self) -> None:
        self._means = [prior.mean for prior in _PRIORS]
        self._covariance = [
            [prior.spread**2 if row == column else 0.0 for column in range(len(_PRIORS))]
            for row, prior in enumerate(_PRIORS)
        ]
        self.decision_count = 0
        self.approved = 0
        """Approved without an edit."""
        self._log_odds = 0.0
        """Evidence for the model over the base rate, as a logarithm."""
        self.predictions: list[Prediction] = []
        """Of each decision that was predicted by a model with enough decisions, in order."""

    @property
    def is_known(self) -> bool:
        return self.decision_count >= MIN_DECISIONS

    @property
    def base_rate(self) -> float:
        """Return the share of drafts that the user approved without an edit, shrunk towards the prior."""
        prior_successes = PRIOR_RATE * _PRIOR_DECISIONS
        return (self.approved + prior_successes) / (self.decision_count + _PRIOR_DECISIONS)

    def estimate(self, features: Features) -> Estimate:
        """Return the confidence of a draft with these features."""
        if not self.is_known:
            return Estimate(PRIOR_RATE, known=False)
        return Estimate(round(self._predict(features), 3), known=True)

    def update(self, features: Features, *, approved: bool) -> None:
        """Learn a decision: True if the draft was approved without an edit."""
        by_model, base = self._predict_by_model(features), self.base_rate
        if self.is_known:
            self.predictions.append(Prediction(self._mix(by_model, base), base, approved))
        likelihoods = (by_model, base) if approved else (1 - by_model, 1 - base)
        self._log_odds = _MEMORY * self._log_odds + math.log(likelihoods[0] / likelihoods[1])
        self._update_weights(features, approved=approved)
        self.decision_count += 1
        self.approved += approved

    def _predict(self, features: Features) -> float:
        return self._mix(self._predict_by_model(features), self.base_rate)

    def _mix(self, by_model: float, base: float) -> float:
        share = _sigmoid(self._log_odds)
        return share * by_model + (1 - share) * base

    def _predict_by_model(self, features: Features) -> float:
        """Return the probability, averaged over the uncertainty of the weights (MacKay 1992)."""
        logit = sum(mean * value for mean, value in zip(self._means, features, strict=True))
        _, variance = self._project(features)
        probability = _sigmoid(logit / math.sqrt(1 + math.pi * variance / 8))
        return min(_MAX_PROBABILITY, max(1 - _MAX_PROBABILITY, probability))

    def _project(self, features: Features) -> tuple[list[float], float]:
        """Return the covariance times the features, and the variance of the logit."""
        used = [(index, value) for index, value in enumerate(features) if value]
        gains = [sum(row[index] * value for index, value in used) for row in self._covariance]
        return gains, sum(gains[index] * value for index, value in used)

    def _update_weights(self, features: Features, *, approved: bool) -> None:
        """Replace the weights' distribution by the Gaussian at the new mode (Laplace), found by Newton's method."""
        gains, variance = self._project(features)
        logit = sum(mean * value for mean, value in zip(self._means, features, strict=True))
        step = 0.0
        for _ in range(_NEWTON_STEPS):
            probability = _sigmoid(logit + variance * step)
            slope = 1 + variance * probability * (1 - probability)
            step -= (step - (approved - probability)) / slope
        probability = _sigmoid(logit + variance * step)
        curvature = probability * (1 - probability)
        factor = curvature / (1 + curvature * variance)
        self._means = [mean + gain * step for mean, gain in zip(self._means, gains, strict=True)]
        for row, row_gain in zip(self._covariance, gains, strict=True):
            scaled = factor * row_gain
            if scaled:
                row[:] = [value - scaled * gain for value, gain in zip(row, gains, strict=True)]


def train(decisions: Iterable[Decision]) -> ConfidenceModel:
    """Return a model that has learnt the decisions, which are given oldest first."""
    model = ConfidenceModel()
    for decision in decisions:
        model.update(decision.features, approved=decision.approved)
    return model


def report(model: ConfidenceModel) -> ConfidenceReport:
    """Return how well the confidence predicted decisions before they were learnt."""
    predictions = model.predictions
    count = len(predictions)
    return ConfidenceReport(
        decisions=model.decision_count,
        needed=MIN_DECISIONS,
        known=model.is_known,
        base_rate=model.base_rate if model.decision_count else None,
        predicted=count,
        brier=_mean((prediction.confidence - prediction.approved) ** 2 for prediction in predictions)
        if count
        else None,
        brier_of_base_rate=_mean((prediction.base_rate - prediction.approved) ** 2 for prediction in predictions)
        if count
        else None,
        bins=tuple(_bin(predictions, number) for number in range(_BINS)) if count else (),
    )


def _bin(predictions: Sequence[Prediction], number: int) -> ConfidenceBin:
    own = [prediction for prediction in predictions if min(_BINS - 1, int(prediction.confidence * _BINS)) == number]
    return ConfidenceBin(
        low=number / _BINS,
        high=(number + 1) / _BINS,
        drafts=len(own),
        predicted=_mean(prediction.confidence for prediction in own) if own else None,
        approved=_mean(float(prediction.approved) for prediction in own) if own else None,
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, value))))
