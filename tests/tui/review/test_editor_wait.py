"""Tests for the dialogs shown while an edit, here or in the user's editor, waits for earlier writes."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from copydesk.editor import Autosave
from copydesk.tui.dialogs.base import WaitDialog
from copydesk.tui.review.dialogs import EditDialog
from review_driver import ReviewDriver, open_review


@pytest.fixture
def editor_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Set VISUAL to a script; return a function that tells if it was started."""
    script, marker = tmp_path / "editor.py", tmp_path / "left"
    script.write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    return marker.exists


async def press_during_write(review: ReviewDriver, key: str) -> asyncio.Event:
    """Press a key that opens a dialog while a write is pending; the write ends when the returned event is set."""
    proceed = asyncio.Event()

    async def work(_: object) -> None:
        await proceed.wait()

    review.app.enqueue_write(work)
    review.app.simulate_key(key)
    await review.wait_for(lambda: review.app.screen is not review.screen)
    return proceed


async def test_waiting_for_editor_can_be_cancelled(tmp_path: Path, editor_started: Callable[[], bool]) -> None:
    async with open_review(tmp_path) as review:
        proceed = await press_during_write(review, "E")
        try:
            assert isinstance(review.app.screen, WaitDialog)
            await review.wait_for(lambda: "Opening your editor… · Esc cancel" in review.text)
            review.app.simulate_key("escape")
            await review.wait_for(lambda: review.app.screen is review.screen)
            review.app.simulate_key("j")
            await review.wait_for(lambda: review.screen.queue.cursor == 1)
        finally:
            proceed.set()
        await review.wait()
        assert not editor_started()
        assert not review.toasts
        assert Autosave(tmp_path / "typed").list_all() == []


async def test_edit_that_loads_after_a_saved_one_shows_no_counts_and_can_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.MAX_WRITE_HOLD", 0.05)
    async with open_review(tmp_path) as review:
        await review.press("e", "!", "ctrl+s")
        proceed = await press_during_write(review, "e")
        try:
            assert isinstance(review.app.screen, EditDialog)
            await review.wait_for(lambda: "…" in review.text)
            assert "/280" not in review.text
            review.app.simulate_key("escape")
            await review.wait_for(lambda: review.app.screen is review.screen)
        finally:
            proceed.set()
