"""How long the user's expressions may take: a good one as long as it needs, a bad one never for ever."""

from typing import Any, cast

import pytest

from copydesk.ranking import expressions
from copydesk.ranking.expressions import Expression, TooSlowError


class Sluggish:
    """Stands for a compiled expression; each search takes so many seconds of the clock's, unless it is given up."""

    pattern = "slow"

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.now = seconds, 0.0
        monkeypatch.setattr(expressions, "process_time", lambda: self.now)

    def search(self, text: str, *, timeout: float) -> object:
        self.now += min(self.seconds, timeout)
        if self.seconds > timeout:
            raise TimeoutError
        return text


def expression(pattern: Sluggish) -> Expression:
    return Expression(cast("Any", pattern))


def test_an_expression_is_not_given_up_because_the_machine_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert expression(Sluggish(0.9, monkeypatch)).found_in("a") is True


def test_what_takes_the_usual_time_may_be_asked_any_number_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Sluggish(0.05, monkeypatch)
    asked = expression(usual)
    assert all(asked.found_in("a") for _ in range(10_000))
    usual.seconds = 0.9
    assert asked.found_in("a") is True


@pytest.mark.parametrize("seconds", [0.9, 600.0])
def test_a_slow_expression_holds_up_ten_thousand_texts_for_seconds_only(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Sluggish(seconds, monkeypatch)
    asked, given_up = expression(slow), 0
    for _ in range(10_000):
        try:
            asked.found_in("a")
        except TooSlowError:
            given_up += 1
    assert given_up > 9_990
    # Three seconds more than the twentieth of one that each text is allowed.
    assert slow.now == pytest.approx(10_000 * 0.05 + 3, abs=1)
