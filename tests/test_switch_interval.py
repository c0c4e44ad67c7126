"""Tests for the shortened thread switch interval during runs and while a console is open."""

import sys

import pytest

from copydesk.desk import open_desk
from copydesk.desk.pipeline import stages
from copydesk.switch_interval import SWITCH_INTERVAL, short_switch_interval
from desk_fixtures import settings_at


def current_interval() -> object:
    """Return the current switch interval for approximate comparison."""
    return pytest.approx(sys.getswitchinterval())


def test_nested_contexts_keep_interval_short() -> None:
    default = current_interval()
    with short_switch_interval():
        with short_switch_interval():
            assert current_interval() == SWITCH_INTERVAL
        assert current_interval() == SWITCH_INTERVAL
    assert current_interval() == default
    assert default != SWITCH_INTERVAL


def test_interval_is_restored_after_last_exit() -> None:
    default, first, second = current_interval(), short_switch_interval(), short_switch_interval()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert current_interval() == SWITCH_INTERVAL
    second.__exit__(None, None, None)
    assert current_interval() == default


async def test_run_shortens_interval(tmp_path, monkeypatch) -> None:
    intervals = []
    ingest = stages.fetch_sources

    async def recording_ingest(*args):
        intervals.append(current_interval())
        return await ingest(*args)

    monkeypatch.setattr(stages, "fetch_sources", recording_ingest)
    default = current_interval()
    async with open_desk(settings_at(tmp_path)) as desk:
        await desk.pipeline.run()
    assert intervals == [SWITCH_INTERVAL]
    assert current_interval() == default
