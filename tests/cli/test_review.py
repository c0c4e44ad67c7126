"""Tests for the commands that change drafts: one, several, all that match; as text and as JSON."""

import asyncio
import io
import json
import os
import signal
import socket
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock, patch

import msgspec
import pytest

from cli_runner import CommandResult, assert_one_line_error, run_in_process
from copydesk.cli import draft as draft_module
from copydesk.desk import open_desk
from copydesk.desk.drafts.service import Drafts
from copydesk.errors import StoreFullError
from copydesk.model.draft import Draft
from desk_fixtures import execute_sql, query_db, settings_at

UNKNOWN_ID = "019c4a5e-0000-7000-8000-000000000000"
DRAFT_FIELDS = {field.encode_name for field in msgspec.structs.fields(Draft)}
BULK_FIELDS = ["action", "total", "succeeded", "failed", "results"]


def run_ok(home: Path, *args: str, **env: str) -> str:
    """Return the command's output; it must succeed, and may print on stderr."""
    result = run_in_process(home, *args, **env)
    assert result.code == 0, result
    return result.out


def run_json(home: Path, *args: str):
    return json.loads(run_ok(home, *args, "--json"))


def create_draft(home: Path, text: str = "The harbour opens on Monday.", *args: str) -> str:
    return str(run_json(home, "draft", "new", text, *args)["drafts"][0]["id"])


def statuses(home: Path) -> list[str]:
    return [str(status) for (status,) in query_db(home, "SELECT status FROM draft ORDER BY id")]


def test_new_creates_draft_from_text(tmp_path):
    created = run_json(
        *(tmp_path, "draft", "new", "Words.", "--format", "BLOG", "--tag", "sea", "--tag", "news", "--platform", "x"),
        *("--image", "https://pictures.example/a.png"),
    )

    assert list(created) == ["mode", "itemId", "drafts"]
    assert created["drafts"][0]["images"][0]["source"] == "UPLOAD"
    draft = run_json(tmp_path, "draft", "show", created["drafts"][0]["id"])
    assert (draft["text"], draft["format"], draft["tags"]) == ("Words.", "BLOG", ["news", "sea"])
    assert run_ok(tmp_path, "draft", "new", "More words.").endswith(" (SHORT, needs review).\n")


@pytest.mark.parametrize("name", ["blusky", "blusky:me.example", ""])
def test_unknown_platform_is_refused(tmp_path, name):
    result = run_in_process(tmp_path, "draft", "new", "Words.", "--platform", "x", "--platform", name)
    assert_one_line_error(result, 2)
    message = f"Error: Invalid value for '--platform': {name!r} is not one of 'bluesky', 'mastodon', "
    assert result.err.startswith(message)
    assert result.err.endswith(". See `copydesk draft new --help`.\n")
    assert run_json(tmp_path, "draft", "list")["drafts"] == []


def test_unknown_platform_is_refused_before_the_editor_opens(tmp_path):
    result = run_in_process(tmp_path, "draft", "new", "--platform", "blusky")
    assert result.err.startswith("Error: Invalid value for '--platform': ")


def test_draft_is_for_an_account_that_is_connected_later(tmp_path):
    draft_id = create_draft(tmp_path, "Words.", "--platform", "Bluesky:me.example")
    assert run_json(tmp_path, "draft", "show", draft_id)["targetPlatforms"] == ["bluesky:me.example"]


def test_account_of_the_sample_desk_is_a_platform(tmp_path):
    created = run_json(tmp_path, "--sample", "draft", "new", "Words.", "--platform", "fake:you")
    assert created["drafts"][0]["text"] == "Words."


def test_text_from_file_or_stdin(tmp_path):
    (tmp_path / "text").write_text("\ufeffFrom a file, é.", "utf-8")
    (tmp_path / "latin").write_bytes(b"\xe9")
    created = run_json(tmp_path, "draft", "new", "--file", str(tmp_path / "text"))
    result = run_in_process(tmp_path, "draft", "new", "--file", "-", "--json", stdin="From a pipe.\n")

    texts = [created["drafts"][0]["text"], json.loads(result.out)["drafts"][0]["text"]]
    assert texts == ["From a file, é.", "From a pipe.\n"]
    assert_one_line_error(run_in_process(tmp_path, "draft", "new", "--file", str(tmp_path / "latin")), 2)
    assert_one_line_error(run_in_process(tmp_path, "draft", "new", "x", "--file", str(tmp_path / "text")), 2)


def test_invalid_field_is_usage_error(tmp_path):
    for args, field in (
        ([""], "TEXT takes 1 to 50,000 characters, not 0"),
        (["--file", "/dev/null"], "TEXT takes 1 to 50,000 characters, not 0"),
        (["x" * 50_001], "TEXT"),
        (["Words.", "--url", "https://example.com"], "url"),
        (["Words.", *["--tag", "x" * 51]], "--tag takes 1 to 50"),
        (
            ["Words.", "--image", "ftp://example.com/a.png"],
            "Error: --image ftp://example.com/a.png must start with https:// or http://",
        ),
        (["Words.", "--image", "https://example.com/a.png", "--alt", "x" * 2_001], "Error: --alt takes"),
    ):
        result = run_in_process(tmp_path, "draft", "new", *args)
        assert_one_line_error(result, 2)
        assert field in result.err


