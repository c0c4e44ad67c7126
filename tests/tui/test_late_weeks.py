"""Weeks that come late: the last one that was asked for is shown, and keys count from where the cursor is going."""

from datetime import timedelta
from pathlib import Path

import pytest

from held_answers import HeldBack, long_enough, press
from schedule_screen import fill, on_schedule

pytestmark = pytest.mark.usefixtures("impatient")


async def test_two_weeks_on_are_two_though_the_first_is_still_being_read(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with on_schedule(tmp_path) as seen:
        assert seen.screen.week is not None
        monday = seen.screen.week.monday
        assert seen.app.desk is not None
        held = HeldBack(seen.app.desk.schedule, "week")
        await press(seen, "right_square_bracket")
        await held.asked()
        await press(seen, "right_square_bracket")
        held.go.set()
        await seen.wait()
        assert seen.screen.week.monday == monday + timedelta(weeks=2)


async def test_a_week_that_was_read_before_another_does_not_come_after_it(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with on_schedule(tmp_path) as seen:
        assert seen.app.desk is not None
        held = HeldBack(seen.app.desk.schedule, "week")
        seen.screen.read()
        await held.asked()
        await seen.desk.schedule.set_zone("Asia/Tokyo")
        seen.screen.read()
        await long_enough(seen)
        held.go.set()
        await seen.wait()
        assert seen.screen.week is not None
        assert seen.screen.week.zone == "Asia/Tokyo"
