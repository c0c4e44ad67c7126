"""Tests that experiments without a difference rarely have a winner, and that intervals contain the truth.

The samples of `make test` are small: their limits allow for chance, those of `make prove` do not.
"""

import pytest

from copydesk.model.experiment import Metric
from sampling import EXHAUSTIVE
from simulated_experiments import AA_SETTINGS, POWER_SETTINGS, RUNS, Setting, flagged_splits, simulate

SAMPLE = 40
"""Runs of a setting in `make test`."""
CHANCE = 0.0 if EXHAUSTIVE else 0.12
"""How far a share in the sample may be off."""
SAMPLED = {
    Setting(Metric.ACCEPTANCE, False, 2, 20),
    Setting(Metric.EDITS, False, 3, 10),
    Setting(Metric.ENGAGEMENT, True, 2, 20),
    Setting(Metric.ENGAGEMENT, False, 4, 10),
}


def in_sample(settings: tuple[Setting, ...]) -> list[Setting]:
    return [setting for setting in settings if EXHAUSTIVE or setting in SAMPLED]


@pytest.mark.proof
@pytest.mark.parametrize("setting", in_sample(AA_SETTINGS), ids=str)
def test_chance_gives_no_winner_and_intervals_cover(setting: Setting) -> None:
    tally = simulate(setting, RUNS if EXHAUSTIVE else SAMPLE)
    assert tally.winner <= 0.05 + CHANCE
    # Below ten posts nothing is shown; the intervals are wider than they need to be.
    assert tally.covered >= 0.92 - CHANCE
    assert tally.covered <= 0.98 + CHANCE or setting.posts < 10


@pytest.mark.proof
@pytest.mark.parametrize("setting", POWER_SETTINGS[: None if EXHAUSTIVE else 1], ids=str)
def test_double_rate_is_found(setting: Setting) -> None:
    assert simulate(setting, RUNS if EXHAUSTIVE else SAMPLE).different >= 0.8 - 2 * CHANCE


@pytest.mark.proof
def test_unequal_split_is_flagged() -> None:
    assert flagged_splits(20, 0.9, RUNS if EXHAUSTIVE else 200) >= 0.95
    assert flagged_splits(20, 0.5, RUNS if EXHAUSTIVE else 200) <= 0.05 + CHANCE
