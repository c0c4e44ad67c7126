"""Tests for `copydesk rule`."""

import json

from cli_runner import assert_one_line_error, run_in_process


def run(home, *args):
    result = run_in_process(home, "rule", *args)
    assert result.code == 0, result
    return result.out


def test_rule_is_made_listed_switched_and_removed(tmp_path):
    assert run(tmp_path, "add", "exclude", "giveaway") == "exclude giveaway: on\n"
    assert run(tmp_path, "set", "giveaway", "--term", "big giveaway", "--off") == "exclude big giveaway: off\n"
    (rule,) = json.loads(run(tmp_path, "list", "--json"))
    assert (rule["term"], rule["enabled"], rule["reason"]) == ("big giveaway", False, "")
    assert "off" in run(tmp_path, "list")
    assert run(tmp_path, "remove", "big giveaway", "--yes") == "Deleted.\n"
    assert "No rules." in run_in_process(tmp_path, "rule", "list").err


def test_unknown_rule(tmp_path):
    assert_one_line_error(run_in_process(tmp_path, "rule", "set", "giveaway", "--off"), 3)


def test_deletion_is_confirmed(tmp_path):
    run(tmp_path, "add", "avoid", "synergy")
    assert_one_line_error(run_in_process(tmp_path, "rule", "remove", "sinergy"), 3)
    declined = run_in_process(tmp_path, "rule", "remove", "synergy", stdin="n\n")
    assert "Nothing changed." in declined.err
    assert "synergy" in run(tmp_path, "list")


def test_suggestion_names_the_command(tmp_path):
    created = json.loads(run_in_process(tmp_path, "draft", "new", "Pure synergy here.", "--json").out)
    draft_id = created["drafts"][0]["id"]
    run_in_process(tmp_path, "draft", "reject", draft_id, "--feedback", "don't say synergy")
    assert f"copydesk rule add avoid synergy --draft {draft_id[-6:]}" in run(tmp_path, "suggest", draft_id)
