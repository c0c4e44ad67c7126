"""Tests for the helpers that assert linear running time."""

from functools import cache

import pytest

from copydesk.model import item
from cost_growth import assert_bounded, assert_linear


def test_linear_work_passes_whatever_its_duration() -> None:
    assert_linear(range, sum, 200_000)
    assert_linear(range, sum, 800)
    assert_linear(range, lambda _: None, 8)


def test_quadratic_work_fails() -> None:
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_linear(range, lambda numbers: [number in [-1] * len(numbers) for number in numbers], 1_600)


def test_cached_quadratic_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    @cache
    def kept(text: str) -> list[bool]:
        return [letter in ["b"] * len(text) for letter in text]

    monkeypatch.setattr(item, "kept", kept, raising=False)
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_linear("a".__mul__, kept, 1_600)


def test_bounded_work_costs_no_more_beyond_its_limit() -> None:
    assert_bounded(range, lambda numbers: sum(numbers[:1_000]), 80_000)
    with pytest.raises(AssertionError, match="8 times as much took"):
        assert_bounded(range, lambda numbers: [sum(numbers) for _ in numbers[::1_000]], 16_000)
