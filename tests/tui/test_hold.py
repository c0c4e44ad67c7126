"""Waiting for the user's editor can be left: what is written before it may take long."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from copydesk.editor import TypedTexts
from copydesk.tui.modals.hold import HoldScreen
from deciding_fixtures import Review, reviewing


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Says whether the user's editor was started."""
    script, left = tmp_path / "editor.py", tmp_path / "left"
    script.write_text(f"import pathlib\npathlib.Path({str(left)!r}).touch()")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    return left.exists


async def press_while_written(review: Review, key: str) -> asyncio.Event:
    """Press a key that opens something while something else is being written, which ends with what is given back."""
    going_on = asyncio.Event()

    async def work(_: object) -> None:
        await going_on.wait()

    review.app.carry_out(work)
    review.app.simulate_key(key)
    await review.until(lambda: review.app.screen is not review.screen)
    return going_on


async def test_an_editor_that_waits_for_what_is_written_is_waited_for_no_longer_than_one_wants(
    tmp_path: Path, started: Callable[[], bool]
) -> None:
    async with reviewing(tmp_path) as review:
        going_on = await press_while_written(review, "E")
        try:
            assert isinstance(review.app.screen, HoldScreen)
            await review.until(lambda: "Opening your editor … · Esc leaves" in review.text)
            review.app.simulate_key("escape")
            await review.until(lambda: review.app.screen is review.screen)
            review.app.simulate_key("j")
            await review.until(lambda: review.screen.rows.cursor == 1)
        finally:
            going_on.set()
        await review.wait()
        assert not started()
        assert not review.toasts
        assert TypedTexts(tmp_path / "typed").every() == []
