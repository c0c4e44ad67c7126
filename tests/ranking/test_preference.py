"""Tests for learning preferences from the user's decisions."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.ranking.preference import Decision, Preference, train
from sampling import sample_size

TOPICS = {
    "databases": ["sqlite", "postgres", "index", "query", "transaction"],
    "gossip": ["celebrity", "divorce", "yacht", "paparazzi", "royal"],
}
FILLER = ["yesterday", "report", "people", "company", "plan", "week", "city", "group", "market", "public"]


def sample_decisions(count: int, seed: int = 7) -> list[Decision]:
    """Return the decisions of a reviewer who likes databases, dislikes gossip and contradicts that one time in ten."""
    rng = random.Random(seed)
    decisions = []
    for _ in range(count):
        topic = rng.choice(list(TOPICS))
        tokens = rng.sample(TOPICS[topic], 2) + rng.sample(FILLER, 5)
        liked = (topic == "databases") ^ (rng.random() < 0.1)
        decisions.append(Decision(text=" ".join(tokens), source_id=f"s{rng.randrange(5)}", approved=liked))
    return decisions


def test_untrained_preference_is_neutral() -> None:
    for untrained in (Preference(), train([])):
        assert untrained.decision_count == 0
        assert untrained.confidence == 0
        assert untrained.predict("sqlite", "s1").probability == 0.5
        assert untrained.predict("sqlite", "s1").features == ()


def test_simple_preference_is_learned() -> None:
    preference = train(sample_decisions(200))
    assert preference.predict("A faster query planner in sqlite", "s1").probability > 0.8
    assert preference.predict("Celebrity yacht seen", "s1").probability < 0.2


def test_reason_names_strongest_terms() -> None:
    preference = train(sample_decisions(200))
    liked = preference.predict("A new index for sqlite this week", "s1").features
    assert {pull.word for pull in liked[:2]} == {"sqlite", "index"}
    assert all(pull.weight > 0 for pull in liked)
    assert all(pull.weight < 0 for pull in preference.predict("Royal divorce with a celebrity", "s1").features)


def test_source_preference_is_learned() -> None:
    rng = random.Random(3)
    decisions = [
        Decision(text=" ".join(rng.sample(FILLER, 4)), source_id="good" if n % 2 else "bad", approved=bool(n % 2))
        for n in range(100)
    ]
    preference = train(decisions)
    assert preference.predict("report", "good").probability > 0.7
    assert preference.predict("report", "bad").probability < 0.3


def test_trust_grows_with_decisions() -> None:
    assert train(sample_decisions(50)).confidence == 0.5
    assert train(sample_decisions(450)).confidence == 0.9


def test_decision_order_does_not_matter() -> None:
    decisions = sample_decisions(60)
    shuffled = random.Random(1).sample(decisions, len(decisions))
    assert train(decisions).predict("sqlite", "s1").probability == train(shuffled).predict("sqlite", "s1").probability


def test_opposite_decisions_give_opposite_result() -> None:
    decisions = sample_decisions(80)
    opposite = [
        Decision(text=decision.text, source_id=decision.source_id, approved=not decision.approved)
        for decision in decisions
    ]
    for text in ("sqlite query", "celebrity yacht", "report", "never seen"):
        sum_of_both = train(decisions).predict(text, "s1").probability + train(opposite).predict(text, "s1").probability
        assert math.isclose(sum_of_both, 1, abs_tol=0.02)


def test_heavier_decision_counts_more() -> None:
    def probability_with(weight: float) -> float:
        liked = Decision(text="sqlite", source_id="s1", approved=True, weight=weight)
        return (
            train([liked, Decision(text="yacht", source_id="s2", approved=False)]).predict("sqlite", "s1").probability
        )

    assert probability_with(3) > probability_with(1) > probability_with(0.3) > 0.5


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_invalid_weight_is_ignored(weight: float) -> None:
    assert train([Decision(text="sqlite", source_id="s1", approved=True, weight=weight)]).decision_count == 0


@given(st.lists(st.builds(Decision, text=st.text(max_size=60), source_id=st.text(max_size=5), approved=st.booleans())))
@settings(max_examples=sample_size(60))
def test_any_text_can_be_learned(decisions: list[Decision]) -> None:
    preference = train(decisions)
    for decision in decisions:
        assert 0 <= preference.predict(decision.text, decision.source_id).probability <= 1


def test_empty_text_is_judged_by_source() -> None:
    assert 0 < train(sample_decisions(20)).predict("", "s1").probability < 1
