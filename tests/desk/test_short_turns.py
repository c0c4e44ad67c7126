"""Tests for the shortened thread switch interval during runs and while a console is open."""

import sys

import pytest

from copydesk.desk import open_desk, stages
from copydesk.turns import TURN, short_turns
from desk_fixtures import settings_at


def turn() -> object:
    """Return the current switch interval for approximate comparison."""
    return pytest.approx(sys.getswitchinterval())


def test_nested_contexts_keep_interval_short() -> None:
    default = turn()
    with short_turns():
        with short_turns():
            assert turn() == TURN
        assert turn() == TURN
    assert turn() == default
    assert default != TURN


def test_interval_is_restored_after_last_exit() -> None:
    default, first, second = turn(), short_turns(), short_turns()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert turn() == TURN
    second.__exit__(None, None, None)
    assert turn() == default


async def test_run_shortens_interval(tmp_path, monkeypatch) -> None:
    intervals = []
    ingest = stages.ingest

    async def recording_ingest(*args):
        intervals.append(turn())
        return await ingest(*args)

    monkeypatch.setattr(stages, "ingest", recording_ingest)
    default = turn()
    async with open_desk(settings_at(tmp_path)) as desk:
        await desk.pipeline.run()
    assert intervals == [TURN]
    assert turn() == default
