"""Drafts are dealt to variants in blocks, so that the variants stay level."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from copydesk.experiments.assignment import stratum_of, variant_at
from copydesk.model.draft import Format

VARIANTS = st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=5, unique=True)
NAMES = st.text(max_size=10)


def dealt(experiment: str, stratum: str, count: int, variants: list[str]) -> list[str]:
    return [variant_at(experiment, stratum, index, variants) for index in range(count)]


@given(NAMES, NAMES, st.integers(0, 60), VARIANTS)
def test_after_any_number_of_drafts_no_variant_is_more_than_one_ahead(experiment, stratum, count, variants):
    counts = Counter(dealt(experiment, stratum, count, variants))
    numbers = [counts[variant] for variant in variants]
    assert max(numbers) - min(numbers) <= 1
    assert sum(numbers) == count


@given(NAMES, NAMES, st.integers(0, 10**12), VARIANTS, st.randoms(use_true_random=False))
def test_the_order_in_which_variants_are_listed_does_not_matter(experiment, stratum, index, variants, random):
    shuffled = random.sample(variants, len(variants))
    assert variant_at(experiment, stratum, index, variants) == variant_at(experiment, stratum, index, shuffled)


def test_the_assignment_never_changes_between_versions():
    """What was dealt yesterday must go on as it began."""
    assert "".join(dealt("experiment", "SHORT:x", 24, ["a", "b", "c"])) == "bacacbbaccabacbabcabcbac"


def test_experiments_and_strata_are_dealt_apart():
    dealings = {
        tuple(dealt(experiment, stratum, 40, ["a", "b"])) for experiment in ("one", "two") for stratum in ("s", "t")
    }
    assert len(dealings) == 4


def test_each_order_of_a_block_comes_about_as_often():
    blocks = Counter(tuple(dealt(f"experiment {n}", "s", 3, ["a", "b", "c"])) for n in range(1_200))
    assert len(blocks) == 6
    assert all(140 < count < 260 for count in blocks.values())


def test_a_stratum_is_a_format_and_its_platforms_in_any_order():
    assert (
        stratum_of(Format.SHORT, ["x", "bluesky", "x"])
        == stratum_of(Format.SHORT, ("bluesky", "x"))
        == "SHORT:bluesky+x"
    )
    assert stratum_of(Format.SHORT, ()) != stratum_of(Format.BLOG, ())
