"""Tests for weeks loaded late: the last requested one is displayed, and keys count from the target week."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from delayed_responses import DelayedResponse, press_without_waiting, wait_stable_rounds
from schedule_driver import DAY, fill_schedule, open_schedule
from schedule_fixtures import scheduled_times

pytestmark = pytest.mark.usefixtures("no_key_waiting")


async def test_two_next_week_keys_advance_two_weeks(tmp_path: Path) -> None:
    await fill_schedule(tmp_path)
    async with open_schedule(tmp_path) as ui:
        assert ui.pane.week is not None
        monday = ui.pane.week.monday
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.schedule, "week")
        await press_without_waiting(ui, "right_square_bracket")
        await held.wait_until_called()
        await press_without_waiting(ui, "right_square_bracket")
        held.released.set()
        await ui.wait()
        assert ui.pane.week.monday == monday + timedelta(weeks=2)


async def test_week_loaded_earlier_does_not_replace_newer(tmp_path: Path) -> None:
    await fill_schedule(tmp_path)
    async with open_schedule(tmp_path) as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.schedule, "week")
        ui.screen.refresh_data()
        await held.wait_until_called()
        await ui.desk.schedule.set_zone("Asia/Tokyo")
        ui.screen.refresh_data()
        await wait_stable_rounds(ui)
        held.released.set()
        await ui.wait()
        assert ui.pane.week is not None
        assert ui.pane.week.zone == "Asia/Tokyo"


async def test_draft_moved_past_week_end_moves_on_while_that_is_written(tmp_path: Path) -> None:
    sunday = datetime(2026, 3, 29, 10, tzinfo=UTC)
    (draft,) = await fill_schedule(tmp_path, at=[sunday])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-29 12")
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.drafts, "reschedule")
        await press_without_waiting(ui, "shift+right")
        await held.wait_until_called()
        # The week loaded meanwhile is dropped, since it may be older than the write.
        await wait_stable_rounds(ui)
        await press_without_waiting(ui, "shift+right")
        held.released.set()
        await ui.wait()
        assert await scheduled_times(ui.desk) == {draft: sunday + 2 * DAY}


async def test_key_acts_on_the_draft_that_the_cursor_was_moved_to_while_another_is_followed(tmp_path: Path) -> None:
    sunday = datetime(2026, 3, 29, 10, tzinfo=UTC)
    # 12:00 in Prague on both days: the clock changes in between.
    saturday = datetime(2026, 3, 28, 11, tzinfo=UTC)
    moved, other = await fill_schedule(tmp_path, at=[sunday, saturday])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-29 12")
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.drafts, "reschedule")
        await press_without_waiting(ui, "shift+right")
        await held.wait_until_called()
        await press_without_waiting(ui, "left")
        await press_without_waiting(ui, "T")
        held.released.set()
        await ui.wait()
        assert await scheduled_times(ui.desk) == {moved: sunday + DAY}
        assert (await ui.desk.drafts.get(other)).scheduled_at is None
