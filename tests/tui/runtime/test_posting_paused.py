"""Tests for the top line while the clock is in doubt: every screen says that nothing is posted."""

from datetime import timedelta
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.tui import desk_app
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from desk_fixtures import NOW, Watch, open_desk_at
from setup_driver import wait_for_text


async def test_every_screen_shows_doubtful_clock_until_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 0.001)
    async with open_desk_at(tmp_path, clock=Watch(NOW + timedelta(hours=3))) as desk:
        await desk.schedule.clock_warning()
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(140, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await wait_for_text(ui, "Clock jumped: posting is paused")
        for number in range(1, len(SCREEN_NAMES) + 1):
            await ui.press(str(number))
            assert "Clock jumped: posting is paused" in ui.lines[0]
        await ui.resize(45, 32)
        assert "posting paused" in ui.lines[0]
        await ui.press("2", "exclamation_mark")
        while app.posting_paused:
            await wait_until_idle(pilot)
        assert "posting paused" not in ui.lines[0]
