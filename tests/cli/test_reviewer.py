"""Tests for `copydesk reviewer`, and for commands that the role of the caller does not allow."""

import json
from pathlib import Path

from cli_runner import CommandResult, assert_one_line_error, run_in_process


def run_as(reviewer: str, home: Path, *args: str) -> CommandResult:
    """Run a command as this reviewer."""
    return run_in_process(home, *args, copydesk_console__reviewer=reviewer)


def test_roles_are_given_listed_and_taken_away(tmp_path: Path) -> None:
    assert run_as("anna", tmp_path, "reviewer", "list").err == "No roles: everybody may do everything.\n"
    given = run_as("anna", tmp_path, "reviewer", "role", "ben", "writer")
    assert [line.split() for line in given.out.splitlines()] == [["anna", "publisher"], ["ben", "writer"]]
    listed = json.loads(run_as("ben", tmp_path, "reviewer", "list", "--json").out)
    assert listed == [{"name": "anna", "role": "publisher"}, {"name": "ben", "role": "writer"}]
    run_as("anna", tmp_path, "reviewer", "remove", "ben")
    assert run_as("anna", tmp_path, "reviewer", "remove", "anna").err == "No roles: everybody may do everything.\n"
    missing = run_as("anna", tmp_path, "reviewer", "remove", "ben")
    assert_one_line_error(missing, 3)


def test_command_beyond_the_role_is_refused(tmp_path: Path) -> None:
    run_as("anna", tmp_path, "reviewer", "role", "ben", "writer")
    created = json.loads(run_as("ben", tmp_path, "draft", "new", "The ferry sails.", "--json").out)
    draft_id = created["drafts"][0]["id"]

    refused = run_as("ben", tmp_path, "draft", "approve", draft_id)

    assert_one_line_error(refused, 4)
    assert "This needs the role reviewer; yours is writer. Ask a publisher: `copydesk reviewer list`." in refused.err
    as_json = run_as("ben", tmp_path, "slot", "set", "mon 09:00", "--json")
    problem = json.loads(as_json.err)
    assert (problem["type"], problem["status"]) == ("/problems/insufficient-role", 403)
    assert run_as("anna", tmp_path, "draft", "approve", draft_id).code == 0


def test_desk_of_somebody_else_is_removed_by_its_publishers_only(tmp_path: Path) -> None:
    run_as("anna", tmp_path, "user", "add", "agency")
    run_as("anna", tmp_path, "--user", "agency", "reviewer", "role", "ben", "writer")
    assert_one_line_error(run_as("ben", tmp_path, "user", "remove", "agency", "--yes"), 4)
    assert run_as("anna", tmp_path, "user", "remove", "agency", "--yes").code == 0
