"""Tests for the helpers that assert linear running time."""

from functools import cache

import pytest

import cost_growth
from copydesk.model import item
from cost_growth import assert_bounded, assert_linear


class Clock:
    """A process clock that only the measured work advances: disturbances of the machine cannot hide its growth."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        return self._seconds

    def spend(self, units: int) -> None:
        """Advance by `units` microseconds."""
        self._seconds += units / 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cost_growth, "process_time", clock)
    return clock


def test_linear_work_passes_whatever_its_duration() -> None:
    assert_linear(range, sum, 200_000)
    assert_linear(range, sum, 800)
    assert_linear(range, lambda _: None, 8)


def test_quadratic_work_fails(clock: Clock) -> None:
    assert_linear(range, lambda numbers: clock.spend(len(numbers)), 1_600)
    with pytest.raises(AssertionError, match="8 times as much took 64 times as long"):
        assert_linear(range, lambda numbers: clock.spend(len(numbers) ** 2), 1_600)


def test_cached_quadratic_work_fails(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    @cache
    def kept(text: str) -> None:
        clock.spend(len(text) ** 2)

    def run(text: str) -> None:
        clock.spend(1)  # a repeated call takes some time, too
        kept(text)

    monkeypatch.setattr(item, "kept", kept, raising=False)
    with pytest.raises(AssertionError, match="8 times as much took 64 times as long"):
        assert_linear("a".__mul__, run, 1_600)


def test_bounded_work_costs_no_more_beyond_its_limit(clock: Clock) -> None:
    assert_bounded(range, lambda numbers: clock.spend(len(numbers[:1_000])), 80_000)
    with pytest.raises(AssertionError, match="8 times as much took 8 times as long"):
        assert_bounded(range, lambda numbers: clock.spend(len(numbers)), 16_000)


def test_growth_is_seen_by_the_real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_growth, "_ROUNDS", 1)
    # Cubic: 21 times the limit, which no disturbance of the machine makes up for.
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_linear(range, lambda numbers: sum(range(len(numbers) ** 3)), 160)
