"""While a run works, or a console is open, threads take short turns; afterwards they are as they were."""

import sys

import pytest

from copydesk.desk import open_desk, stages
from copydesk.turns import TURN, short_turns
from desk_fixtures import settings_at


def turn() -> object:
    """How long turns are now, to compare with."""
    return pytest.approx(sys.getswitchinterval())


def test_turns_are_short_as_long_as_anybody_wants_them() -> None:
    usual = turn()
    with short_turns():
        with short_turns():
            assert turn() == TURN
        assert turn() == TURN
    assert turn() == usual
    assert usual != TURN


def test_turns_that_end_in_another_order_are_short_until_the_last() -> None:
    usual, first, second = turn(), short_turns(), short_turns()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert turn() == TURN
    second.__exit__(None, None, None)
    assert turn() == usual


async def test_a_run_takes_short_turns(tmp_path, monkeypatch) -> None:
    seen = []
    ingest = stages.ingest

    async def watched(*args):
        seen.append(turn())
        return await ingest(*args)

    monkeypatch.setattr(stages, "ingest", watched)
    usual = turn()
    async with open_desk(settings_at(tmp_path)) as desk:
        await desk.pipeline.run()
    assert seen == [TURN]
    assert turn() == usual
