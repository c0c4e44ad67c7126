"""Tests that invisible and control characters in stored text are never printed as they are."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from cli_runner import run_in_process
from copydesk.cli.context import Context
from copydesk.cli.draft_selection import print_unwritten, print_writer_notes
from copydesk.model.draft import Status
from copydesk.text import HIDDEN_CHARACTERS
from desk_fixtures import execute_sql

# Click itself strips \x1b[...m when stdout is not a terminal, but not these characters.
HOSTILE = "Words \x9b31m\u202eof\x85 \x7f\U000e0041mine."


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A desk with a draft whose text, title and feedback contain control characters; and the draft's id."""
    home = tmp_path_factory.mktemp("hostile")
    plain_id = json.loads(run_in_process(home, "draft", "new", "Plain words.", "--json").out)["drafts"][0]["id"]
    created = run_in_process(home, "draft", "new", HOSTILE, "--json").out
    draft_id = json.loads(created)["drafts"][0]["id"]
    run_in_process(home, "draft", "reject", draft_id, "--feedback", HOSTILE)
    execute_sql(home, "UPDATE draft SET regenerated_from_id = ? WHERE id = ?", plain_id, draft_id)
    return home, draft_id


def find_hidden(*outputs: str) -> list[str]:
    return [match for output in outputs for match in re.findall(HIDDEN_CHARACTERS, output)]


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["search", "mine"],
        ["show", "ID"],
        ["diff", "ID"],
        ["history", "ID"],
        ["approve", "ID", HOSTILE],
        ["schedule", "ID", "--at", HOSTILE],
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_commands_print_no_hidden_characters(hostile, command, options):
    home, draft_id = hostile
    result = run_in_process(home, "draft", *(draft_id if arg == "ID" else arg for arg in command), *options)

    assert result.out + result.err
    assert find_hidden(result.out, result.err) == []


@pytest.mark.parametrize("command", ["show", "diff"])
def test_hidden_characters_are_escaped(hostile, command):
    home, draft_id = hostile

    assert "Words" in (out := run_in_process(home, "draft", command, draft_id).out)
    assert "⟨U+009B⟩31m⟨U+202E⟩of" in out


def test_json_keeps_hidden_characters(hostile):
    home, draft_id = hostile
    out = run_in_process(home, "draft", "show", draft_id, "--json").out

    assert "\\u009b31m\\u202eof" in out
    assert json.loads(out)["text"] == HOSTILE


def test_writer_messages_are_sanitized(capsys):
    finding = SimpleNamespace(rule="writer", message=HOSTILE)
    draft: Any = SimpleNamespace(
        id="0", status=Status.GENERATION_FAILED, last_error=HOSTILE, checks=SimpleNamespace(findings=[finding])
    )
    print_writer_notes([draft])
    assert print_unwritten(Context(home=None, sample=False, debug=False), [draft], {"0": "0"}) == 1

    result = capsys.readouterr()
    assert result.err.count("Words") == 2
    assert find_hidden(result.err) == []
