"""Tests for the schedule's keys that act on slots, the time zone and a clock warning."""

from pathlib import Path

import pytest
from textual.widgets import Input

from copydesk.model.job import ClockDoubt
from copydesk.model.schedule import Slot
from schedule_fixtures import MON, SUN, TUE, WED, slot, times
from schedule_screen import HOUR, NOW, fill, on_schedule

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.


# Slots


@pytest.mark.parametrize(
    ("answer", "made"), [("", slot(WED, 12)), ("30", slot(WED, 12, 30)), ("4:05", slot(WED, 4, 5))]
)
async def test_slot_is_created_at_cursor(tmp_path: Path, answer: str, made: Slot) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("j", "j", "n")
        assert "A slot every Wed, at which minute of 12:00–12:59?" in ui.text
        await (ui.type(answer) if answer else ui.press("enter"))
        assert await ui.desk.schedule.slots() == (made,)
        assert f"[:{made.minute:02}" in ui.text


async def test_slots_of_several_days_are_one_change(tmp_path: Path) -> None:
    initial = (slot(MON, 9, 30),)
    await fill(tmp_path, slots=initial)
    async with on_schedule(tmp_path, size=(40, 24)) as ui:
        await ui.press("n")
        assert "weekdays 9:30 · daily 9 · mon,wed 9:30" in " ".join(ui.text.split())
        await ui.type("weekdays 9:30")
        expected = tuple(slot(day, 9, 30) for day in range(1, 6))
        assert await ui.desk.schedule.slots() == expected
        assert ui.toasts[-1] == "4 slots Tue, Wed, Thu, Fri 09:30 made · u undo"
        await ui.press("n")
        await ui.type("mon-fri 9.30")
        assert ui.toasts[-1] == "There is a slot every Mon, Tue, Wed, Thu, Fri 09:30 already."
        await ui.press("u")
        assert await ui.desk.schedule.slots() == initial
        await ui.press("ctrl+r")
        assert await ui.desk.schedule.slots() == expected


async def test_invalid_minute_reopens_prompt(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("n")
        await ui.type("60")
        assert "That is no minute, no time and no days" in ui.text
        await ui.type("25:00")
        await ui.press("escape")
        assert await ui.desk.schedule.slots() == ()


async def test_existing_slot_is_not_duplicated(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 10)])
    async with on_schedule(tmp_path) as ui:
        await ui.press("n", "enter")
        assert ui.toasts == ["There is a slot every Wed 10:00 already."]


async def test_slot_deletion_is_undone_and_redone(tmp_path: Path) -> None:
    both = (slot(MON, 9), slot(WED, 11))
    await fill(tmp_path, slots=both)
    async with on_schedule(tmp_path) as ui:
        await ui.press("j", "d")
        assert await ui.desk.schedule.slots() == both[:1]
        assert ui.toasts[-1] == "Slot Wed 11:00 deleted · u undo"
        await ui.press("u")
        assert await ui.desk.schedule.slots() == both
        await ui.press("ctrl+r")
        assert await ui.desk.schedule.slots() == both[:1]


async def test_deleting_slot_keeps_its_draft(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, slots=[slot(WED, 11, 30)], at=[NOW + HOUR])
    async with on_schedule(tmp_path) as ui:
        await ui.press("j", "d")
        assert await ui.desk.schedule.slots() == ()
        assert await times(ui.desk) == {draft: NOW + HOUR}


async def test_undo_keeps_slots_changed_elsewhere(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 11)])
    async with on_schedule(tmp_path) as ui:
        await ui.press("j", "d")
        await ui.desk.schedule.set_slots([slot(TUE, 8)])
        await ui.press("u")
        assert await ui.desk.schedule.slots() == (slot(TUE, 8),)
        assert "changed since" in ui.toasts[-1]


async def test_failed_undo_can_be_retried(tmp_path: Path) -> None:
    initial = (slot(WED, 11),)
    await fill(tmp_path, slots=initial)
    async with on_schedule(tmp_path) as ui:
        await ui.press("j", "d")
        await ui.desk.schedule.set_slots([slot(TUE, 8)])
        await ui.press("u")
        await ui.desk.schedule.set_slots([])
        await ui.press("u")
        assert await ui.desk.schedule.slots() == initial


async def test_failed_undo_is_skipped_for_earlier_change(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 11), slot(WED, 12)])
    async with on_schedule(tmp_path) as ui:
        zone = await ui.desk.schedule.zone()
        await ui.press("z", *"Asia/Tokyo", "enter")
        assert await ui.desk.schedule.zone() == "Asia/Tokyo"
        await ui.to("02-11 11")
        await ui.press("d")
        await ui.desk.schedule.set_slots([slot(TUE, 8)])
        await ui.press("u")
        assert "changed since; they were left as they are. u undoes the change before it." in ui.toasts[-1]
        await ui.press("u")
        assert await ui.desk.schedule.zone() == zone
        assert await ui.desk.schedule.slots() == (slot(TUE, 8),)


async def test_slot_in_skipped_hour_names_its_time(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(SUN, 2, 30)])
    async with on_schedule(tmp_path) as ui:
        await ui.to("03-29 03")
        assert "▌03:00 free slot, every Sun 02:30, which the clocks skip here" in ui.said


# Zone and clock


async def test_zone_change_is_undone(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("z")
        await ui.type("Asia/Kathmandu")
        assert "Asia/Kathmandu, UTC+05:45" in ui.title
        await ui.press("u")
        assert "Europe/Prague" in ui.title


async def test_unique_zone_suggestion_is_filled_in(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("z")
        assert "keeps its moment" in ui.text
        await ui.type("berlin")
        assert "berlin is no time zone" in ui.text
        assert ui.app.screen.query_one(Input).value == "Europe/Berlin"
        await ui.press("enter")
        assert await ui.desk.schedule.zone() == "Europe/Berlin"


async def test_unknown_zone_reopens_prompt_with_text(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("z")
        await ui.type("Europe/Pragu")
        assert "is no time zone" in ui.text
        assert "Europe/Pragu" in ui.text
        assert "timeZone" not in ui.text
        await ui.press("escape")
        assert await ui.desk.schedule.zone() == "Europe/Prague"


async def test_clock_warning_is_displayed_until_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_schedule(tmp_path) as ui:
        warnings: list[ClockDoubt | None] = [ClockDoubt(since=NOW, seconds=3 * 3600.0)]

        async def get_warning() -> ClockDoubt | None:
            return warnings[0]

        async def accept() -> ClockDoubt | None:
            warning, warnings[0] = warnings[0], None
            return warning

        assert ui.app.desk
        monkeypatch.setattr(ui.app.desk.schedule, "clock_doubt", get_warning)
        monkeypatch.setattr(ui.app.desk.schedule, "accept_clock", accept)
        await ui.press("]")
        assert "C accept · The clock jumped forward by 3 hours: nothing goes out." in ui.text
        await ui.press("C")
        assert "jumped" not in ui.text
