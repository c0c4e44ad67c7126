"""Tests that experiments without a difference rarely have a winner, and that intervals contain the truth.

The samples of `make test` are small: their limits allow for chance, those of `make prove` do not.
"""

import re
from pathlib import Path

import msgspec
import pytest

from copydesk.model.experiment import Metric
from sampling import EXHAUSTIVE
from simulated_experiments import (
    AA_SETTINGS,
    DOCUMENT,
    KINDS,
    POSTS,
    POWER_SETTINGS,
    RUNS,
    VARIANTS,
    Result,
    Setting,
    Tally,
    flagged_splits,
    read_results,
    simulate,
)

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
    assert 0.92 - CHANCE <= tally.covered <= 0.98 + CHANCE


@pytest.mark.proof
@pytest.mark.parametrize("setting", POWER_SETTINGS[: None if EXHAUSTIVE else 1], ids=str)
def test_variant_with_twice_the_rate_is_named(setting: Setting) -> None:
    tally = simulate(setting, RUNS if EXHAUSTIVE else SAMPLE)
    assert tally.different >= tally.winner >= 0.8 - 2 * CHANCE
    assert tally.wrong <= 0.01 + CHANCE


def test_documented_figures_are_within_the_limits() -> None:
    tables = DOCUMENT.read_text(encoding="utf-8").partition("<!-- simulations -->")[2]
    rows = [
        [float(cell) for cell in re.findall(r"(\d+\.\d)%", line)]
        for line in tables.partition("<!-- /simulations -->")[0].splitlines()
        if re.match(r"\| .* \| \d \| ", line)
    ]
    assert len(rows) == len(KINDS) * len(VARIANTS)
    assert {len(row) for row in rows} == {2 * len(POSTS)}
    for row in rows:
        winners, covered = row[: len(POSTS)], row[len(POSTS) :]
        assert max(winners) <= 5
        assert all(92 <= share <= 98 for share in covered)
    powers = re.findall(r"^\| \d \| (\d+\.\d)% \| (\d+\.\d)% \| (\d+\.\d)% \|$", tables, re.MULTILINE)
    assert len(powers) == len(VARIANTS)
    for found, named, wrong in powers:
        assert float(found) >= float(named) >= 80
        assert float(wrong) <= 1


def test_only_results_of_the_same_code_are_taken_over(tmp_path: Path) -> None:
    one, two = AA_SETTINGS[:2]
    results = Result("new", RUNS, one, Tally(0, 0, 0, 0.95)), Result("old", RUNS, two, Tally(0, 0, 0, 0.95))
    file = tmp_path / "results.jsonl"
    # As a killed run leaves it: the last line is not complete.
    file.write_bytes(msgspec.json.Encoder().encode_lines(results) + b'{"code":"ne')
    assert read_results(file, "new") == {one: Tally(0, 0, 0, 0.95)}
    assert read_results(tmp_path / "none", "new") == {}


@pytest.mark.proof
def test_unequal_split_is_flagged() -> None:
    assert flagged_splits(20, 0.9, RUNS if EXHAUSTIVE else 200) >= 0.95
    assert flagged_splits(20, 0.5, RUNS if EXHAUSTIVE else 200) <= 0.05 + CHANCE
