"""Tests for the context of a desk."""

from datetime import UTC, datetime, tzinfo

import pytest

from copydesk.desk import context


def test_time_is_cut_to_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    class FixedTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "FixedTime":
            return cls(2026, 2, 10, 9, 0, 0, 500_499, tzinfo=tz)

    monkeypatch.setattr(context, "datetime", FixedTime)
    assert context.utc_now() == datetime(2026, 2, 10, 9, 0, 0, 500_000, tzinfo=UTC)
