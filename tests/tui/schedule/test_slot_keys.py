"""Tests for the schedule's keys that act on slots, the time zone and a clock warning."""

from pathlib import Path

import pytest
from textual.widgets import Input, Static

from copydesk.model.job import ClockWarning
from copydesk.model.schedule import Slot
from copydesk.tui import labels
from schedule_driver import HOUR, NOW, fill_schedule, open_schedule
from schedule_fixtures import MON, SUN, TUE, WED, make_slot, scheduled_times

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.


# Slots


@pytest.mark.parametrize(
    ("answer", "expected"), [("", make_slot(WED, 12)), ("30", make_slot(WED, 12, 30)), ("4:05", make_slot(WED, 4, 5))]
)
async def test_slot_is_created_at_cursor(tmp_path: Path, answer: str, expected: Slot) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "j", "A")
        assert "Weekly slots: 12:30 · weekdays 9:30 15 · mon,wed 9, sat 11" in ui.text
        await (ui.answer(answer) if answer else ui.press("enter"))
        assert await ui.desk.schedule.slots() == (expected,)
        assert f"[:{expected.minute:02}" in ui.text


async def test_slots_of_several_days_are_one_change(tmp_path: Path) -> None:
    initial = (make_slot(MON, 9, 30),)
    await fill_schedule(tmp_path, slots=initial)
    async with open_schedule(tmp_path, size=(40, 24)) as ui:
        await ui.press("A")
        assert "Weekly slots: 10:30 · weekdays 9:30 15 · mon,wed 9, sat 11" in " ".join(ui.text.split())
        await ui.answer("weekdays 9:30")
        expected = tuple(make_slot(day, 9, 30) for day in range(1, 6))
        assert await ui.desk.schedule.slots() == expected
        assert ui.toasts[-1] == "Added 4 slots: Tue, Wed, Thu, Fri 09:30 · u undo"
        await ui.press("A")
        await ui.answer("mon-fri 9.30")
        assert ui.toasts[-1] == "Slots already exist: weekdays 09:30"
        await ui.press("u")
        assert await ui.desk.schedule.slots() == initial
        await ui.press("ctrl+r")
        assert await ui.desk.schedule.slots() == expected


async def test_invalid_minute_reopens_prompt(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("A")
        await ui.answer("60")
        assert "Not a slot. Try 30, 10:30 or weekdays 9:30 15, sat 11" in ui.text
        await ui.answer("25:00")
        await ui.press("escape")
        assert await ui.desk.schedule.slots() == ()


async def test_existing_slot_is_not_duplicated(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(WED, 10)])
    async with open_schedule(tmp_path) as ui:
        await ui.press("A", "enter")
        assert ui.toasts == ["Slot already exists: Wed 10:00"]


async def test_slot_deletion_is_undone_and_redone(tmp_path: Path) -> None:
    both = (make_slot(MON, 9), make_slot(WED, 11))
    await fill_schedule(tmp_path, slots=both)
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "D", "y")
        assert await ui.desk.schedule.slots() == both[:1]
        assert ui.toasts[-1] == "Deleted slot Wed 11:00 · u undo"
        await ui.press("u")
        assert await ui.desk.schedule.slots() == both
        await ui.press("ctrl+r")
        assert await ui.desk.schedule.slots() == both[:1]


async def test_slot_deleted_elsewhere_is_not_deleted_again(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(MON, 9), make_slot(WED, 11)])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "D")
        await ui.desk.schedule.set_slots([make_slot(MON, 9)])
        await ui.press("y")
        assert ui.toasts[-1] == "No slot here to delete. A adds one."


async def test_deleting_slot_keeps_its_draft(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, slots=[make_slot(WED, 11, 30)], at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "D", "y")
        assert await ui.desk.schedule.slots() == ()
        assert await scheduled_times(ui.desk) == {draft: NOW + HOUR}


