"""Tests for experiment results: counts and raw rates only."""

from datetime import UTC, datetime

from copydesk.experiments.results import Counts, results_of
from copydesk.model.experiment import Variant
from copydesk.model.wire import to_wire

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
VARIANTS = (
    Variant(id="a", label="Question", config={"hook": "question"}),
    Variant(id="b", label="Number", config={"hook": "number"}),
)
COUNTS = Counts(
    assigned=10, drafted=9, accepted=6, rejected=2, mean_edit_ratio=0.1, published=5, measured=4,
    interactions=30, impressions=400, interactions_seen=20,
)  # fmt: skip


def test_results_are_serialized():
    sent = to_wire(results_of("hook", VARIANTS, {"a": COUNTS}, now=NOW, winner="a"))
    none = dict.fromkeys(("assigned", "drafted", "accepted", "rejected", "published", "measured", "interactions"), 0)
    unknown = dict.fromkeys(
        ("acceptanceRate", "meanEditRatio", "impressions", "ratePooled", "interactionsPerPost"), None
    )
    assert sent == {
        "parameter": "hook",
        "dataAsOf": "2026-11-20T12:00:00.000Z",
        "arms": [
            {
                "id": "a",
                "name": "Question",
                "isControl": True,
                "assigned": 10,
                "drafted": 9,
                "accepted": 6,
                "rejected": 2,
                "acceptanceRate": 0.75,
                "meanEditRatio": 0.1,
                "published": 5,
                "measured": 4,
                "impressions": 400,
                "interactions": 30,
                "ratePooled": 0.05,
                "interactionsPerPost": 7.5,
            },
            {"id": "b", "name": "Number", "isControl": False} | none | unknown,
        ],
        "winner": "a",
    }


def test_rate_is_none_without_impressions():
    """Neither unknown nor zero impressions can be a divisor."""
    for impressions in (None, 0):
        counts = {"a": Counts(measured=2, interactions=3, impressions=impressions)}
        arm = results_of("hook", VARIANTS, counts, now=NOW).arms[0]
        assert (arm.rate_pooled, arm.interactions_per_post) == (None, 1.5)


def test_winner_is_never_inferred():
    assert results_of("hook", VARIANTS, {"a": COUNTS, "b": Counts()}, now=NOW).winner is None
