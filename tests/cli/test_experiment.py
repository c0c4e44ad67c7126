"""Tests for the experiment commands."""

import json

import pytest

from cli_runner import assert_one_line_error, run_in_process

NEW_EXPERIMENT_ARGS = ("new", "How many hashtags", "hashtags", "--variant", "none=0", "--variant", "two=2")
EARLY = ("--reason", "Enough seen.")
UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"


def run_json(home, *args):
    result = run_in_process(home, "experiment", *args, "--json")
    assert (result.code, result.err) == (0, ""), result
    return json.loads(result.out)


def test_experiment_lifecycle(tmp_path):
    experiment = run_json(tmp_path, *NEW_EXPERIMENT_ARGS)
    assert experiment["variants"] == [
        {"id": "a", "label": "none", "config": {"hashtags": 0}},
        {"id": "b", "label": "two", "config": {"hashtags": 2}},
    ]
    assert (experiment["name"], experiment["parameter"], experiment["status"]) == (
        "How many hashtags",
        "hashtags",
        "active",
    )

    assert [listed["id"] for listed in run_json(tmp_path, "list", "--status", "active")] == [experiment["id"]]
    assert run_json(tmp_path, "show", experiment["id"])["results"]["arms"][1]["name"] == "two"
    concluded = run_json(tmp_path, "conclude", experiment["id"], "--winner", "b", *EARLY)
    assert (concluded["status"], concluded["results"]["winner"]) == ("concluded", "b")
    assert run_json(tmp_path, "archive", experiment["id"])["status"] == "archived"
    assert run_json(tmp_path, "list", "--status", "active") == []


def test_winner_may_be_given_by_label(tmp_path):
    experiment = run_json(tmp_path, *NEW_EXPERIMENT_ARGS)
    result = run_in_process(tmp_path, "experiment", "conclude", experiment["id"], "--winner", "three", *EARLY)
    assert_one_line_error(result, 2)

    assert run_json(tmp_path, "conclude", experiment["id"], "--winner", "two", *EARLY)["results"]["winner"] == "b"


def test_variant_id_takes_precedence_over_label(tmp_path):
    experiment = run_json(tmp_path, "new", "Swapped", "hashtags", "--variant", "b=0", "--variant", "a=2")

    assert run_json(tmp_path, "conclude", experiment["id"], "--winner", "a", *EARLY)["results"]["winner"] == "a"


def test_early_conclusion_needs_a_reason(tmp_path):
    experiment = run_json(tmp_path, *NEW_EXPERIMENT_ARGS)
    refused = run_in_process(tmp_path, "experiment", "conclude", experiment["id"])
    assert_one_line_error(refused, 2)
    assert "reason is missing: the plan is not complete. Not enough data: 0 of " in refused.err

    assert "ended early" in run_in_process(tmp_path, "experiment", "conclude", experiment["id"], *EARLY).out


def test_winner_becomes_voice_setting(tmp_path):
    experiment = run_json(tmp_path, *NEW_EXPERIMENT_ARGS)
    shown = run_in_process(
        tmp_path, "experiment", "conclude", experiment["id"], "--winner", "two", "--apply", *EARLY
    ).out
    assert "formats.SHORT.hashtags" in shown
    assert "default -> 2" in shown
    voice = json.loads(run_in_process(tmp_path, "voice", "show", "--json").out)
    assert voice["formats"]["SHORT"]["hashtags"] == 2


def test_plan_is_shown_at_creation(tmp_path):
    started = run_in_process(
        tmp_path, "experiment", *NEW_EXPERIMENT_ARGS, "--metric", "engagement", "--posts", "20"
    ).out
    assert "Decided by engagement: 20 measured posts per variant" in started
    assert "25% more: 152" in " ".join(started.split())
    planned = run_in_process(tmp_path, "experiment", "plan", "--metric", "engagement", "--posts", "20").out
    assert planned.strip() in started


def test_aa_test_is_named(tmp_path):
    same = ("new", "Twice", "hashtags", "--variant", "one=2", "--variant", "other=2")
    refused = run_in_process(tmp_path, "experiment", *same)
    assert_one_line_error(refused, 2)
    assert "only an A/A test" in refused.err

    assert run_json(tmp_path, *same, "--aa")["aaTest"]


