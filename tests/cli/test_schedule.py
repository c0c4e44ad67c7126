"""Tests for the slot and schedule commands."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli.schedule import Plan
from copydesk.cli.schedule import _run_auto as run_auto
from copydesk.desk import Desk, open_desk
from desk_fixtures import settings_at
from schedule_fixtures import draft_status, insert_draft, insert_drafts, insert_scheduled


def run_on_desk(home: Path, work: Callable[[Desk], Awaitable[Any]]) -> Any:
    """Run `work` on the desk in `home`, on the real clock, as a command does."""

    async def run() -> Any:
        async with open_desk(settings_at(home)) as desk:
            return await work(desk)

    return asyncio.run(run())


def run_ok(home: Path, *args: str) -> str:
    """Return the output of a command that must succeed."""
    result = run_in_process(home, *args)
    assert result.code == 0, result
    return result.out


def run_json(home: Path, *args: str) -> Any:
    """Return the JSON output of a command."""
    return json.loads(run_ok(home, *args, "--json"))


def test_slots_are_set_and_listed(tmp_path):
    result = run_in_process(tmp_path, "slot", "set", "wed 14:30", "Monday 9", "sun 8am")

    assert (result.code, result.out) == (0, "sun 08:00\nmon 09:00\nwed 14:30\n")
    assert result.err.startswith("Time zone: ")
    assert run_json(tmp_path, "slot", "list") == [
        {"dayOfWeek": 0, "hour": 8, "minute": 0},
        {"dayOfWeek": 1, "hour": 9, "minute": 0},
        {"dayOfWeek": 3, "hour": 14, "minute": 30},
    ]
    assert run_json(tmp_path, "slot", "set", "--clear") == []
    result = run_in_process(tmp_path, "slot", "list")
    assert (result.code, result.out) == (0, "")
    assert 'copydesk slot set "mon 09:00"' in result.err


def test_days_that_share_a_time_are_printed_as_one(tmp_path):
    result = run_in_process(tmp_path, "slot", "set", "Weekdays 9:30", "sat 9:30", "daily 17")
    assert (result.code, result.out) == (0, "daily 17:00\nweekdays 09:30\nsat 09:30\n")
    assert len(run_json(tmp_path, "slot", "list")) == 13

    result = run_in_process(tmp_path, "slot", "set", "sat 9:30")
    assert result.err.splitlines()[-1] == "Removed 12 slots: daily 17:00, weekdays 09:30"


def test_slots_that_are_replaced_are_printed(tmp_path):
    run_ok(tmp_path, "slot", "set", "mon 09:00", "wed 14:30", "fri 9")
    result = run_in_process(tmp_path, "slot", "set", "mon 09:00")

    assert result.err.splitlines()[-1] == "Removed 2 slots: wed 14:30, fri 09:00"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["slot", "set"], "--clear"),
        (["slot", "set", "mon 9", "--clear"], "--clear"),
        (["slot", "set", "mon 9", "noday 10"], "“noday 10” is not a weekly time"),
        (["slot", "set", "mon 9", "mon 09:00"], "Error: “mon 09:00” is given twice."),
        (["slot", "zone", "Europe/Pragu"], "Error: “Europe/Pragu” is not an IANA time zone."),
        (["schedule", "conflicts", "--at", "30/11"], "--at: “30/11” is not a time; examples"),
        (["schedule", "conflicts", "--at", "9999-12-31T23:59Z"], "--at is more than ten years in the future"),
        (["schedule", "conflicts"], "Missing option '--at'"),
    ],
)
def test_invalid_time_is_usage_error(tmp_path, args, message):
    result = run_in_process(tmp_path, *args)

    assert_one_line_error(result, 2)
    assert message in result.err
    assert run_json(tmp_path, "slot", "list") == []


def test_zone_change_reports_scheduled_drafts(tmp_path):
    assert run_ok(tmp_path, "slot", "zone", "Europe/Prague") == "Europe/Prague\n"
    run_on_desk(tmp_path, lambda desk: insert_scheduled(desk, datetime.now(UTC) + timedelta(days=1)))
    result = run_in_process(tmp_path, "slot", "zone", "Asia/Tokyo")

    assert (result.code, result.out) == (0, "Asia/Tokyo\n")
    assert result.err == "1 scheduled draft keeps its time and time zone.\n"
    assert run_json(tmp_path, "slot", "zone") == {"timeZone": "Asia/Tokyo"}


def test_auto_applies_plan(tmp_path):
    run_ok(tmp_path, "slot", "set", "mon 09:00", "thu 09:00")
    ids = run_on_desk(tmp_path, lambda desk: insert_drafts(desk, 2))
    plan = run_json(tmp_path, "schedule", "plan")

    assert {assignment["draftId"] for assignment in plan["scheduled"]} == set(ids)
    assert (plan["skipped"], plan["reason"]) == (0, "")
    assert run_on_desk(tmp_path, lambda desk: draft_status(desk, ids[0])) == "approved"
    assert run_json(tmp_path, "schedule", "auto", "--dry-run")["scheduled"] == plan["scheduled"]
    assert run_json(tmp_path, "schedule", "auto", "--yes")["scheduled"] == plan["scheduled"]
    assert run_on_desk(tmp_path, lambda desk: draft_status(desk, ids[0])) == "scheduled"
    repeated = run_in_process(tmp_path, "schedule", "auto", "--yes")
    assert (repeated.code, repeated.out) == (0, "")
    assert repeated.err == "No approved drafts to schedule.\n"


def test_missing_account_is_told_with_the_plan(tmp_path):
    run_ok(tmp_path, "slot", "set", "mon 09:00", "thu 09:00")
    run_on_desk(tmp_path, lambda desk: insert_drafts(desk, 2))
    note = "No connected account posts them. Connect one: "

    assert run_json(tmp_path, "schedule", "plan")["withoutAccount"] == 2
    planned = run_in_process(tmp_path, "schedule", "plan")
    assert planned.err == f"{note}copydesk account connect bluesky\n"
    assert note in run_in_process(tmp_path, "schedule", "auto", "--yes").err


def test_auto_needs_confirmation(tmp_path):
    run_ok(tmp_path, "slot", "set", "mon 09:00")
    draft_id = run_on_desk(tmp_path, insert_draft)
    unanswered = run_in_process(tmp_path, "schedule", "auto")
    declined = run_in_process(tmp_path, "schedule", "auto", stdin="n\n")

    assert (unanswered.code, declined.code) == (1, 1)
    assert unanswered.out == declined.out == ""
    assert "Nothing changed. Use --yes to skip the confirmation." in unanswered.err
    assert "Schedule 1 draft?" in declined.err
    assert f"{draft_id[-6:]}  " in declined.err
    accepted = run_in_process(tmp_path, "schedule", "auto", stdin="y\n")
    assert accepted.code == 0
    assert "Mon " in accepted.out
    assert run_on_desk(tmp_path, lambda desk: draft_status(desk, draft_id)) == "scheduled"


def test_draft_approved_after_the_plan_is_not_scheduled_with_it(tmp_path, monkeypatch):
    run_ok(tmp_path, "slot", "set", "mon 09:00", "thu 09:00")
    planned = run_on_desk(tmp_path, insert_draft)
    later: list[str] = []
    monkeypatch.setattr(
        "copydesk.cli.schedule.confirm", lambda *_, **__: later.append(run_on_desk(tmp_path, insert_draft))
    )

    assert run_in_process(tmp_path, "schedule", "auto").code == 0
    statuses = [run_on_desk(tmp_path, partial(draft_status, draft_id=draft_id)) for draft_id in (planned, *later)]
    assert statuses == ["scheduled", "approved"]


def test_draft_approved_after_an_empty_plan_is_not_scheduled_unasked(tmp_path, monkeypatch):
    run_ok(tmp_path, "slot", "set", "mon 09:00")
    later: list[str] = []

    async def plan(desk: Desk, ids: tuple[str, ...], *, dry_run: bool) -> Plan:
        planned = await run_auto(desk, ids, dry_run=dry_run)
        later.append(await insert_draft(desk))
        return planned

    monkeypatch.setattr("copydesk.cli.schedule._run_auto", plan)
    assert run_in_process(tmp_path, "schedule", "auto").code == 0
    assert run_on_desk(tmp_path, partial(draft_status, draft_id=later[0])) == "approved"


def test_confirmed_plan_is_not_printed_twice(tmp_path, monkeypatch):
    run_ok(tmp_path, "slot", "set", "mon 09:00")
    run_on_desk(tmp_path, insert_draft)
    monkeypatch.setattr("copydesk.cli.schedule.is_interactive", lambda: True)
    result = run_in_process(tmp_path, "schedule", "auto", stdin="y\n")

    assert (result.code, result.out) == (0, "")
    assert result.err.count("Mon ") == 1
    assert result.err.endswith("1 draft scheduled.\n")


def test_drafts_without_a_slot_fail_the_command_after_the_confirmation(tmp_path):
    run_ok(tmp_path, "slot", "set", "mon 09:00")
    draft_id = run_on_desk(tmp_path, insert_draft)
    unapproved = run_json(tmp_path, "draft", "new", "Not approved yet.")["drafts"][0]["id"]
    result = run_in_process(tmp_path, "schedule", "auto", draft_id, unapproved, stdin="y\n")

    assert result.code == 1
    assert "1 draft not scheduled: 1 is not approved." in result.err
    assert run_on_desk(tmp_path, lambda desk: draft_status(desk, draft_id)) == "scheduled"


def test_unscheduled_drafts_fail_command(tmp_path):
    draft_id = run_on_desk(tmp_path, insert_draft)
    unapproved = run_json(tmp_path, "draft", "new", "Not approved yet.")["drafts"][0]["id"]
    result = run_in_process(tmp_path, "schedule", "auto", draft_id, unapproved, "--yes")

    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines() == [
        "2 drafts not scheduled: no weekly slots yet; 1 is not approved.",
        'Add some: copydesk slot set "mon 09:00"',
    ]
    assert run_in_process(tmp_path, "schedule", "plan", draft_id).code == 0


@pytest.mark.parametrize("command", ["plan", "auto"])
def test_unknown_draft_is_not_found(tmp_path, command):
    run_ok(tmp_path, "slot", "set", "mon 9")
    result = run_in_process(tmp_path, "schedule", command, "f0f0f0")
    assert_one_line_error(result, 3)
    assert result.err.startswith("Error: No draft 'f0f0f0'.")


def test_conflicts_at_a_time(tmp_path):
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(days=2)
    draft_id = run_on_desk(tmp_path, lambda desk: insert_scheduled(desk, at + timedelta(minutes=10)))
    time = at.isoformat()
    conflicts = run_json(tmp_path, "schedule", "conflicts", "--at", time)

    assert (conflicts["hasConflict"], conflicts["count"]) == (True, 1)
    assert {name: conflicts["conflicts"][0][name] for name in ("id", "format", "text", "minutes")} == {
        "id": draft_id,
        "format": "SHORT",
        "text": "Words.",
        "minutes": 10.0,
    }
    assert run_json(tmp_path, "schedule", "conflicts", "--at", time, "--exclude", draft_id)["count"] == 0
    result = run_in_process(tmp_path, "schedule", "conflicts", "--at", time)
    assert result.out.startswith(draft_id[-6:])
    assert "UTC (in " in result.err


def test_conflicts_at_a_past_time(tmp_path):
    at = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=2)
    draft_id = run_on_desk(tmp_path, lambda desk: insert_scheduled(desk, at))
    result = run_in_process(tmp_path, "schedule", "conflicts", "--at", at.isoformat())
    assert (result.code, result.out.split()[0]) == (0, draft_id[-6:])
    assert "(2 h ago)" in result.err


def test_clock_warning_is_accepted(tmp_path):
    assert run_json(tmp_path, "schedule", "clock") == {"doubt": None}

    async def jump(desk: Desk) -> None:
        # Store a last check whose clock was one hour ahead.
        (stored,) = await desk._context.read(users.load_clock_readings)
        ahead = timedelta(hours=1)
        reading = _replace(stored, wall=stored.wall + ahead, seen=stored.seen + ahead)
        await desk._context.write(users.save_clock_reading, reading)

    from msgspec.structs import replace as _replace

    from copydesk.store import users

    run_on_desk(tmp_path, jump)
    result = run_in_process(tmp_path, "schedule", "clock")
    assert result.code == 1
    assert result.out == "The clock jumped back by 1:00:00.\n"
    assert "--accept" in result.err
    assert run_in_process(tmp_path, "schedule", "clock", "--accept").code == 0
    assert run_ok(tmp_path, "schedule", "clock") == "The clock is fine.\n"
