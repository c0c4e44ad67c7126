"""The weekly times and the schedule, as commands."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_one_line, call_here
from copydesk.desk import Desk, open_desk
from desk_fixtures import settings_at
from schedule_fixtures import put, put_at, put_one, status_of


def on_desk(home: Path, work: Callable[[Desk], Awaitable[Any]]) -> Any:
    """Do `work` on the desk in `home`, on the real clock, as a command does."""

    async def opened() -> Any:
        async with open_desk(settings_at(home)) as desk:
            return await work(desk)

    return asyncio.run(opened())


def done(home: Path, *args: str) -> str:
    """What a command printed that worked."""
    said = call_here(home, *args)
    assert said.code == 0, said
    return said.out


def answer(home: Path, *args: str) -> Any:
    """What a command printed as JSON."""
    return json.loads(done(home, *args, "--json"))


def test_weekly_times_are_set_and_shown_back(tmp_path):
    said = call_here(tmp_path, "slot", "set", "wed 14:30", "Monday 9", "sun 8am")

    assert (said.code, said.out) == (0, "sun 08:00\nmon 09:00\nwed 14:30\n")
    assert said.err.startswith("On the clock of ")
    assert answer(tmp_path, "slot", "list") == [
        {"dayOfWeek": 0, "hour": 8, "minute": 0},
        {"dayOfWeek": 1, "hour": 9, "minute": 0},
        {"dayOfWeek": 3, "hour": 14, "minute": 30},
    ]
    assert answer(tmp_path, "slot", "set", "--clear") == []
    said = call_here(tmp_path, "slot", "list")
    assert (said.code, said.out) == (0, "")
    assert 'copydesk slot set "mon 09:00"' in said.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["slot", "set"], "--clear"),
        (["slot", "set", "mon 9", "--clear"], "--clear"),
        (["slot", "set", "mon 9", "noday 10"], "slots[1]: “noday 10” is no weekly time"),
        (["slot", "set", "mon 9", "mon 09:00"], "slots[1]: mon 09:00 is already slots[0]"),
        (["slot", "zone", "Europe/Pragu"], "timeZone: Europe/Pragu is no time zone"),
        (["schedule", "conflicts", "--at", "30/11"], "--at: “30/11” cannot be read as one time"),
        (["schedule", "conflicts", "--at", "2020-01-01T00:00Z"], "--at: is not in the future"),
        (["schedule", "conflicts", "--at", "9999-12-31T23:59Z"], "--at: is more than ten years ahead"),
        (["schedule", "conflicts"], "Missing option '--at'"),
    ],
)
def test_what_is_no_time_is_one_line_with_code_2(tmp_path, args, says):
    said = call_here(tmp_path, *args)

    assert_one_line(said, 2)
    assert says in said.err
    assert answer(tmp_path, "slot", "list") == []


def test_another_zone_says_what_becomes_of_scheduled_drafts(tmp_path):
    assert done(tmp_path, "slot", "zone", "Europe/Prague") == "Europe/Prague\n"
    on_desk(tmp_path, lambda desk: put_at(desk, datetime.now(UTC) + timedelta(days=1)))
    said = call_here(tmp_path, "slot", "zone", "Asia/Tokyo")

    assert (said.code, said.out) == (0, "Asia/Tokyo\n")
    assert said.err == "1 scheduled draft keeps the time and the zone that were meant.\n"
    assert answer(tmp_path, "slot", "zone") == {"timeZone": "Asia/Tokyo"}


def test_a_plan_changes_nothing_and_auto_does_the_same(tmp_path):
    done(tmp_path, "slot", "set", "mon 09:00", "thu 09:00")
    ids = on_desk(tmp_path, lambda desk: put(desk, 2))
    plan = answer(tmp_path, "schedule", "plan")

    assert {each["draftId"] for each in plan["scheduled"]} == set(ids)
    assert (plan["skipped"], plan["reason"]) == (0, "")
    assert on_desk(tmp_path, lambda desk: status_of(desk, ids[0])) == "approved"
    assert answer(tmp_path, "schedule", "auto", "--dry-run")["scheduled"] == plan["scheduled"]
    assert answer(tmp_path, "schedule", "auto", "--yes")["scheduled"] == plan["scheduled"]
    assert on_desk(tmp_path, lambda desk: status_of(desk, ids[0])) == "scheduled"
    again = call_here(tmp_path, "schedule", "auto", "--yes")
    assert (again.code, again.out) == (0, "")
    assert again.err == "No draft is approved and waits for a time.\n"


def test_auto_shows_what_it_will_do_and_asks(tmp_path):
    done(tmp_path, "slot", "set", "mon 09:00")
    draft = on_desk(tmp_path, put_one)
    silent = call_here(tmp_path, "schedule", "auto")
    no = call_here(tmp_path, "schedule", "auto", stdin="n\n")

    assert (silent.code, no.code) == (1, 1)
    assert silent.out == no.out == ""
    assert "Nothing was scheduled. With --yes it is done without asking." in silent.err
    assert "Schedule 1 draft so?" in no.err
    assert draft in no.err
    yes = call_here(tmp_path, "schedule", "auto", stdin="y\n")
    assert yes.code == 0
    assert "Mon " in yes.out
    assert on_desk(tmp_path, lambda desk: status_of(desk, draft)) == "scheduled"


def test_what_was_seen_and_agreed_to_is_not_printed_again(tmp_path, monkeypatch):
    done(tmp_path, "slot", "set", "mon 09:00")
    on_desk(tmp_path, put_one)
    monkeypatch.setattr("copydesk.cli.schedule.on_terminal", lambda: True)
    said = call_here(tmp_path, "schedule", "auto", stdin="y\n")

    assert (said.code, said.out) == (0, "")
    assert said.err.count("Mon ") == 1
    assert said.err.endswith("1 draft scheduled.\n")


def test_what_got_no_time_is_an_exit_code_and_a_reason(tmp_path):
    draft = on_desk(tmp_path, put_one)
    said = call_here(tmp_path, "schedule", "auto", draft, "nobody", "--yes")

    assert (said.code, said.out) == (1, "")
    assert said.err == "2 drafts not scheduled: there are no slots to schedule to; 1 is no approved draft.\n"
    assert call_here(tmp_path, "schedule", "plan", draft).code == 0


def test_conflicts_by_a_time_as_people_write_it(tmp_path):
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(days=2)
    draft = on_desk(tmp_path, lambda desk: put_at(desk, at + timedelta(minutes=10)))
    written = at.isoformat()
    found = answer(tmp_path, "schedule", "conflicts", "--at", written)

    assert (found["hasConflict"], found["count"]) == (True, 1)
    assert {name: found["conflicts"][0][name] for name in ("id", "format", "text", "minutes")} == {
        "id": draft,
        "format": "SHORT",
        "text": "Words.",
        "minutes": 10.0,
    }
    assert answer(tmp_path, "schedule", "conflicts", "--at", written, "--exclude", draft)["count"] == 0
    said = call_here(tmp_path, "schedule", "conflicts", "--at", written)
    assert said.out.startswith(draft)
    assert "UTC (in " in said.err


def test_a_clock_in_doubt_is_told_and_accepted(tmp_path):
    assert answer(tmp_path, "schedule", "clock") == {"doubt": None}

    async def jump(desk: Desk) -> None:
        # The clock was an hour ahead when it was last looked at.
        kept = await desk.ground.read(_clock.checked)
        ahead = timedelta(hours=1)
        await desk.ground.write(_clock.keep, _replace(kept, wall=kept.wall + ahead, seen=kept.seen + ahead))

    from msgspec.structs import replace as _replace

    from copydesk.store import clock as _clock

    on_desk(tmp_path, jump)
    said = call_here(tmp_path, "schedule", "clock")
    assert said.code == 1
    assert said.out.startswith("The clock went back by 1:00:00.") or said.out.startswith("The clock went back by 0:59")
    assert "--accept" in said.err
    assert call_here(tmp_path, "schedule", "clock", "--accept").code == 0
    assert done(tmp_path, "schedule", "clock") == "The clock is right, as far as can be told.\n"
