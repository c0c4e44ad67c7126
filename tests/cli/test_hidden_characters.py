"""Characters that cannot be seen and command a terminal: they are data, and printed by no command as they are."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from command_line import call_here
from copydesk.cli.drafts import say_notes, say_unwritten
from copydesk.model.draft import Status
from copydesk.text import HIDDEN
from desk_fixtures import change

# Click drops \x1b[...m by itself, where nobody looks at a terminal; not these.
HOSTILE = "Words \x9b31m\u202eof\x85 \x7f\U000e0041mine."


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A desk with a draft whose words, title and feedback are hostile, and its id."""
    home = tmp_path_factory.mktemp("hostile")
    plain = json.loads(call_here(home, "draft", "new", "Plain words.", "--json").out)["drafts"][0]["id"]
    made = call_here(home, "draft", "new", HOSTILE, "--json").out
    draft_id = json.loads(made)["drafts"][0]["id"]
    call_here(home, "draft", "reject", draft_id, "--feedback", HOSTILE)
    change(home, "UPDATE draft SET regenerated_from_id = ? WHERE id = ?", plain, draft_id)
    return home, draft_id


def hidden_in(*said: str) -> list[str]:
    return [found for each in said for found in HIDDEN.findall(each)]


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
def test_no_command_prints_them(hostile, command, options):
    home, draft_id = hostile
    said = call_here(home, "draft", *(draft_id if each == "ID" else each for each in command), *options)

    assert said.out + said.err
    assert hidden_in(said.out, said.err) == []


@pytest.mark.parametrize("command", ["show", "diff"])
def test_a_reviewer_sees_where_they_are(hostile, command):
    home, draft_id = hostile

    assert "Words" in (out := call_here(home, "draft", command, draft_id).out)
    assert "⟨U+009B⟩31m⟨U+202E⟩of" in out


def test_as_json_they_are_what_they_are(hostile):
    home, draft_id = hostile
    out = call_here(home, "draft", "show", draft_id, "--json").out

    assert "\\u009b31m\\u202eof" in out
    assert json.loads(out)["text"] == HOSTILE


def test_what_a_writer_says_is_printed_without_them(capsys):
    finding = SimpleNamespace(rule="writer", message=HOSTILE)
    draft: Any = SimpleNamespace(
        id="0", status=Status.GENERATION_FAILED, last_error=HOSTILE, checks=SimpleNamespace(findings=[finding])
    )
    say_notes([draft])
    assert say_unwritten([draft]) == 1

    said = capsys.readouterr()
    assert said.err.count("Words") == 2
    assert hidden_in(said.err) == []
