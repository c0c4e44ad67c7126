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
        assert untrained.predict("sqlite", "s1") == (0, ())


def test_simple_preference_is_learned() -> None:
    preference = train(sample_decisions(200))
    assert preference.predict("A faster query planner in sqlite", "s1").value > 0.3
    assert preference.predict("Celebrity yacht seen", "s1").value < -0.3


def test_reason_names_words_with_their_counts() -> None:
    preference = train(sample_decisions(200))
    liked = preference.predict("A new index for sqlite this week", "s1").records
    assert {record.word for record in liked[:2]} == {"sqlite", "index"}
    assert all(record.approved > record.rejected for record in liked)
    assert all(record.rejected > record.approved for record in preference.predict("Royal divorce", "s1").records)


def decide(text: str, *, approved: bool, count: int, reason: str = "") -> list[Decision]:
    """Return `count` decisions on items that share the words of `text` and nothing else."""
    return [
        Decision(text=f"{text} {text}{n}x{approved}", source_id="s1", approved=approved, reason=reason)
        for n in range(count)
    ]


def test_record_says_its_counts() -> None:
    decisions = [
        *decide("giveaway", approved=False, count=6),
        *decide("giveaway", approved=True, count=1),
        *decide("sqlite", approved=True, count=40),
    ]
    (record,) = train(decisions).predict("A giveaway", "s1").records
    assert str(record) == "rejected 6 of 7 with “giveaway”"


def test_word_is_not_named_below_five_decisions() -> None:
    def named(count: int) -> bool:
        decisions = [*decide("giveaway", approved=False, count=count), *decide("sqlite", approved=True, count=200)]
        return bool(train(decisions).predict("A giveaway", "s1").records)

    assert not named(4)
    assert named(5)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_preference_is_centred_at_zero(share: float) -> None:
    rng = random.Random(5)
    decisions = [
        Decision(text=" ".join(rng.sample(FILLER, 5)), source_id=f"s{n % 5}", approved=rng.random() < share)
        for n in range(300)
    ]
    preference = train(decisions)
    values = [preference.predict(decision.text, decision.source_id).value for decision in decisions]
    assert abs(sum(values) / len(values)) < 0.03
    assert preference.predict("never seen", "unknown").value == 0


def test_reason_of_rejection_counts() -> None:
    def value(reason: str) -> float:
        decisions = [
            *decide("giveaway phone", approved=False, count=6, reason=reason),
            *decide("sqlite", approved=True, count=6),
        ]
        return train(decisions).predict("giveaway", "s2").value

    assert value("no giveaways, no giveaway") < value("not for me") < value("too long, clumsy quotation") < 0


def test_boilerplate_of_source_is_not_learned() -> None:
    def footer(topic: str, n: int) -> str:
        return f"{topic}{n} {topic} The post first appeared on Papertrail"

    decisions = [
        *(Decision(text=footer("yacht", n), source_id="blog", approved=False) for n in range(20)),
        *decide("sqlite", approved=True, count=20),
    ]
    score = train(decisions).predict("A plan appeared. The post first appeared on Papertrail", "blog")
    assert {record.word for record in score.records}.isdisjoint({"post", "first", "appeared", "papertrail"})
    assert train(decisions).predict("appeared", "other").value == 0


def test_source_preference_is_learned() -> None:
    rng = random.Random(3)
    decisions = [
        Decision(text=" ".join(rng.sample(FILLER, 4)), source_id="good" if n % 2 else "bad", approved=bool(n % 2))
        for n in range(100)
    ]
    preference = train(decisions)
    assert preference.predict("report", "good").value > 0.2
    assert preference.predict("report", "bad").value < -0.2


def test_trust_grows_with_decisions() -> None:
    assert train(sample_decisions(50)).confidence == 0.5
    assert train(sample_decisions(450)).confidence == 0.9


def test_decision_order_does_not_matter() -> None:
    decisions = sample_decisions(60)
    shuffled = random.Random(1).sample(decisions, len(decisions))
    assert train(decisions).predict("sqlite", "s1") == train(shuffled).predict("sqlite", "s1")


def test_opposite_decisions_give_opposite_result() -> None:
    decisions = sample_decisions(80)
    opposite = [
        Decision(text=decision.text, source_id=decision.source_id, approved=not decision.approved)
        for decision in decisions
    ]
    for text in ("sqlite query", "celebrity yacht", "report", "never seen"):
        sum_of_both = train(decisions).predict(text, "s1").value + train(opposite).predict(text, "s1").value
        assert math.isclose(sum_of_both, 0, abs_tol=0.02)


def test_heavier_decision_counts_more() -> None:
    def value_with(weight: float) -> float:
        liked = Decision(text="sqlite", source_id="s1", approved=True, weight=weight)
        return train([liked, Decision(text="yacht", source_id="s2", approved=False)]).predict("sqlite", "s1").value

    assert value_with(3) > value_with(1) > value_with(0.3) > 0


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_invalid_weight_is_ignored(weight: float) -> None:
    assert train([Decision(text="sqlite", source_id="s1", approved=True, weight=weight)]).decision_count == 0


@given(st.lists(st.builds(Decision, text=st.text(max_size=60), source_id=st.text(max_size=5), approved=st.booleans())))
@settings(max_examples=sample_size(60))
def test_any_text_can_be_learned(decisions: list[Decision]) -> None:
    preference = train(decisions)
    for decision in decisions:
        assert -0.5 <= preference.predict(decision.text, decision.source_id).value <= 0.5


def test_empty_text_is_judged_by_source() -> None:
    assert -0.5 < train(sample_decisions(20)).predict("", "s1").value < 0.5


@pytest.mark.proof
@pytest.mark.parametrize("count", [20, 60, 200, 600])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_coin_flip_reviewer_sees_hardly_any_tendency(count: int, share: float) -> None:
    """A reviewer who decides at random sees a claimed tendency on at most 5 % of the items."""
    claimed = items = 0
    for seed in range(sample_size(80)):
        rng = random.Random(f"{count} {share} {seed}")
        # Words as frequent as in real titles: few that occur often, many that are rare.
        words = [f"word{round(rng.paretovariate(0.6))}" for _ in range(20 * (count + 100))]
        texts = [(" ".join(words[start : start + 15]), f"s{rng.randrange(8)}") for start in range(0, len(words), 20)]
        decided, unseen = texts[:count], texts[count:]
        preference = train(
            Decision(text=text, source_id=source, approved=rng.random() < share) for text, source in decided
        )
        claimed += sum(bool(preference.predict(text, source).records) for text, source in unseen)
        items += len(unseen)
    assert claimed / items <= 0.05
