"""Tests for the confidence of drafts: what is learnt, what is claimed, and how it is measured."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console_driver import make_draft
from copydesk.drafting.confidence import (
    FEATURES,
    MIN_DECISIONS,
    PRIOR_RATE,
    Decision,
    Features,
    draft_features,
    report,
    train,
)
from copydesk.model.draft import Checks, Draft, Field, Finding, Format, Score, ScorePart, Severity, Trace
from sampling import sample_size

QUOTE = "The harbour of Oslo opened 12 new berths for electric ferries in March 2026."


def quoting(*quotations: str, title: str = "", **values: object) -> Draft:
    """Return a draft that quotes these sentences."""
    traces = [Trace(text=text, field=Field.TEXT, start=0, end=len(text)) for text in quotations]
    if title:
        traces.insert(0, Trace(text=title, field=Field.TITLE, start=0, end=len(title)))
    credit = Trace(text="The Lighthouse", field=Field.TEMPLATE)
    text = " ".join([title, *quotations, "— The Lighthouse"])
    return make_draft(**{"text": text, "sentences": (*traces, credit), "checks": Checks(ran=9), **values})


def feature(draft: Draft, name: str) -> float:
    return draft_features(draft)[FEATURES.index(name)]


@pytest.mark.parametrize(
    ("name", "plain", "marked"),
    [
        ("dangling", QUOTE, "This opened 12 new berths for electric ferries in Oslo."),
        ("firstPerson", QUOTE, "In Oslo we opened 12 new berths for electric ferries."),
        ("announces", QUOTE, "Read more about the 12 new berths in Oslo at the end."),
        ("cut", QUOTE, "The harbour of Oslo opened 12 new berths for electric…"),
        ("short", QUOTE, "Oslo opened berths."),
        ("question", QUOTE, "Why did the harbour of Oslo open 12 new berths now?"),
        ("pointsOutside", QUOTE, "The harbour of Oslo opened that berth for electric ferries."),
        ("nestedQuotation", QUOTE, "The harbour “of the year” opened 12 new berths in Oslo."),
    ],
)
def test_unfit_quotation_has_its_feature(name: str, plain: str, marked: str) -> None:
    assert feature(quoting(plain), name) == 0
    assert feature(quoting(marked), name) == 1


def test_quotation_of_the_title_is_a_repetition() -> None:
    assert feature(quoting(QUOTE, title="New berths for ferries in Oslo"), "repeatsTitle") == 1
    assert feature(quoting(QUOTE, title="Quarry closes after a century"), "repeatsTitle") == 0


def test_quotations_that_say_the_same_are_a_repetition() -> None:
    assert feature(quoting(QUOTE, "In Oslo the harbour opened new berths."), "repeatsItself") > 0.9
    assert feature(quoting(QUOTE, "Ships from Bergen need no diesel."), "repeatsItself") == 0


@pytest.mark.parametrize("title", ["Ardour: Ardour 8.2 released", "Show HN: A ferry timetable", "Africa - Summit ends"])
def test_title_with_a_leftover_head(title: str) -> None:
    assert feature(quoting(title=title), "headedTitle") == 1
    assert feature(quoting(title="Oslo opens 12 berths for electric ferries"), "headedTitle") == 0


def test_bare_title() -> None:
    assert feature(quoting(title="A dynamic market"), "bareTitle") == 1
    assert feature(quoting(title="The harbour of Oslo opens 12 new berths"), "bareTitle") == 0


def test_names_and_numbers_make_it_specific() -> None:
    assert feature(quoting(QUOTE), "specific") > feature(
        quoting("They opened some of the new berths lately."), "specific"
    )


def test_title_alone() -> None:
    assert feature(quoting(title="A title"), "titleOnly") == 1
    assert feature(quoting(QUOTE, title="A title"), "titleOnly") == 0


def test_missing_credit() -> None:
    bare = quoting(QUOTE)
    assert feature(bare, "unattributed") == 0
    traces = (bare.sentences[0], Trace(text="https://lighthouse.example #ferries", field=Field.TEMPLATE))
    assert feature(quoting(QUOTE, sentences=traces), "unattributed") == 1


def test_findings_count() -> None:
    def found(severity: Severity) -> Draft:
        return quoting(QUOTE, checks=Checks(ran=9, findings=(Finding(rule="r", severity=severity, message="m"),)))

    assert feature(found(Severity.ERROR), "errors") == 1
    assert feature(found(Severity.WARNING), "warnings") == pytest.approx(1 / 3)
    assert feature(found(Severity.INFO), "warnings") == feature(found(Severity.INFO), "errors") == 0


def test_score_counts() -> None:
    liked = ScorePart(name="preference", value=0.4, weight=0.3, points=0.12, why="w")
    assert feature(quoting(QUOTE, score=Score(total=1.0, parts=(liked,))), "preference") == 0.8
    assert feature(quoting(QUOTE, score=None), "preference") == 0


def test_text_of_unknown_origin_is_looked_at() -> None:
    assert feature(make_draft(text="This opened in Oslo.", sentences=()), "dangling") == 1


@given(st.text(max_size=400), st.sampled_from(Format), st.lists(st.text(max_size=80), max_size=4))
@settings(max_examples=sample_size(100))
def test_features_of_any_text_are_bounded(text: str, format: Format, quotations: list[str]) -> None:
    traces = tuple(Trace(text=quotation, field=Field.TEXT) for quotation in quotations)
    found = draft_features(make_draft(text=text, format=format, sentences=traces))
    assert len(found) == len(FEATURES)
    assert all(-1 <= value <= 1 for value in found)


def simulate(count: int, seed: int, *, flaw: float, rate: float = 0.7) -> list[Decision]:
    """Return decisions of a reviewer who dislikes a third of the drafts by `flaw`, and else approves at `rate`."""
    rng = random.Random(seed)
    good, bad = (draft_features(quoting(text)) for text in (QUOTE, "This was the last time they said so."))
    decisions = []
    for _ in range(count):
        is_bad = rng.random() < 1 / 3
        chance = rate - flaw if is_bad else rate
        decisions.append(Decision(features=bad if is_bad else good, approved=rng.random() < chance))
    return decisions


def test_confidence_is_the_prior_below_the_minimum() -> None:
    decisions = simulate(MIN_DECISIONS - 1, 1, flaw=0.6)
    assert train(decisions).estimate(decisions[0].features) == (PRIOR_RATE, False)
    assert train([*decisions, decisions[0]]).estimate(decisions[0].features).known


def test_confidence_learns_what_the_reviewer_dislikes() -> None:
    good, bad = (draft_features(quoting(text)) for text in (QUOTE, "This was the last time they said so."))
    model = train(simulate(150, 2, flaw=0.6))
    assert model.estimate(good).confidence == pytest.approx(0.7, abs=0.1)
    assert model.estimate(bad).confidence == pytest.approx(0.1, abs=0.1)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_coin_flip_leaves_the_base_rate(rate: float) -> None:
    decisions = simulate(200, 3, flaw=0.0, rate=rate)
    model = train(decisions)
    assert model.base_rate == pytest.approx(rate, abs=0.08)
    for decision in decisions[:10]:
        assert model.estimate(decision.features).confidence == pytest.approx(model.base_rate, abs=0.12)


def test_report_compares_with_the_base_rate() -> None:
    found = report(train(simulate(150, 4, flaw=0.6)))
    assert (found.decisions, found.predicted, found.known) == (150, 130, True)
    assert found.brier is not None
    assert found.brier_of_base_rate is not None
    assert found.brier < found.brier_of_base_rate
    assert sum(reliability.drafts for reliability in found.bins) == found.predicted
    for reliability in found.bins:
        if reliability.drafts >= 30:
            assert reliability.predicted == pytest.approx(reliability.approved, abs=0.15)


def test_report_claims_nothing_before_the_minimum() -> None:
    found = report(train(simulate(12, 5, flaw=0.6)))
    assert (found.known, found.brier, found.brier_of_base_rate, found.bins) == (False, None, None, ())


def test_each_decision_is_predicted_before_it_is_learnt() -> None:
    decisions = simulate(60, 6, flaw=0.6)
    changed = [*decisions[:-1], Decision(features=decisions[-1].features, approved=not decisions[-1].approved)]
    made, other = train(decisions).predictions[-1], train(changed).predictions[-1]
    assert made.confidence == other.confidence


def brier_scores(seeds: Iterable[int], *, flaw: float) -> tuple[float, float]:
    """Return the mean Brier score of the confidence and of the base rate over simulated reviewers."""
    reports = [report(train(simulate(120, seed, flaw=flaw))) for seed in seeds]
    return (
        sum(found.brier or 0 for found in reports) / len(reports),
        sum(found.brier_of_base_rate or 0 for found in reports) / len(reports),
    )


@pytest.mark.proof
def test_confidence_beats_the_base_rate_only_where_there_is_something_to_learn() -> None:
    seeds = range(sample_size(80))
    confidence, base_rate = brier_scores(seeds, flaw=0.6)
    assert confidence < base_rate - 0.02
    confidence, base_rate = brier_scores(seeds, flaw=0.0)
    assert confidence < base_rate + 0.01


def test_features_are_those_of_the_priors() -> None:
    features: Features = draft_features(quoting(QUOTE))
    assert features[0] == 1
    assert len(features) == len(FEATURES) == len(set(FEATURES))
