"""Tests for weeks loaded late: the last requested one is displayed, and keys count from the target week."""

from datetime import timedelta
from pathlib import Path

import pytest

from held_answers import HeldBack, long_enough, press
from schedule_screen import fill, on_schedule

pytestmark = pytest.mark.usefixtures("impatient")


async def test_two_next_week_keys_advance_two_weeks(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with on_schedule(tmp_path) as ui:
        assert ui.screen.week is not None
        monday = ui.screen.week.monday
        assert ui.app.desk is not None
        held = HeldBack(ui.app.desk.schedule, "week")
        await press(ui, "right_square_bracket")
        await held.asked()
        await press(ui, "right_square_bracket")
        held.go.set()
        await ui.wait()
        assert ui.screen.week.monday == monday + timedelta(weeks=2)


async def test_week_loaded_earlier_does_not_replace_newer(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with on_schedule(tmp_path) as ui:
        assert ui.app.desk is not None
        held = HeldBack(ui.app.desk.schedule, "week")
        ui.screen.read()
        await held.asked()
        await ui.desk.schedule.set_zone("Asia/Tokyo")
        ui.screen.read()
        await long_enough(ui)
        held.go.set()
        await ui.wait()
        assert ui.screen.week is not None
        assert ui.screen.week.zone == "Asia/Tokyo"