def test_duplicate_label_is_usage_error(tmp_path):
    result = run_in_process(tmp_path, "experiment", "new", "Twice", "hashtags", "--variant", "a=0", "--variant", "a=2")

    assert_one_line_error(result, 2)
    assert "--variant: need different labels, not “a” twice" in result.err


def test_variants_from_json(tmp_path):
    variants = [
        {"id": "x", "label": "plain", "config": {"hook": None}},
        {"id": "y", "label": "q", "config": {"hook": "?"}},
    ]
    experiment = run_json(tmp_path, "new", "Hooks", "hook", "--variants", json.dumps(variants))

    assert experiment["variants"] == variants


def test_variant_values_are_numbers_or_text(tmp_path):
    variants = ("--variant", "low=0.2", "--variant", "as always=null", "--variant", "words=[a] b")
    experiment = run_json(tmp_path, "new", "Heat", "temperature", *variants)

    assert [variant["config"]["temperature"] for variant in experiment["variants"]] == [0.2, None, "[a] b"]


def test_experiment_as_text(tmp_path):
    result = run_in_process(tmp_path, "experiment", *NEW_EXPERIMENT_ARGS)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Started How many hashtags (")

    refused = run_in_process(tmp_path, "experiment", *NEW_EXPERIMENT_ARGS)
    assert "“How many hashtags” is active and tests hashtags already." in refused.err
    later = run_in_process(
        tmp_path, "experiment", "new", "Later red", "emoji", *NEW_EXPERIMENT_ARGS[3:4], "a=free", "--variant", "b=never"
    )
    assert later.out.startswith("Started Later red")
    listed = run_in_process(tmp_path, "experiment", "list").out
    assert [line.split()[-1] for line in listed.splitlines()] == ["red", "hashtags"]
    detail = run_in_process(tmp_path, "experiment", "show", listed.split()[0])
    assert "assigned" in detail.out
    assert "unknown" in detail.out


def test_offline_writer_warns_about_unsupported_parameter(tmp_path):
    result = run_in_process(
        tmp_path, "experiment", "new", "Hooks", "hook", "--variant", "a=question", "--variant", "b=figure"
    )

    assert result.code == 0
    assert "Some variants will be alike: the offline writer does not support these values of 'hook'" in result.err
    assert "Parameters" not in result.err


def test_unknown_parameter_names_the_known_ones(tmp_path):
    result = run_in_process(
        tmp_path, "experiment", "new", "Hooks", "hok", "--variant", "a=question", "--variant", "b=figure"
    )

    assert result.code == 0
    assert "Parameters that writers know: hashtags, length, emoji, link, hook, " in result.err


def test_empty_list_explains_new(tmp_path):
    result = run_in_process(tmp_path, "experiment", "list")

    assert (result.code, result.out) == (0, "")
    assert "copydesk experiment new" in result.err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("new", "N", "hook"), 2, "--variant"),
        (("new", "N", "hook", "--variant", "a"), 2, "is not LABEL=VALUE"),
        (("new", "N", "hook", "--variant", "a=1"), 2, "--variant takes 2 to 5 entries, not 1"),
        (("new", "N", "hashtags", "--variant", "a=1", "--variant", "b=9"), 2, "variants[1].config"),
        (("new", "n" * 101, "hook", "--variant", "a=1", "--variant", "b=2"), 2, "NAME takes 1 to 100"),
        (("new", "N", "hook", "--variants", "{}"), 2, "not a JSON list"),
        (("new", "N", "hook", "--variants", "[]", "--variant", "a=1"), 2, "--variants"),
        (("list", "--status", "over"), 2, "--status"),
        (("show", UNKNOWN_ID), 3, "No experiment"),
        (("conclude", UNKNOWN_ID), 3, "No experiment"),
        (("archive", UNKNOWN_ID), 3, "No experiment"),
    ],
)
def test_invalid_usage_is_one_line(tmp_path, args, code, message):
    result = run_in_process(tmp_path, "experiment", *args)

    assert_one_line_error(result, code)
    assert message in result.err


def test_active_experiment_cannot_be_archived(tmp_path):
    experiment = run_json(tmp_path, *NEW_EXPERIMENT_ARGS)
    result = run_in_process(tmp_path, "experiment", "archive", experiment["id"])

    assert_one_line_error(result, 4)
    assert "Conclude it first." in result.err
