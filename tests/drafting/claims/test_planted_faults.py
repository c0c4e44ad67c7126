"""The planted faults: what is found, what is warned of without a reason, and what is called supported."""

import pytest

from planted_faults import HELD_OUT, KINDS, MAX_FALSE_ALARMS, MIN_FOUND, MIN_RIGHT, TUNING, measure


@pytest.mark.parametrize("path", [TUNING, HELD_OUT], ids=["tuning", "held out"])
def test_faults_are_found_and_supported_is_right(path) -> None:
    figures = measure(path)
    assert figures.found_share >= MIN_FOUND
    assert figures.false_alarm_share < MAX_FALSE_ALARMS
    assert figures.right_share >= MIN_RIGHT


def test_suite_has_at_least_200_faults_of_ten_kinds() -> None:
    figures = measure(TUNING, HELD_OUT)
    assert set(figures.faults) == set(KINDS)
    assert len(KINDS) == 10
    assert figures.faults.total() >= 200
    assert min(figures.found[kind] / figures.faults[kind] for kind in KINDS) >= 0.8


def test_half_of_the_faithful_sentences_are_supported() -> None:
    figures = measure(TUNING, HELD_OUT)
    assert figures.supported >= figures.faithful / 2
