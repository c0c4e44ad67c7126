"""Tests for detecting clock jumps, and telling them from sleep."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from copydesk.scheduling.clock_jump import ClockReading, clock_jump, clock_lag

START = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
HOUR, ZERO = timedelta(hours=1), timedelta(0)


def reading(wall, monotonic, *, counts_sleep=True):
    return ClockReading(wall=START + timedelta(seconds=wall), monotonic=1000.0 + monotonic, counts_sleep=counts_sleep)


@pytest.mark.parametrize("counts_sleep", [True, False])
def test_agreeing_clocks_have_not_jumped(counts_sleep):
    then, now = reading(0, 0, counts_sleep=counts_sleep), reading(3600, 3599.5, counts_sleep=counts_sleep)
    assert clock_jump(then, now) == ZERO


def test_sleep_is_not_a_jump():
    assert clock_jump(reading(0, 0), reading(8 * 3600, 8 * 3600)) == ZERO
    assert clock_jump(reading(0, 0, counts_sleep=False), reading(8 * 3600, 30, counts_sleep=False)) == ZERO


def test_forward_jump_is_detected():
    """Only a clock that counts sleep can tell a jump from sleep."""
    assert clock_jump(reading(0, 0), reading(3630, 30)) == HOUR


@pytest.mark.parametrize("counts_sleep", [True, False])
def test_backward_jump_is_detected(counts_sleep):
    then, now = reading(0, 0, counts_sleep=counts_sleep), reading(-3570, 30, counts_sleep=counts_sleep)
    assert clock_jump(then, now) == -HOUR


def test_jump_threshold_is_one_minute():
    assert clock_jump(reading(0, 0), reading(90, 30)) == ZERO
    assert clock_jump(reading(0, 0), reading(-30, 30)) == ZERO
    assert clock_jump(reading(0, 0), reading(91, 30)) == timedelta(seconds=61)
    assert clock_jump(reading(0, 0), reading(-31, 30)) == timedelta(seconds=-61)


def test_gradual_drift_is_detected():
    readings = [reading(80 * count, 30 * count) for count in range(4)]
    assert all(clock_jump(then, now) == ZERO for then, now in pairwise(readings))
    assert clock_jump(readings[0], readings[-1]) == timedelta(seconds=150)


def test_clock_before_last_event_is_behind():
    assert clock_lag(START - HOUR, START) == HOUR
    assert clock_lag(START - timedelta(seconds=60), START) == ZERO
    assert clock_lag(START + HOUR, START) == ZERO
