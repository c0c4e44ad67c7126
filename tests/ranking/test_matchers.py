"""Tests for the time limits of user patterns: slow machines are tolerated, endless searches are not."""

from typing import Any, cast

import pytest

from copydesk.ranking import filters
from copydesk.ranking.filters import PatternTimeoutError, UserPattern


class SlowPattern:
    """A fake compiled pattern: a search takes `seconds` of process time, at most its timeout."""

    pattern = "slow"

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.now = seconds, 0.0
        monkeypatch.setattr(filters, "process_time", lambda: self.now)

    def search(self, text: str, *, timeout: float) -> object:
        self.now += min(self.seconds, timeout)
        if self.seconds > timeout:
            raise TimeoutError
        return text


def user_pattern(pattern: SlowPattern) -> UserPattern:
    return UserPattern(cast("Any", pattern))


def test_slow_machine_does_not_fail_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_pattern(SlowPattern(0.9, monkeypatch)).matches("a") is True


def test_normal_pattern_searches_any_number_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SlowPattern(0.05, monkeypatch)
    pattern = user_pattern(usual)
    assert all(pattern.matches("a") for _ in range(10_000))
    usual.seconds = 0.9
    assert pattern.matches("a") is True


@pytest.mark.parametrize("seconds", [0.9, 600.0])
def test_slow_pattern_is_bounded_over_many_texts(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowPattern(seconds, monkeypatch)
    pattern, given_up = user_pattern(slow), 0
    for _ in range(10_000):
        try:
            pattern.matches("a")
        except PatternTimeoutError:
            given_up += 1
    assert given_up > 9_990
    # Each text is allowed a twentieth of a second; three seconds more are allowed in total.
    assert slow.now == pytest.approx(10_000 * 0.05 + 3, abs=1)