def test_single_id_prints_draft(tmp_path):
    draft_id = create_draft(tmp_path)
    changed = run_json(tmp_path, "draft", "approve", draft_id)

    assert set(changed) == DRAFT_FIELDS
    assert (changed["id"], changed["status"], changed["version"]) == (draft_id, "approved", 2)
    changed = run_json(tmp_path, "draft", "unapprove", draft_id, "--feedback", "Shorter.")
    assert (changed["status"], changed["feedback"]) == ("changes_requested", "Shorter.")
    assert run_ok(tmp_path, "draft", "reject", draft_id, "--feedback", "Too long.") == f"{draft_id[-6:]} rejected.\n"
    assert run_json(tmp_path, "draft", "regenerate", draft_id, "--no-wait")["feedback"] == "Too long."


def test_several_ids_print_bulk_result(tmp_path):
    first, second = create_draft(tmp_path), create_draft(tmp_path)
    result = run_in_process(tmp_path, "draft", "approve", first, UNKNOWN_ID, second, first, "--json")
    response = json.loads(result.out)

    assert (result.code, list(response)) == (1, BULK_FIELDS)
    assert (response["action"], response["total"], response["succeeded"], response["failed"]) == ("approve", 3, 2, 1)
    assert response["results"]["succeeded"] == [first, second]
    assert response["results"]["failed"][0]["id"] == UNKNOWN_ID
    result = run_in_process(tmp_path, "draft", "archive", first, UNKNOWN_ID)
    assert (result.code, result.out) == (1, "1 archived, 1 failed.\n")
    assert result.err.startswith(f"{UNKNOWN_ID}: No draft")
    assert run_ok(tmp_path, "draft", "unapprove", second, second).endswith("unapproved, now needs review.\n")


def test_failures_of_a_bulk_name_commands_for_this_desk(tmp_path):
    result = run_in_process(tmp_path, "--user", "owner", "draft", "archive", create_draft(tmp_path), UNKNOWN_ID)
    assert result.err.endswith("List all drafts: `copydesk --user owner draft list`.\n")


def test_refused_action_lists_possible_actions(tmp_path):
    draft_id = create_draft(tmp_path)
    for command in ("unschedule", "unapprove"):
        result = run_in_process(tmp_path, "draft", command, draft_id)
        assert_one_line_error(result, 4)
        assert "Use approve, reject, regenerate or archive instead." in result.err
    result = run_in_process(tmp_path, "draft", "approve", UNKNOWN_ID)
    assert_one_line_error(result, 3)
    assert "No draft" in result.err


def test_all_matching_needs_confirmation(tmp_path):
    for number in range(3):
        create_draft(tmp_path, f"Text {number}.", "--tag", "sea" if number else "land")
    result = run_in_process(tmp_path, "draft", "approve", "--all-matching", "--tag", "sea", stdin="y\n")
    assert (result.code, result.out) == (0, "2 approved.\n")
    assert "Approve 2 drafts?" in result.err
    assert statuses(tmp_path) == ["awaiting_review", "approved", "approved"]

    assert run_ok(tmp_path, "draft", "archive", "--all-matching", "--status", "approved", "--yes") == "2 archived.\n"
    # Archived drafts are excluded unless a filter includes them.
    response = run_json(tmp_path, "draft", "approve", "--all-matching", "--yes")
    assert (response["total"], response["failed"]) == (1, 0)
    assert run_json(tmp_path, "draft", "approve", "--all-matching", "--format", "BLOG")["total"] == 0


@pytest.mark.parametrize("reply", ["n\n", "\n", ""])
def test_without_confirmation_nothing_changes(tmp_path, reply):
    create_draft(tmp_path)
    result = run_in_process(tmp_path, "draft", "approve", "--all-matching", stdin=reply)

    assert (result.code, result.out) == (1, "")
    assert "Nothing changed." in result.err
    assert statuses(tmp_path) == ["awaiting_review"]


@pytest.mark.parametrize(
    "args",
    [
        ["approve"],
        ["approve", UNKNOWN_ID, "--all-matching"],
        ["approve", UNKNOWN_ID, "--tag", "sea"],
        ["approve", "--all-matching", "--status", "unheard"],
        ["approve", "--all-matching", "--scheduled-after", "soon"],
        ["schedule", UNKNOWN_ID, "--at", "whenever"],
        ["schedule", UNKNOWN_ID, "--at", "2020-01-01 09:00"],
        ["schedule", UNKNOWN_ID, "--at", "9999-12-31T23:59:59Z"],
        ["reschedule", UNKNOWN_ID],
        ["reject", UNKNOWN_ID, "--feedback", "x" * 5001],
        ["edit", UNKNOWN_ID],
        ["edit", UNKNOWN_ID, "--text", ""],
        ["new"],
    ],
)
def test_usage_error_is_one_line(tmp_path, args):
    assert_one_line_error(run_in_process(tmp_path, "draft", *args), 2)


