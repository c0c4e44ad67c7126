"""In a browser the console cannot give its terminal away: what would need that is refused with words."""

from pathlib import Path

import pytest
from textual.driver import Driver
from textual.drivers.web_driver import WebDriver

from deciding_fixtures import reviewing


def test_textuals_driver_for_browsers_cannot_suspend() -> None:
    # So the driver of the tests, which cannot either, stands for it below.
    assert WebDriver.can_suspend is Driver.can_suspend


async def test_no_editor_is_started_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("EDITOR", f"touch {started}")
    monkeypatch.delenv("VISUAL", raising=False)
    async with reviewing(tmp_path) as seen:
        before = seen.current.text
        await seen.press("E")
        assert "No editor can be opened in this terminal." in seen.toasts[-1]
        assert "Edit here: e." in seen.toasts[-1]
        assert (await seen.desk.drafts.get(seen.current.id)).text == before
    assert not started.exists()
    assert not list((tmp_path / "typed").glob("*"))
