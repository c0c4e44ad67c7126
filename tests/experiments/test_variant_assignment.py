"""Tests that drafts are assigned to variants in balanced blocks."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from copydesk.experiments.assignment import assign_variant, get_stratum
from copydesk.model.draft import Format

VARIANTS = st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=5, unique=True)
NAMES = st.text(max_size=10)


def assign(experiment: str, stratum: str, count: int, variants: list[str]) -> list[str]:
    return [assign_variant(experiment, stratum, index, variants) for index in range(count)]


@given(NAMES, NAMES, st.integers(0, 60), VARIANTS)
def test_variant_counts_differ_by_one_at_most(experiment, stratum, count, variants):
    counts = Counter(assign(experiment, stratum, count, variants))
    numbers = [counts[variant] for variant in variants]
    assert max(numbers) - min(numbers) <= 1
    assert sum(numbers) == count


@given(NAMES, NAMES, st.integers(0, 10**12), VARIANTS, st.randoms(use_true_random=False))
def test_variant_order_does_not_matter(experiment, stratum, index, variants, random):
    shuffled = random.sample(variants, len(variants))
    assert assign_variant(experiment, stratum, index, variants) == assign_variant(experiment, stratum, index, shuffled)


def test_assignment_is_stable_across_versions():
    """Running experiments must continue with the same sequence."""
    assert "".join(assign("experiment", "SHORT:x", 24, ["a", "b", "c"])) == "bacacbbaccabacbabcabcbac"


def test_experiments_and_strata_are_independent():
    sequences = {
        tuple(assign(experiment, stratum, 40, ["a", "b"])) for experiment in ("one", "two") for stratum in ("s", "t")
    }
    assert len(sequences) == 4


def test_block_orders_are_equally_frequent():
    blocks = Counter(tuple(assign(f"experiment {n}", "s", 3, ["a", "b", "c"])) for n in range(1_200))
    assert len(blocks) == 6
    assert all(140 < count < 260 for count in blocks.values())


def test_stratum_is_format_and_sorted_platforms():
    assert (
        get_stratum(Format.SHORT, ["x", "bluesky", "x"])
        == get_stratum(Format.SHORT, ("bluesky", "x"))
        == "SHORT:bluesky+x"
    )
    assert get_stratum(Format.SHORT, ()) != get_stratum(Format.BLOG, ())
