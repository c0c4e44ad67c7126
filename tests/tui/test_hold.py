"""Test for the dialog shown while the user's editor waits for earlier writes."""

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
    """Set VISUAL to a script; return a function that tells if it was started."""
    script, marker = tmp_path / "editor.py", tmp_path / "left"
    script.write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    return marker.exists


async def press_while_written(review: Review, key: str) -> asyncio.Event:
    """Press a key that opens a dialog while a write is pending; the write ends when the returned event is set."""
    proceed = asyncio.Event()

    async def work(_: object) -> None:
        await proceed.wait()

    review.app.carry_out(work)
    review.app.simulate_key(key)
    await review.until(lambda: review.app.screen is not review.screen)
    return proceed


async def test_waiting_for_editor_can_be_cancelled(tmp_path: Path, started: Callable[[], bool]) -> None:
    async with reviewing(tmp_path) as review:
        proceed = await press_while_written(review, "E")
        try:
            assert isinstance(review.app.screen, HoldScreen)
            await review.until(lambda: "Opening your editor … · Esc leaves" in review.text)
            review.app.simulate_key("escape")
            await review.until(lambda: review.app.screen is review.screen)
            review.app.simulate_key("j")
            await review.until(lambda: review.screen.rows.cursor == 1)
        finally:
            proceed.set()
        await review.wait()
        assert not started()
        assert not review.toasts
        assert TypedTexts(tmp_path / "typed").every() == []