async def test_undo_keeps_slots_changed_elsewhere(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(WED, 11)])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "D", "y")
        await ui.desk.schedule.set_slots([make_slot(TUE, 8)])
        await ui.press("u")
        assert await ui.desk.schedule.slots() == (make_slot(TUE, 8),)
        assert "have been changed since" in ui.toasts[-1]


async def test_failed_undo_can_be_retried(tmp_path: Path) -> None:
    initial = (make_slot(WED, 11),)
    await fill_schedule(tmp_path, slots=initial)
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "D", "y")
        await ui.desk.schedule.set_slots([make_slot(TUE, 8)])
        await ui.press("u")
        await ui.desk.schedule.set_slots([])
        await ui.press("u")
        assert await ui.desk.schedule.slots() == initial


async def test_failed_undo_is_skipped_for_earlier_change(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(WED, 11), make_slot(WED, 12)])
    async with open_schedule(tmp_path) as ui:
        zone = await ui.desk.schedule.zone()
        await ui.press("z", *"Asia/Tokyo", "enter")
        assert await ui.desk.schedule.zone() == "Asia/Tokyo"
        await ui.move_to("02-11 11")
        await ui.press("D", "y")
        await ui.desk.schedule.set_slots([make_slot(TUE, 8)])
        await ui.press("u")
        assert "have been changed since and were left as they are. u undoes the change before it." in ui.toasts[-1]
        await ui.press("u")
        assert await ui.desk.schedule.zone() == zone
        assert await ui.desk.schedule.slots() == (make_slot(TUE, 8),)


async def test_slot_in_skipped_hour_names_its_time(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(SUN, 2, 30)])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-29 03")
        assert "▌03:00 free slot · every Sun 02:30 (skipped by the clock change)" in ui.cell_lines


# Zone and clock


async def test_zone_change_is_undone(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("z")
        await ui.answer("Asia/Kathmandu")
        assert "Asia/Kathmandu, UTC+05:45" in ui.title
        await ui.press("u")
        assert "Europe/Prague" in ui.title


@pytest.mark.parametrize(
    "message",
    [
        labels.time_zone_changed("Etc/UTC"),
        labels.time_zone_change("Etc/UTC", "Asia/Tokyo"),
        labels.zone_saved("Etc/UTC"),
    ],
)
def test_messages_call_utc_what_the_title_calls_it(message: str) -> None:
    assert " UTC" in message


async def test_unique_zone_suggestion_is_filled_in(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("z")
        assert "Scheduled posts keep their exact time" in str(ui.app.screen.query_one(".-hint", Static).content)
        await ui.answer("berlin")
        assert "berlin” is not an IANA time zone" in ui.text
        assert ui.app.screen.query_one(Input).value == "Europe/Berlin"
        await ui.press("enter")
        assert await ui.desk.schedule.zone() == "Europe/Berlin"


async def test_unknown_zone_reopens_prompt_with_text(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("z")
        await ui.answer("Europe/Pragu")
        assert "is not an IANA time zone" in ui.text
        assert "Europe/Pragu" in ui.text
        assert "timeZone" not in ui.text
        await ui.press("escape")
        assert await ui.desk.schedule.zone() == "Europe/Prague"


async def test_clock_warning_is_displayed_until_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_schedule(tmp_path) as ui:
        warnings: list[ClockWarning | None] = [ClockWarning(since=NOW, seconds=3 * 3600.0)]

        async def get_warning() -> ClockWarning | None:
            return warnings[0]

        async def accept() -> ClockWarning | None:
            warning, warnings[0] = warnings[0], None
            return warning

        assert ui.app.desk
        monkeypatch.setattr(ui.app.desk.schedule, "clock_warning", get_warning)
        monkeypatch.setattr(ui.app.desk.schedule, "accept_clock", accept)
        await ui.press("]")
        assert "! accept · Clock jumped forward by 3 hours: posting is paused." in ui.text
        await ui.press("exclamation_mark")
        assert "jumped" not in ui.text
