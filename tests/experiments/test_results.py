"""Tests for experiment results: counts and raw rates only."""

from datetime import UTC, datetime

from copydesk.experiments import VariantCounts, build_results
from copydesk.model.experiment import Variant
from copydesk.model.serialization import to_json_value

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
VARIANTS = (
    Variant(id="a", label="Question", config={"hook": "question"}),
    Variant(id="b", label="Number", config={"hook": "number"}),
)
COUNTS = VariantCounts(
    assigned=10, drafted=9, accepted=6, rejected=2, mean_edit_ratio=0.1, published=5, measured=4,
    interactions=30, impressions=400, interactions_with_impressions=20,
)  # fmt: skip


def test_results_are_serialized():
    sent = to_json_value(build_results("hook", VARIANTS, {"a": COUNTS}, now=NOW, winner="a"))
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
        counts = {"a": VariantCounts(measured=2, interactions=3, impressions=impressions)}
        arm = build_results("hook", VARIANTS, counts, now=NOW).arms[0]
        assert (arm.rate_pooled, arm.interactions_per_post) == (None, 1.5)


def test_winner_is_never_inferred():
    assert build_results("hook", VARIANTS, {"a": COUNTS, "b": VariantCounts()}, now=NOW).winner is None