def test_large_bulk_is_one_undo(tmp_path):
    draft_id = create_draft(tmp_path)
    columns = ", ".join(
        str(name) for _, name, *_ in query_db(tmp_path, "PRAGMA table_info(draft)") if name not in {"id", "rid"}
    )
    for number in range(120):
        execute_sql(
            tmp_path,
            f"INSERT INTO draft (id, {columns}) SELECT ?, {columns} FROM draft WHERE id = ?",
            f"{UNKNOWN_ID[:-3]}{number:03}",
            draft_id,
        )

    assert run_ok(tmp_path, "draft", "approve", "--all-matching", "--yes") == "121 approved.\n"
    assert len(query_db(tmp_path, "SELECT DISTINCT bulk_id FROM draft_event WHERE action = 'approve'")) == 1
    response = run_json(tmp_path, "draft", "undo")
    assert (list(response), response["action"], response["succeeded"]) == (BULK_FIELDS, "approve", 121)
    assert set(statuses(tmp_path)) == {"awaiting_review"}
    assert run_ok(tmp_path, "draft", "redo") == "121 drafts: redid approve.\n"


def approve(home: Path, draft_id: str) -> str:
    run_ok(home, "draft", "approve", draft_id)
    return draft_id


def test_time_is_parsed_in_users_zone(tmp_path):
    draft_id = create_draft(tmp_path)
    execute_sql(tmp_path, "UPDATE user SET time_zone = 'Asia/Kathmandu'")
    run_ok(tmp_path, "draft", "approve", draft_id)
    result = run_in_process(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30")

    assert result.code == 0
    assert " 09:30 UTC+05:45 (" in result.err
    assert result.out.startswith(f"{draft_id[-6:]} scheduled for ")
    assert " 09:30 UTC+05:45 (" in result.out
    moved = run_json(tmp_path, "draft", "reschedule", draft_id, "--at", "in 3 days")
    scheduled_at = datetime.fromisoformat(moved["scheduledAt"])
    assert abs(datetime.now(UTC) + timedelta(days=3) - scheduled_at) < timedelta(minutes=2)
    assert run_json(tmp_path, "draft", "unschedule", draft_id)["scheduledAt"] is None


@pytest.mark.parametrize(
    ("reply", "status"), [("n\n", "approved"), ("", "approved"), ("y\n", "scheduled"), ("\n", "scheduled")]
)
def test_scheduled_time_is_confirmed_on_terminal(tmp_path, reply, status):
    draft_id = approve(tmp_path, create_draft(tmp_path))
    with patch("copydesk.cli.review.is_interactive", return_value=True):
        result = run_in_process(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30", stdin=reply)

    assert "09:30" in result.err.splitlines()[0]
    assert "Use this time? [Y/n]: " in result.err
    assert (result.code == 0, statuses(tmp_path)) == (status == "scheduled", [status])


def test_yes_skips_time_confirmation(tmp_path):
    draft_id = approve(tmp_path, create_draft(tmp_path))
    with patch("copydesk.cli.review.is_interactive", return_value=True):
        assert (
            "Is this" not in run_in_process(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9", "--yes").err
        )
        assert statuses(tmp_path) == ["scheduled"]
        run_in_process(tmp_path, "draft", "reschedule", draft_id, "--at", "tomorrow 10", stdin="n\n")
    assert run_ok(tmp_path, "draft", "show", draft_id).count(" 09:00 ") == 1


def test_nonexistent_local_time_is_shifted(tmp_path):
    draft_id = approve(tmp_path, create_draft(tmp_path))
    execute_sql(tmp_path, "UPDATE user SET time_zone = 'Europe/Prague'")
    march = [date(datetime.now(UTC).year + 1, 3, day) for day in range(25, 32)]
    (change_date,) = (day for day in march if day.isoweekday() == 7)
    result = run_in_process(tmp_path, "draft", "schedule", draft_id, "--at", f"{change_date} 02:30")

    assert "02:30 does not exist on that day in Europe/Prague (clock change); scheduled for 03:00" in result.err
    schedules = query_db(tmp_path, "SELECT scheduled_at, scheduled_wall, scheduled_zone FROM draft")
    expected = datetime(change_date.year, 3, change_date.day, 1, tzinfo=UTC)
    assert schedules == [(int(expected.timestamp()) * 10**6, f"{change_date}T03:00", "Europe/Prague")]


def test_schedule_without_time_takes_next_slot(tmp_path):
    first_id, second_id = create_draft(tmp_path), create_draft(tmp_path)
    run_ok(tmp_path, "draft", "approve", first_id, second_id)
    result = run_in_process(tmp_path, "draft", "schedule", first_id)
    assert_one_line_error(result, 4)
    assert "No weekly slots." in result.err

    execute_sql(tmp_path, "UPDATE user SET time_zone = 'UTC'")
    run_ok(tmp_path, "slot", "set", "mon 09:00")
    assert run_ok(tmp_path, "draft", "schedule", "--all-matching", "--yes") == "2 scheduled.\n"
    first, second = sorted(int(str(at)) for (at,) in query_db(tmp_path, "SELECT scheduled_at FROM draft"))
    assert second - first == 7 * 24 * 3600 * 10**6


def test_show_prints_decisions(tmp_path):
    draft_id = create_draft(tmp_path, "Words.", "--tag", "sea", "--platform", "x", "--image", "https://p.example/a.png")
    execute_sql(tmp_path, "UPDATE user SET time_zone = 'Asia/Kathmandu'")
    run_ok(tmp_path, "draft", "unapprove", approve(tmp_path, draft_id), "--feedback", "Say\x1b[31m more.")
    result = run_ok(tmp_path, "draft", "show", draft_id)
    assert (
        "\nfeedback   Say more.\ntags       sea\nplatforms  x\nimage      https://p.example/a.png (no alt text)\n"
        in result
    )

    run_ok(tmp_path, "draft", "schedule", approve(tmp_path, draft_id), "--at", "tomorrow 9:30")
    result = run_ok(tmp_path, "draft", "show", draft_id)
    assert "\nscheduled  " in result
    assert " 09:30 UTC+05:45 (" in result
    run_ok(tmp_path, "draft", "unschedule", draft_id)
    run_ok(tmp_path, "draft", "reject", draft_id, "--feedback", "Too late.")
    run_ok(tmp_path, "draft", "archive", draft_id)
    result = run_ok(tmp_path, "draft", "show", draft_id)
    assert "\nrejected   Too late.\n" in result
    assert "\narchived   " in result
    assert "scheduled  " not in result


def test_show_prints_generation_error(tmp_path):
    draft_id = create_draft(tmp_path, "Words.")
    execute_sql(
        tmp_path,
        "UPDATE draft SET text = '', status = 'generation_failed', last_error = 'Gone.', checks = '{}'",
    )
    result = run_ok(tmp_path, "draft", "show", draft_id)

    assert "\nNo text yet.\n\nerror  Gone.\n\nSource item\n" in result


def test_edit_replaces_text(tmp_path):
    draft_id = create_draft(tmp_path)
    changed = run_json(tmp_path, "draft", "edit", draft_id, "--text", "Better words.")

    assert (changed["text"], changed["version"]) == ("Better words.", 2)
    result = run_in_process(tmp_path, "draft", "edit", draft_id, "--file", "-", stdin="From a pipe.")
    assert result.out == f"{draft_id[-6:]} edited (needs review).\n"
    assert run_json(tmp_path, "draft", "show", draft_id)["text"] == "From a pipe."


def edit_with_script(home: Path, draft_id: str, script: str, *args: str) -> CommandResult:
    """Run `draft edit` as on a terminal, with a Python script as the editor."""
    editor = home / "editor.py"
    editor.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{script}")
    with patch("copydesk.cli.draft._require_terminal"), patch.object(tempfile, "tempdir", str(home)):
        return run_in_process(home, "draft", "edit", draft_id, *args, EDITOR=f"{sys.executable} {editor}")


def test_edit_opens_editor_on_terminal(tmp_path):
    draft_id = create_draft(tmp_path)
    result = edit_with_script(tmp_path, draft_id, "path.write_text(path.read_text() + ' And more.')")

    assert result.code == 0, result
    assert run_json(tmp_path, "draft", "show", draft_id)["text"] == "The harbour opens on Monday. And more."
    result = edit_with_script(tmp_path, draft_id, "")
    assert (result.code, result.out, result.err) == (0, "", "Nothing changed.\n")


def test_unchanged_draft_is_printed_as_json(tmp_path):
    draft_id = create_draft(tmp_path)
    changed = json.loads(edit_with_script(tmp_path, draft_id, "path.write_text('Edited.')", "--json").out)
    result = edit_with_script(tmp_path, draft_id, "", "--json")
    assert (result.code, json.loads(result.out), result.err) == (0, changed, "Nothing changed.\n")


def test_ctrl_c_is_left_to_the_editor(tmp_path):
    draft_id = create_draft(tmp_path)
    interrupt = "import os, signal\nos.kill(os.getppid(), signal.SIGINT)\n"
    result = edit_with_script(tmp_path, draft_id, f"{interrupt}path.write_text('My words.')")
    assert result.code == 0, result
    assert run_json(tmp_path, "draft", "show", draft_id)["text"] == "My words."


def test_text_is_saved_when_draft_changed(tmp_path):
    draft_id = create_draft(tmp_path)
    database = tmp_path / "copydesk.db"
    result = edit_with_script(
        tmp_path,
        draft_id,
        "path.write_text('My words.')\nimport sqlite3\n"
        f"with sqlite3.connect({str(database)!r}) as other:\n    other.execute('UPDATE draft SET version = 9')",
    )
    assert result.code == 4
    saved = Path(result.err.split("Your text is saved in ")[1].strip().rstrip("."))

    assert "changed in the meantime" in result.err
    assert saved.read_text() == "My words."
    saved.unlink()


def test_text_is_saved_when_editor_fails(tmp_path):
    result = edit_with_script(tmp_path, create_draft(tmp_path), "path.write_text('My words.')\nsys.exit(1)")
    assert_one_line_error(result, 1)
    saved = Path(result.err.split("Your text is saved in ")[1].strip().rstrip("."))

    assert saved.read_text() == "My words."
    saved.unlink()


def test_edit_ends_when_editor_fails(tmp_path):
    draft_id = create_draft(tmp_path)
    edit_with_script(tmp_path, draft_id, "sys.exit(1)")

    run_ok(tmp_path, "draft", "edit", draft_id, "--text", "By Anna.", **ANNA)


def test_edit_ends_when_editor_cannot_be_started(tmp_path):
    draft_id = create_draft(tmp_path)
    with patch("copydesk.cli.draft._require_terminal"):
        run_in_process(tmp_path, "draft", "edit", draft_id, EDITOR="missing-editor")

    run_ok(tmp_path, "draft", "edit", draft_id, "--text", "By Anna.", **ANNA)


def test_edit_ends_when_text_cannot_be_saved(tmp_path):
    draft_id = create_draft(tmp_path)
    edit_with_script(tmp_path, draft_id, "path.write_text('x' * 50_001)")

    run_ok(tmp_path, "draft", "edit", draft_id, "--text", "By Anna.", **ANNA)


def test_json_error_says_in_its_hint_where_the_text_is(tmp_path):
    result = edit_with_script(tmp_path, create_draft(tmp_path), "path.write_text('x' * 50_001)", "--json")

    hint = json.loads(result.err)["hint"]
    saved = Path(hint.removeprefix("Your text is saved in ").rstrip("."))
    assert saved.read_text() == "x" * 50_001


def test_editor_does_not_open_for_rejected_draft(tmp_path):
    draft_id = create_draft(tmp_path)
    run_ok(tmp_path, "draft", "reject", draft_id)
    result = edit_with_script(tmp_path, draft_id, "path.with_name('opened').touch()")

    assert_one_line_error(result, 4)
    assert "Cannot edit a draft with the status “rejected”." in result.err
    assert not (tmp_path / "opened").exists()


def test_edit_that_is_too_long_is_wrong_usage(tmp_path):
    result = edit_with_script(tmp_path, create_draft(tmp_path), "path.write_text('x' * 50_001)")
    assert result.code == 2
    assert "text takes 1 to 50,000 characters" in result.err


def test_editor_that_cannot_be_started_is_named(tmp_path):
    draft_id = create_draft(tmp_path)
    with patch("copydesk.cli.draft._require_terminal"), patch.object(tempfile, "tempdir", str(tmp_path)):
        result = run_in_process(tmp_path, "draft", "edit", draft_id, EDITOR="missing-editor")
    assert_one_line_error(result, 1)
    assert result.err == "Error: Cannot start the editor. missing-editor: No such file or directory.\n"
    assert list(tmp_path.glob("draft-*")) == []


def write_with_script(home: Path, *args: str, script: str = "") -> CommandResult:
    """Run `draft new` as on a terminal, with a Python script as the editor and temporary files in `home`."""
    editor = home / "editor.py"
    editor.write_text(f"import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('Many words.')\n{script}")
    with patch("copydesk.cli.draft._require_terminal"), patch.object(tempfile, "tempdir", str(home)):
        return run_in_process(home, "draft", "new", *args, EDITOR=f"{sys.executable} {editor}")


def test_text_is_saved_when_the_desk_cannot_be_opened(tmp_path):
    result = write_with_script(tmp_path, script=f"pathlib.Path({str(tmp_path)!r}, 'settings.toml').write_text('x')")
    assert_one_line_error(result, 2)
    path = Path(result.err.split("Your text is saved in ")[1].strip().rstrip("."))
    assert (result.code, path.read_text()) == (2, "Many words.")


def test_no_file_is_left_of_a_text_that_was_stored(tmp_path):
    assert write_with_script(tmp_path).code == 0
    assert list(tmp_path.glob("draft-*")) == []


def test_text_is_saved_when_draft_is_invalid(tmp_path):
    result = write_with_script(tmp_path, "--tag", "x" * 51)

    assert_one_line_error(result, 2)
    path = Path(result.err.split("Your text is saved in ")[1].strip().rstrip("."))
    assert (result.code, path.read_text()) == (2, "Many words.")
    assert "--tag takes" in result.err
    path.unlink()


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interruption_says_where_the_text_is(tmp_path, monkeypatch, signal_number, code):
    async def create(*_):
        os.kill(os.getpid(), signal_number)
        await asyncio.sleep(60)

    monkeypatch.setattr(Drafts, "create", create)
    result = write_with_script(tmp_path)
    path = Path(result.err.removeprefix("Error: Interrupted. Your text is saved in ").strip().rstrip("."))
    assert (result.code, path.read_text()) == (code, "Many words.")


def test_unexpected_error_says_where_the_text_is(tmp_path, monkeypatch):
    monkeypatch.setattr(Drafts, "create", Mock(side_effect=ZeroDivisionError))
    assert "Your text is saved in " in write_with_script(tmp_path).err


def test_undo_and_redo(tmp_path):
    draft_id = create_draft(tmp_path)
    run_ok(tmp_path, "draft", "approve", draft_id)

    assert run_ok(tmp_path, "draft", "undo", draft_id) == f"{draft_id[-6:]} now needs review (undid approve).\n"
    assert run_json(tmp_path, "draft", "redo")["status"] == "approved"
    assert run_json(tmp_path, "draft", "undo")["status"] == "awaiting_review"
    result = run_in_process(tmp_path, "draft", "undo")
    assert_one_line_error(result, 4)
    assert "Nothing to undo." in result.err


def test_undo_and_redo_report_new_state(tmp_path):
    draft_id = create_draft(tmp_path)
    run_ok(tmp_path, "draft", "approve", draft_id)
    result = run_ok(tmp_path, "draft", "unapprove", draft_id, "--feedback", "Say more.")
    assert result == f"{draft_id[-6:]} unapproved, now changes requested.\n"
    run_ok(tmp_path, "draft", "archive", draft_id)
    run_ok(tmp_path, "draft", "undo")
    result = run_ok(tmp_path, "draft", "redo")
    assert result == f"{draft_id[-6:]} now changes requested and archived (redid archive).\n"
    run_ok(tmp_path, "draft", "undo")
    run_ok(tmp_path, "draft", "approve", draft_id)
    run_ok(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9")
    run_ok(tmp_path, "draft", "reschedule", draft_id, "--at", "tomorrow 17")
    result = run_ok(tmp_path, "draft", "undo")
    assert result.startswith(f"{draft_id[-6:]} now scheduled for ")
    assert " 09:00 " in result
    assert result.endswith(" (undid reschedule).\n")
    assert set(run_json(tmp_path, "draft", "redo")) == DRAFT_FIELDS
    run_ok(tmp_path, "draft", "unschedule", draft_id)
    assert run_ok(tmp_path, "draft", "undo").endswith(" (undid unschedule).\n")


def test_history_is_readable(tmp_path):
    draft_id = create_draft(tmp_path)
    run_ok(tmp_path, "draft", "edit", draft_id, "--text", "Better words.")
    run_ok(tmp_path, "draft", "approve", draft_id)
    run_ok(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30")
    run_ok(tmp_path, "draft", "undo", draft_id)
    run_ok(tmp_path, "draft", "reject", draft_id, "--feedback", "Too\x1b[31m long.")
    lines = [line.split(")  ", 1)[-1] for line in run_ok(tmp_path, "draft", "history", draft_id).splitlines()]

    assert lines[:3] == [
        "you created it (needs review)",
        "you edited the text",
        "you approved it (needs review → approved)",
    ]
    assert lines[3].startswith("you scheduled it (approved → scheduled) for ")
    assert lines[3].endswith(" (undone)")
    assert lines[4] == "you undid scheduling it (scheduled → approved)"
    assert lines[5] == "you rejected it (approved → rejected) “Too long.”"
    events = run_json(tmp_path, "draft", "history", draft_id)
    assert [event["version"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert events[1]["after"]["text"] == "Better words."
    assert_one_line_error(run_in_process(tmp_path, "draft", "history", UNKNOWN_ID), 3)


@pytest.mark.parametrize(
    "args",
    [
        ("approve", "\udcff"),
        ("approve", "one", "\udcff"),
        ("undo", "\udcff"),
        ("history", "\udcff"),
        ("diff", "\udcff"),
        ("list", "--tag", "\udcff"),
    ],
)
def test_undecodable_argument_is_usage_error(tmp_path, args):
    assert_one_line_error(run_in_process(tmp_path, "draft", *args), 2)


@pytest.mark.parametrize("command", [("new",), ("edit", UNKNOWN_ID)])
def test_endless_input_is_read_to_limit(tmp_path, command):
    read_sizes: list[int] = []

    class Endless(io.StringIO):
        name = "<stdin>"

        def read(self, size: int | None = -1) -> str:
            assert size is not None
            assert size > 0
            read_sizes.append(size)
            return "x" * size

    with patch("click.types.open_stream", lambda *_, **__: (Endless(), False)):
        result = run_in_process(tmp_path, "draft", *command, "--file", "-")

    assert_one_line_error(result, 2)
    assert read_sizes == [100_001]


def test_full_disk_is_one_line_for_a_bulk(tmp_path):
    ids = [create_draft(tmp_path, f"Text {number}.") for number in range(3)]
    run_ok(tmp_path, "draft", "reject", ids[0])
    with patch("copydesk.store.draft_updates.apply_updates", side_effect=StoreFullError):
        result = run_in_process(tmp_path, "draft", "approve", UNKNOWN_ID, *ids)

    assert (result.code, result.out) == (1, "0 approved, 4 failed.\n")
    assert result.err == f"4 drafts not changed: {StoreFullError()}\n"


def test_full_disk_is_named_once_in_the_json_of_a_bulk_undo(tmp_path):
    ids = [create_draft(tmp_path, f"Text {number}.") for number in range(3)]
    run_ok(tmp_path, "draft", "approve", *ids)
    with patch("copydesk.store.draft_updates.apply_updates", side_effect=StoreFullError):
        result = run_in_process(tmp_path, "draft", "undo", "--json")

    outcome = json.loads(result.out)
    assert (result.code, outcome["failed"], outcome["stoppedBy"]) == (1, 3, str(StoreFullError()))


def interrupt_approval(home: Path) -> list[str]:
    """Approve two of three drafts as one bulk action, and leave it as a killed process would."""
    ids = [create_draft(home, f"Text {number}.") for number in range(3)]
    run_ok(home, "draft", "approve", *ids[:2])
    dead = f"{socket.gethostname()}/999999999/1"
    execute_sql(
        home,
        "INSERT INTO bulk_action SELECT bulk_id, user_id, 'change', 'approve', NULL, 4102444800000000, ?, 3, ?, ?"
        " FROM draft_event WHERE bulk_id IS NOT NULL LIMIT 1",
        *(dead, '{"action": "approve"}', json.dumps(ids)),
    )
    return ids


def test_interrupted_bulk_is_said_by_every_command(tmp_path):
    interrupt_approval(tmp_path)
    result = run_in_process(tmp_path, "draft", "list", "--json")
    command = "copydesk draft resume"
    assert result.err == (
        f"Interrupted: approve, 2 of 3 drafts done. To finish it: `{command}`. To undo it: `{command} --undo`.\n"
    )
    assert len(json.loads(result.out)["drafts"]) == 3
    doctor = run_in_process(tmp_path, "doctor")
    assert "Interrupted: approve, 2 of 3 drafts done." in doctor.out


@pytest.mark.parametrize(
    ("options", "output", "after"),
    [
        ((), "1 approved.", ["approved"] * 3),
        (("--undo",), "2 drafts: undid approve.", ["awaiting_review"] * 3),
        (("--keep",), "Kept 2 changed drafts.", ["approved", "approved", "awaiting_review"]),
    ],
)
def test_interrupted_bulk_is_answered(tmp_path, options, output, after):
    interrupt_approval(tmp_path)
    result = run_in_process(tmp_path, "draft", "resume", *options)
    assert (result.code, result.out, result.err) == (0, f"{output}\n", "")
    assert statuses(tmp_path) == after
    again = run_in_process(tmp_path, "draft", "resume")
    assert (again.code, "No bulk action was interrupted." in again.err) == (4, True)


def test_resume_takes_one_answer(tmp_path):
    result = run_in_process(tmp_path, "draft", "resume", "--undo", "--keep")
    assert (result.code, "--undo and --keep cannot be used together" in result.err) == (2, True)


def test_check_prints_findings_and_stores_nothing(tmp_path):
    draft_id = create_draft(tmp_path)
    out = run_ok(tmp_path, "draft", "check", draft_id, "--text", "Bread &amp; salt")
    assert "HTML entity: &amp;" in out
    assert run_json(tmp_path, "draft", "check", draft_id)["findings"] == []
    checked = run_json(tmp_path, "draft", "check", draft_id, "--text", "Read more")
    assert [finding["rule"] for finding in checked["findings"]] == ["read-on"]
    assert run_json(tmp_path, "draft", "show", draft_id)["text"] == "The harbour opens on Monday."


def test_archived_drafts_are_restored(tmp_path):
    first, second = create_draft(tmp_path), create_draft(tmp_path, "Other words.")
    run_ok(tmp_path, "draft", "approve", first)
    run_ok(tmp_path, "draft", "archive", first, second)
    assert run_ok(tmp_path, "draft", "restore", first, second) == "2 restored.\n"
    assert statuses(tmp_path) == ["approved", "awaiting_review"]
    assert query_db(tmp_path, "SELECT count(*) FROM draft WHERE archived_at IS NOT NULL") == [(0,)]
    refused = run_in_process(tmp_path, "draft", "restore", first, "--json")
    assert (refused.code, list(json.loads(refused.out))) == (4, BULK_FIELDS)


def test_restored_draft_is_printed_by_its_short_id(tmp_path):
    short_id = create_draft(tmp_path)[-6:]
    assert run_ok(tmp_path, "draft", "archive", short_id) == f"{short_id} archived.\n"
    assert run_ok(tmp_path, "draft", "restore", short_id) == f"{short_id} restored.\n"


ANNA = {"copydesk_console__reviewer": "anna"}


def test_comments_of_several_reviewers_are_listed(tmp_path):
    draft_id = create_draft(tmp_path)
    assert run_in_process(tmp_path, "draft", "activity", draft_id).err.startswith("Nobody else is on this draft")
    refused = run_in_process(tmp_path, "draft", "comment", draft_id, "Really?", "--on", "on Tuesday")
    assert refused.err == "Error: --on is not in the text of the draft.\n"
    assert run_ok(tmp_path, "draft", "comment", draft_id, "Shorter?", **ANNA) == "Added a comment as anna.\n"
    run_ok(tmp_path, "draft", "comment", draft_id, "Really?", "--on", "on Monday", COPYDESK_CONSOLE__REVIEWER="ben")
    run_ok(tmp_path, "draft", "resolve", draft_id, "1", **ANNA)

    assert run_ok(tmp_path, "draft", "activity", draft_id).splitlines() == [
        "1  anna  resolved by anna               Shorter?",
        "2  ben   just now          “on Monday”  Really?",
    ]
    run_ok(tmp_path, "draft", "edit", draft_id, "--text", "Shorter.")
    assert "“on Monday” (not in the text any more)" in run_ok(tmp_path, "draft", "activity", draft_id)
    run_ok(tmp_path, "draft", "resolve", draft_id, "1", "--open")
    assert run_ok(tmp_path, "draft", "resolve", draft_id, "2", "--delete") == "Deleted the comment of ben.\n"
    (left,) = run_json(tmp_path, "draft", "activity", draft_id)["comments"]
    assert (left["text"], left["resolvedAt"]) == ("Shorter?", None)
    assert_one_line_error(run_in_process(tmp_path, "draft", "resolve", draft_id, "2"), 3)


def test_draft_is_countersigned(tmp_path):
    draft_id = create_draft(tmp_path)
    run_ok(tmp_path, "draft", "approve", draft_id, **ANNA)
    again = run_in_process(tmp_path, "draft", "countersign", draft_id, **ANNA)
    assert_one_line_error(again, 4)

    countersigned = run_ok(tmp_path, "draft", "countersign", draft_id, COPYDESK_CONSOLE__REVIEWER="ben")

    assert countersigned == "Approved by anna, ben\n"
    assert run_ok(tmp_path, "draft", "activity", draft_id) == countersigned


def test_edit_of_another_reviewer_is_taken_over(tmp_path):
    draft_id = create_draft(tmp_path)
    # Anna's editor is open: another command tries to save in the meantime.
    script = f"""
import os, subprocess
path.write_text('Typed by Anna.')
command = [sys.executable, '-m', 'copydesk', 'draft', 'edit', {draft_id!r}, '--text', 'By Ben.']
environment = os.environ | {{'COPYDESK_CONSOLE__REVIEWER': 'ben'}}
assert subprocess.run(command, env=environment, stderr=subprocess.DEVNULL).returncode == 4
subprocess.run([*command, '--take-over'], env=environment, check=True, stdout=subprocess.DEVNULL)
"""
    result = edit_with_script(tmp_path, draft_id, script)

    assert result.code == 4
    assert "Your text is saved in" in result.err
    assert run_json(tmp_path, "draft", "show", draft_id)["text"] == "By Ben."


def test_takeover_with_a_refused_text_does_not_hold_up_others(tmp_path):
    edit = ("draft", "edit", create_draft(tmp_path), "--text")
    refused = run_in_process(tmp_path, *edit, "", "--take-over", copydesk_console__reviewer="ben")
    saved = run_in_process(tmp_path, *edit, "By Anna.", copydesk_console__reviewer="anna")
    assert (refused.code, saved.code) == (2, 0)


def test_refused_text_does_not_end_an_edit_in_the_console(tmp_path):
    draft_id = create_draft(tmp_path)

    async def start_edit():
        async with open_desk(settings_at(tmp_path)) as desk:
            await desk.drafts.activity.start_edit(draft_id)

    asyncio.run(start_edit())
    assert run_in_process(tmp_path, "draft", "edit", draft_id, "--text", "").code == 2
    assert query_db(tmp_path, "SELECT draft_id FROM draft_edit") == [(draft_id,)]


def test_text_saved_in_the_editor_survives_a_takeover(tmp_path, monkeypatch):
    monkeypatch.setattr(draft_module, "RENEWAL_INTERVAL", 0.01)
    draft_id = create_draft(tmp_path)
    # The editor stays open until each text has been stored: with the lease, then as one that is not saved.
    script = f"""
import os, sqlite3, subprocess

def save(text, table):
    path.write_text(text)
    while True:
        with sqlite3.connect({str(tmp_path / "copydesk.db")!r}, timeout=30) as database:
            if database.execute(f"SELECT text FROM {{table}}").fetchone() == (text,):
                break

save('Typed.', 'draft_edit')
command = [sys.executable, '-m', 'copydesk', 'draft', 'edit', {draft_id!r}, '--text', 'By Anna.', '--take-over']
environment = os.environ | {{'COPYDESK_CONSOLE__REVIEWER': 'anna'}}
subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
save('Typed, not saved.', 'unsaved_edit')
sys.exit(1)
"""
    # The takeover is not reported in the middle of the editor.
    assert_one_line_error(edit_with_script(tmp_path, draft_id, script), 1)

    activity = run_ok(tmp_path, "draft", "activity", draft_id)
    assert "not saved, taken over just now:" in activity
    assert "{+Typed, not saved+}" in activity
