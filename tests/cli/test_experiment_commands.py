"""Experiments on the command line."""

import json

import pytest

from command_line import assert_one_line, call_here

NEW = ("new", "How many hashtags", "hashtags", "--variant", "none=0", "--variant", "two=2")
FAR = "01890000-0000-7000-8000-000000000000"


def asked(home, *args):
    said = call_here(home, "experiment", *args, "--json")
    assert (said.code, said.err) == (0, ""), said
    return json.loads(said.out)


def test_an_experiment_is_begun_listed_concluded_and_archived(tmp_path):
    made = asked(tmp_path, *NEW)
    assert made["variants"] == [
        {"id": "a", "label": "none", "config": {"hashtags": 0}},
        {"id": "b", "label": "two", "config": {"hashtags": 2}},
    ]
    assert (made["name"], made["parameter"], made["status"]) == ("How many hashtags", "hashtags", "active")

    assert [each["id"] for each in asked(tmp_path, "list", "--status", "active")] == [made["id"]]
    assert asked(tmp_path, "show", made["id"])["results"]["arms"][1]["name"] == "two"
    done = asked(tmp_path, "conclude", made["id"], "--winner", "b")
    assert (done["status"], done["results"]["winner"]) == ("concluded", "b")
    assert asked(tmp_path, "archive", made["id"])["status"] == "archived"
    assert asked(tmp_path, "list", "--status", "active") == []


def test_the_winner_is_named_by_its_label_too(tmp_path):
    made = asked(tmp_path, *NEW)
    said = call_here(tmp_path, "experiment", "conclude", made["id"], "--winner", "three")
    assert_one_line(said, 2)

    assert asked(tmp_path, "conclude", made["id"], "--winner", "two")["results"]["winner"] == "b"


def test_an_id_goes_before_a_label(tmp_path):
    made = asked(tmp_path, "new", "Swapped", "hashtags", "--variant", "b=0", "--variant", "a=2")

    assert asked(tmp_path, "conclude", made["id"], "--winner", "a")["results"]["winner"] == "a"


def test_two_variants_of_one_label_are_wrong_usage(tmp_path):
    said = call_here(tmp_path, "experiment", "new", "Twice", "hashtags", "--variant", "a=0", "--variant", "a=2")

    assert_one_line(said, 2)
    assert "--variant: 'a' is there already" in said.err


def test_variants_are_taken_from_json(tmp_path):
    given = [
        {"id": "x", "label": "plain", "config": {"hook": None}},
        {"id": "y", "label": "q", "config": {"hook": "?"}},
    ]
    made = asked(tmp_path, "new", "Hooks", "hook", "--variants", json.dumps(given))

    assert made["variants"] == given


def test_values_are_numbers_or_words(tmp_path):
    variants = ("--variant", "low=0.2", "--variant", "as always=null", "--variant", "words=[a] b")
    made = asked(tmp_path, "new", "Heat", "temperature", *variants)

    assert [each["config"]["temperature"] for each in made["variants"]] == [0.2, None, "[a] b"]


def test_an_experiment_is_told_in_words(tmp_path):
    said = call_here(tmp_path, "experiment", *NEW)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Began How many hashtags as ")

    waits = call_here(tmp_path, "experiment", "new", "Later red", "emoji", *NEW[3:4], "a=free", "--variant", "b=never")
    assert "It waits until How many hashtags is concluded" in waits.out
    listed = call_here(tmp_path, "experiment", "list").out
    assert [line.split()[-1] for line in listed.splitlines()] == ["red", "hashtags"]
    found = call_here(tmp_path, "experiment", "show", listed.split()[0])
    assert "assigned" in found.out
    assert "unknown" in found.out


def test_it_is_said_where_the_offline_writer_writes_variants_alike(tmp_path):
    said = call_here(tmp_path, "experiment", "new", "Hooks", "hook", "--variant", "a=question", "--variant", "b=figure")

    assert said.code == 0
    assert "The offline writer cannot follow hook" in said.err


def test_without_experiments_it_says_how_to_begin(tmp_path):
    said = call_here(tmp_path, "experiment", "list")

    assert (said.code, said.out) == (0, "")
    assert "copydesk experiment new" in said.err


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (("new", "N", "hook"), 2, "--variant"),
        (("new", "N", "hook", "--variant", "a"), 2, "is not like none=0"),
        (("new", "N", "hook", "--variant", "a=1"), 2, "variants: takes 2 to 5 entries, not 1"),
        (("new", "N", "hashtags", "--variant", "a=1", "--variant", "b=9"), 2, "variants[1].config"),
        (("new", "n" * 101, "hook", "--variant", "a=1", "--variant", "b=2"), 2, "name: takes 1 to 100"),
        (("new", "N", "hook", "--variants", "{}"), 2, "not a JSON list"),
        (("new", "N", "hook", "--variants", "[]", "--variant", "a=1"), 2, "--variants"),
        (("list", "--status", "over"), 2, "--status"),
        (("show", FAR), 1, "There is no experiment"),
        (("conclude", FAR), 1, "There is no experiment"),
        (("archive", FAR), 1, "There is no experiment"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_an_exit_code(tmp_path, args, code, word):
    said = call_here(tmp_path, "experiment", *args)

    assert_one_line(said, code)
    assert word in said.err


def test_an_active_experiment_is_not_archived(tmp_path):
    made = asked(tmp_path, *NEW)
    said = call_here(tmp_path, "experiment", "archive", made["id"])

    assert_one_line(said, 1)
    assert "Conclude it first." in said.err
