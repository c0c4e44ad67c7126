"""Tests for ids on the command line: given by their ends, and shortened in lists."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli_runner import CommandResult, assert_one_line_error, run_in_process
from copydesk.cli import copydesk
from copydesk.cli.commands import COMMANDS
from copydesk.cli.ids import IdType
from desk_fixtures import execute_sql

ID_NAMES = {"id", "ids", "other", "draft_id", "delivery_id", "run_id", "source_id", "exclude"}


def run_ok(home: Path, *args: str) -> CommandResult:
    result = run_in_process(home, *args)
    assert result.code == 0, result
    return result


def run_json(home: Path, *args: str):
    return json.loads(run_ok(home, *args, "--json").out)


def create_draft(home: Path, text: str, end: str = "") -> str:
    """Create a draft, whose id ends with `end`; return the id."""
    created = run_json(home, "draft", "new", text)["drafts"][0]["id"]
    draft_id = created[: len(created) - len(end)] + end
    for table, column in (("draft_event", "draft_id"), ("draft", "id")):
        execute_sql(home, f"UPDATE {table} SET {column} = ? WHERE {column} = ?", draft_id, created)
    return draft_id


def status(home: Path, draft_id: str) -> str:
    found = run_json(home, "draft", "show", draft_id)["status"]
    assert isinstance(found, str)
    return found


def walk_parameters() -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    """Yield every parameter of every command, with the words of the command."""
    for name in COMMANDS:
        command = copydesk.get_command(click.Context(copydesk), name)
        assert command is not None
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for found in commands:
            yield from (((name, found.name or ""), parameter) for parameter in found.params)


def test_every_id_may_be_an_end() -> None:
    whole = {
        words for words, found in walk_parameters() if found.name in ID_NAMES and not isinstance(found.type, IdType)
    }
    # Its --exclude takes words.
    assert whole == {("ranking", "preview")}
    metavars = [(words, found) for words, found in walk_parameters() if "ID" in (found.metavar or "").strip("[].")]
    # A token is given by its name, too.
    assert {words for words, found in metavars if not isinstance(found.type, IdType)} == {("token", "revoke")}


def test_drafts_are_given_by_their_ends(tmp_path: Path) -> None:
    first, second = create_draft(tmp_path, "One."), create_draft(tmp_path, "Two.")

    assert "One." in run_ok(tmp_path, "draft", "show", first[-4:].upper()).out
    assert run_ok(tmp_path, "draft", "approve", first[-6:]).out == f"{first[-6:]} approved.\n"
    assert run_ok(tmp_path, "draft", "undo", first[-6:]).code == 0
    # The same draft twice is one.
    assert run_json(tmp_path, "draft", "approve", first[-4:], second[-8:], first, "--bulk")["total"] == 2
    assert {status(tmp_path, first), status(tmp_path, second)} == {"approved"}


def test_other_ids_are_given_by_their_ends(tmp_path: Path) -> None:
    run_ok(tmp_path, "--sample", "--run-pipeline")
    desk = ("--sample",)
    source = run_json(tmp_path, *desk, "source", "list")[0]["id"]
    drafts = run_json(tmp_path, *desk, "draft", "list")["drafts"]
    draft = drafts[0]["id"]
    run_ok(tmp_path, *desk, "draft", "approve", draft)
    run_ok(tmp_path, *desk, "draft", "post", draft[-6:])
    (delivery,) = [report["id"] for report in run_json(tmp_path, *desk, "delivery", "list", draft[-6:])]
    run = run_json(tmp_path, *desk, "run", "list")["runs"][0]["id"]
    variants = ("--variant", "a=1", "--variant", "b=2")
    experiment = run_json(tmp_path, *desk, "experiment", "new", "Tags", "hashtags", *variants)["id"]

    assert run_json(tmp_path, *desk, "source", "show", source[-6:])["id"] == source
    assert run_json(tmp_path, *desk, "run", "show", run[-6:])["id"] == run
    assert run_json(tmp_path, *desk, "delivery", "show", delivery[-6:])["delivery"]["id"] == delivery
    assert run_json(tmp_path, *desk, "experiment", "show", experiment[-6:])["id"] == experiment
    assert run_json(tmp_path, *desk, "story", "show", drafts[1]["id"][-6:])
    item = drafts[1]["itemId"]
    assert run_json(tmp_path, *desk, "why", item[-6:]) == run_json(tmp_path, *desk, "why", item)
    counts = [
        len(run_json(tmp_path, *desk, "draft", "list", "--source", found["id"][-6:])["drafts"])
        for found in run_json(tmp_path, *desk, "source", "list")
    ]
    assert (sum(counts), max(counts) < len(drafts)) == (len(drafts), True)
    # The sources were read already.
    again = run_json(tmp_path, *desk, "--run-pipeline", "--source", source[-6:])
    assert (again["status"], again["stats"]["sourcesFetched"]) == ("succeeded", 1)
    for words, ends in (
        (("source", "list"), [source]),
        (("run", "list"), [run]),
        (("experiment", "list"), [experiment]),
        (("delivery", "list", draft), [delivery]),
        (("draft", "list"), [draft]),
    ):
        out = run_ok(tmp_path, *desk, *words).out
        assert all(f"{end[-6:]}  " in out and end not in out for end in ends)


def test_ambiguous_end_changes_nothing(tmp_path: Path) -> None:
    first = create_draft(tmp_path, "One ferry.", "1aaaa11")
    create_draft(tmp_path, "Two ferries.", "2aaaa11")
    third = create_draft(tmp_path, "Three ferries.")

    result = run_in_process(tmp_path, "draft", "approve", third[-6:], "aa11")

    assert_one_line_error(result, 2)
    assert result.err == (
        "Error: “aa11” is the end of several draft ids:"
        " 2aaaa11 (needs review) Two ferries.; 1aaaa11 (needs review) One ferry.\n"
    )
    assert {status(tmp_path, first), status(tmp_path, third)} == {"awaiting_review"}
    problem = json.loads(run_in_process(tmp_path, "draft", "approve", "aa11", "--json").err)
    assert (problem["status"], problem["errors"][0]["field"]) == (422, "id")


def test_end_of_nothing_is_not_found(tmp_path: Path) -> None:
    draft_id = create_draft(tmp_path, "One.", "1aaaa11")

    assert_one_line_error(run_in_process(tmp_path, "draft", "show", "2aaaa11"), 3)
    assert_one_line_error(run_in_process(tmp_path, "source", "show", draft_id[-6:]), 3)
    short = run_in_process(tmp_path, "draft", "show", "a11")
    assert_one_line_error(short, 2)
    assert short.err == "Error: “a11” is too short. Pass at least the last 4 characters.\n"


def test_one_unknown_end_fails_alone(tmp_path: Path) -> None:
    draft_id = create_draft(tmp_path, "One.")

    result = run_in_process(tmp_path, "draft", "approve", draft_id[-6:], "beef")

    assert (result.code, result.out) == (1, "1 approved, 1 failed.\n")
    assert "\nbeef: " in f"\n{result.err}"


def test_ids_of_others_are_not_found(tmp_path: Path) -> None:
    draft_id = create_draft(tmp_path, "One.")
    run_ok(tmp_path, "user", "add", "anna")

    assert_one_line_error(run_in_process(tmp_path, "--user", "anna", "draft", "show", draft_id[-6:]), 3)


@pytest.mark.parametrize("words", [("draft", "list"), ("draft", "search", "ferry")])
def test_lists_print_short_ids_and_json_whole_ones(tmp_path: Path, words: tuple[str, ...]) -> None:
    first = create_draft(tmp_path, "One ferry.", "111aaaa11")
    second = create_draft(tmp_path, "Two ferry.", "222aaaa11")

    lines = run_ok(tmp_path, *words).out.splitlines()

    assert [line.split()[0] for line in lines] == [second[-7:], first[-7:]]
    assert [found["id"] for found in run_json(tmp_path, *words)["drafts"]] == [second, first]
    for short_id in (first[-7:], second[-7:]):
        run_ok(tmp_path, "draft", "show", short_id)


def test_drafts_are_named_by_the_ids_of_the_lists(tmp_path: Path) -> None:
    first = create_draft(tmp_path, "One ferry.", "111aaaa11")
    create_draft(tmp_path, "Two ferries.", "222aaaa11")
    short_id = first[-7:]

    assert run_ok(tmp_path, "draft", "show", first).out.splitlines()[0].endswith(f" · {short_id}")
    assert run_ok(tmp_path, "draft", "edit", first, "--text", "A ferry.").out.startswith(f"{short_id} edited")
    assert run_ok(tmp_path, "draft", "approve", first).out.startswith(f"{short_id} approved")
    assert run_ok(tmp_path, "draft", "undo").out.startswith(f"{short_id} now needs review")
    created = run_ok(tmp_path, "draft", "new", "Three ferries.").out.split()[1]
    assert run_json(tmp_path, "draft", "show", created)["id"].endswith(created)
    assert len(created) == 6
    failed = run_in_process(tmp_path, "draft", "reschedule", "--at", "in 2 days", first, created)
    named = [line.split(":")[0] for line in failed.err.splitlines()[1:]]
    assert (named[0], named[1][-6:], len(named[1])) == (short_id, created, len(short_id))


def test_schedule_prints_short_ids(tmp_path: Path) -> None:
    draft_id = create_draft(tmp_path, "One.")
    run_ok(tmp_path, "draft", "approve", draft_id)
    run_ok(tmp_path, "slot", "set", "mon 09:00")

    assert run_ok(tmp_path, "schedule", "plan", draft_id[-6:]).out.startswith(f"{draft_id[-6:]}  ")
    run_ok(tmp_path, "draft", "schedule", draft_id[-6:], "--at", "in 50 hours")
    conflicts = ("schedule", "conflicts", "--at", "in 50 hours")
    assert run_ok(tmp_path, *conflicts).out.startswith(f"{draft_id[-6:]}  ")
    assert run_ok(tmp_path, *conflicts, "--exclude", draft_id[-6:]).out == ""


def test_empty_id_is_no_missing_one(tmp_path):
    assert run_in_process(tmp_path, "delivery", "list", "").err.startswith("Error: No draft ''.")
