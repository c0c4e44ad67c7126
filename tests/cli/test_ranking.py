"""Tests for `copydesk why` and `copydesk ranking preview`."""

import json

import pytest

from cli_runner import run_in_process


def test_unknown_item(tmp_path):
    result = run_in_process(tmp_path, "why", "https://elsewhere.example/1")
    assert (result.code, result.out) == (0, "No item has this address, and no source is on its site.\n")
    assert json.loads(run_in_process(tmp_path, "why", "x", "--json").out)["fate"] == "unknown"


def test_preview_of_an_empty_desk(tmp_path):
    result = run_in_process(tmp_path, "ranking", "preview", "--interest", "ferries", "--weight", "recency=0.1")
    assert (result.code, result.err) == (0, "")
    assert "30 days, 0 items." in result.out
    assert "No approvals in these days" in result.out


def test_preview_as_json(tmp_path):
    found = json.loads(run_in_process(tmp_path, "ranking", "preview", "--exclude", "giveaway", "--json").out)
    assert (found["days"], found["hits"]["of"]) == (30, 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Pass a change"),
        (("--no-interest", "sqlite"), "is not set"),
        (("--weight", "recency"), "is not PART=WEIGHT"),
        (("--weight", "luck=0.1"), "is no part of the score"),
        (("--weight", "recency=7"), "--weight takes a number of at most 1"),
    ],
)
def test_wrong_change_is_refused(tmp_path, args, message):
    result = run_in_process(tmp_path, "ranking", "preview", *args)
    assert result.code == 2
    assert message in result.err


def test_change_is_saved_after_its_preview(tmp_path):
    saved = run_in_process(
        tmp_path, "ranking", "preview", "--interest", "ferries", "--weight", "recency=0.1", "--save", "--yes"
    )
    added = run_in_process(tmp_path, "ranking", "preview", "--interest", "rail", "--save", "--yes")
    shown = json.loads(run_in_process(tmp_path, "ranking", "show", "--json").out)
    assert saved.out.index("30 days, 0 items.") < saved.out.index("Saved. The next run uses it.")
    assert (added.code, shown["interests"], shown["weights"]["recency"]) == (0, ["ferries", "rail"], 0.1)


def test_change_is_not_saved_without_save(tmp_path):
    run_in_process(tmp_path, "ranking", "preview", "--interest", "ferries")
    assert "nothing; defaults and the settings file apply" in run_in_process(tmp_path, "ranking", "show").out


def test_saved_ranking_is_reset(tmp_path):
    run_in_process(tmp_path, "ranking", "preview", "--interest", "ferries", "--save", "--yes")
    assert "ferries" in run_in_process(tmp_path, "ranking", "show").out
    assert "ferries" not in run_in_process(tmp_path, "ranking", "reset", "--yes").out
