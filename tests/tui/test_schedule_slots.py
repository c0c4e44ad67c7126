"""What the keys of the schedule do to slots, to the zone, and to a doubt about the clock."""

from pathlib import Path

import pytest
from textual.widgets import Input

from copydesk.model.job import ClockDoubt
from copydesk.model.schedule import Slot
from schedule_fixtures import MON, SUN, TUE, WED, slot, times
from schedule_screen import HOUR, NOW, fill, on_schedule

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.


# Slots.


@pytest.mark.parametrize(
    ("answer", "made"), [("", slot(WED, 12)), ("30", slot(WED, 12, 30)), ("4:05", slot(WED, 4, 5))]
)
async def test_a_slot_is_made_at_the_cursor(tmp_path: Path, answer: str, made: Slot) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "j", "n")
        assert "A slot every Wed, at which minute of 12:00–12:59?" in seen.text
        await (seen.type(answer) if answer else seen.press("enter"))
        assert await seen.desk.schedule.slots() == (made,)
        assert f"[:{made.minute:02}" in seen.text


async def test_slots_of_several_days_are_made_and_undone_as_one(tmp_path: Path) -> None:
    before = (slot(MON, 9, 30),)
    await fill(tmp_path, slots=before)
    async with on_schedule(tmp_path, size=(40, 24)) as seen:
        await seen.press("n")
        assert "weekdays 9:30 · daily 9 · mon,wed 9:30" in " ".join(seen.text.split())
        await seen.type("weekdays 9:30")
        made = tuple(slot(day, 9, 30) for day in range(1, 6))
        assert await seen.desk.schedule.slots() == made
        assert seen.toasts[-1] == "4 slots Tue, Wed, Thu, Fri 09:30 made · u undo"
        await seen.press("n")
        await seen.type("mon-fri 9.30")
        assert seen.toasts[-1] == "There is a slot every Mon, Tue, Wed, Thu, Fri 09:30 already."
        await seen.press("u")
        assert await seen.desk.schedule.slots() == before
        await seen.press("ctrl+r")
        assert await seen.desk.schedule.slots() == made


async def test_an_answer_that_is_no_minute_is_asked_for_again(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("n")
        await seen.type("60")
        assert "That is no minute, no time and no days" in seen.text
        await seen.type("25:00")
        await seen.press("escape")
        assert await seen.desk.schedule.slots() == ()


async def test_a_slot_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 10)])
    async with on_schedule(tmp_path) as seen:
        await seen.press("n", "enter")
        assert seen.toasts == ["There is a slot every Wed 10:00 already."]


async def test_slots_are_deleted_and_come_back(tmp_path: Path) -> None:
    both = (slot(MON, 9), slot(WED, 11))
    await fill(tmp_path, slots=both)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        assert await seen.desk.schedule.slots() == both[:1]
        assert seen.toasts[-1] == "Slot Wed 11:00 deleted · u undo"
        await seen.press("u")
        assert await seen.desk.schedule.slots() == both
        await seen.press("ctrl+r")
        assert await seen.desk.schedule.slots() == both[:1]


async def test_the_slot_of_a_scheduled_draft_is_deleted_and_the_draft_stays(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, slots=[slot(WED, 11, 30)], at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        assert await seen.desk.schedule.slots() == ()
        assert await times(seen.desk) == {draft: NOW + HOUR}


async def test_slots_that_were_changed_elsewhere_are_not_undone(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 11)])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        await seen.desk.schedule.set_slots([slot(TUE, 8)])
        await seen.press("u")
        assert await seen.desk.schedule.slots() == (slot(TUE, 8),)
        assert "changed since" in seen.toasts[-1]


async def test_what_could_not_be_undone_can_be_undone_later(tmp_path: Path) -> None:
    before = (slot(WED, 11),)
    await fill(tmp_path, slots=before)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        await seen.desk.schedule.set_slots([slot(TUE, 8)])
        await seen.press("u")
        await seen.desk.schedule.set_slots([])
        await seen.press("u")
        assert await seen.desk.schedule.slots() == before


async def test_what_cannot_be_undone_keeps_nobody_from_what_was_done_before_it(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 11), slot(WED, 12)])
    async with on_schedule(tmp_path) as seen:
        zone = await seen.desk.schedule.zone()
        await seen.press("z", *"Asia/Tokyo", "enter")
        assert await seen.desk.schedule.zone() == "Asia/Tokyo"
        await seen.to("02-11 11")
        await seen.press("d")
        await seen.desk.schedule.set_slots([slot(TUE, 8)])
        await seen.press("u")
        assert "changed since; they were left as they are. u undoes the change before it." in seen.toasts[-1]
        await seen.press("u")
        assert await seen.desk.schedule.zone() == zone
        assert await seen.desk.schedule.slots() == (slot(TUE, 8),)


async def test_a_slot_in_the_hour_that_is_skipped_says_what_it_is_meant_as(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(SUN, 2, 30)])
    async with on_schedule(tmp_path) as seen:
        await seen.to("03-29 03")
        assert "▌03:00 free slot, every Sun 02:30, which the clocks skip here" in seen.said


# Zone and clock.


async def test_the_zone_is_changed_and_comes_back(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("z")
        await seen.type("Asia/Kathmandu")
        assert "Asia/Kathmandu, UTC+05:45" in seen.title
        await seen.press("u")
        assert "Europe/Prague" in seen.title


async def test_the_only_zone_that_was_meant_is_one_enter_away(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("z")
        assert "keeps its moment" in seen.text
        await seen.type("berlin")
        assert "berlin is no time zone" in seen.text
        assert seen.app.screen.query_one(Input).value == "Europe/Berlin"
        await seen.press("enter")
        assert await seen.desk.schedule.zone() == "Europe/Berlin"


async def test_a_zone_that_does_not_exist_is_asked_for_again_with_what_was_typed(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("z")
        await seen.type("Europe/Pragu")
        assert "is no time zone" in seen.text
        assert "Europe/Pragu" in seen.text
        assert "timeZone" not in seen.text
        await seen.press("escape")
        assert await seen.desk.schedule.zone() == "Europe/Prague"


async def test_a_clock_in_doubt_stands_above_the_week_until_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_schedule(tmp_path) as seen:
        doubts: list[ClockDoubt | None] = [ClockDoubt(since=NOW, seconds=3 * 3600.0)]

        async def doubt() -> ClockDoubt | None:
            return doubts[0]

        async def accept() -> ClockDoubt | None:
            before, doubts[0] = doubts[0], None
            return before

        assert seen.app.desk
        monkeypatch.setattr(seen.app.desk.schedule, "clock_doubt", doubt)
        monkeypatch.setattr(seen.app.desk.schedule, "accept_clock", accept)
        await seen.press("]")
        assert "C accept · The clock jumped forward by 3 hours: nothing goes out." in seen.text
        await seen.press("C")
        assert "jumped" not in seen.text
