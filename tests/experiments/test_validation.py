"""Tests for validating new experiments and changes to them."""

import pytest

from copydesk.errors import InvalidError
from copydesk.experiments.validation import validate_experiment, validate_experiment_change
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, NewExperiment


def make_variants(*values: object, parameter: str = "hook") -> list[dict[str, object]]:
    return [{"id": f"v{n}", "label": f"Variant {n}", "config": {parameter: value}} for n, value in enumerate(values)]


def invalid_fields(**changes: object) -> set[str]:
    body = {"name": "Hooks", "parameter": "hook", "variants": make_variants("question", "number")} | changes
    with pytest.raises(InvalidError) as refused:
        validate_experiment(body)
    return {field for field, _ in refused.value.errors}


def invalid_fields_of_second(**changes: object) -> set[str]:
    """Return the invalid fields when the second variant has these changes."""
    first, second = make_variants("question", "number")
    return invalid_fields(variants=[first, second | changes])


def test_experiment_is_accepted_with_trimmed_names():
    body = {"name": " Hooks ", "parameter": " hook ", "variants": make_variants("question", None, 3, ["a"], {"b": 1})}
    experiment = validate_experiment(body)
    assert (experiment.name, experiment.parameter) == ("Hooks", "hook")
    assert [variant.config["hook"] for variant in experiment.variants] == ["question", None, 3, ["a"], {"b": 1}]
    assert validate_experiment(experiment) == experiment


def test_any_parameter_name_is_accepted():
    experiment = validate_experiment(
        {"name": "n", "parameter": "moon phase", "variants": make_variants(1, 2, parameter="moon phase")}
    )
    assert experiment.parameter == "moon phase"


@pytest.mark.parametrize("name", ["", " ", "x" * 101, 5, "two\nlines", "\x1b[31mred"])
def test_name_length_is_checked(name):
    assert invalid_fields(name=name) == {"name"}


@pytest.mark.parametrize("parameter", ["", "\t", "x" * 101, "ho\x9bok"])
def test_blank_parameter_is_refused(parameter):
    assert invalid_fields(parameter=parameter) == {"parameter"}


@pytest.mark.parametrize("count", [0, 1, 6])
def test_variant_count_is_two_to_five(count):
    assert invalid_fields(variants=make_variants(*range(count))) == {"variants"}


def test_variant_ids_labels_and_configs_are_checked():
    assert invalid_fields_of_second(id="v0") == {"variants[1].id"}
    assert invalid_fields_of_second(id=" ") == {"variants[1].id"}
    assert invalid_fields_of_second(label="") == {"variants[1].label"}
    assert invalid_fields_of_second(label="a\x1b]0;b\x07") == {"variants[1].label"}
    assert invalid_fields_of_second(id="v\n1") == {"variants[1].id"}
    assert invalid_fields_of_second(label="x" * 101) == {"variants[1].label"}
    assert invalid_fields_of_second(colour="red") == {"variants[1].colour"}
    assert invalid_fields(variants=[make_variants(1)[0], {}]) == {
        f"variants[1].{name}" for name in ("id", "label", "config")
    }


@pytest.mark.parametrize(
    "config",
    [{}, {"tone": "warm"}, "question", ["hook"], {"hook": "x" * 10_001}, {"hook": "\ud800"}, {"hook": "\x00"},
     {"hook": {1, object()}}, {"hook": 10**5000}, {"hook": float("nan")}],
)  # fmt: skip
def test_config_must_hold_parameter_value(config):
    assert invalid_fields_of_second(config=config) == {"variants[1].config"}


@pytest.mark.parametrize(
    ("parameter", "good", "invalid"),
    [
        ("hashtags", [0, 5, 2.0], [6, 2.5, -1, "two", True]),
        ("emoji", ["never", "sparing", "free"], ["often", 3]),
        ("link", ["always", "never", "auto"], ["maybe", False]),
        ("length", [50, 50_000, 280.0, "short"], [49, 50_001, 120.5, True, ["short"]]),
    ],
)
def test_voice_setting_values_are_checked(parameter, good, invalid):
    for value in [*good[1:], None]:
        validate_experiment(
            {"name": "n", "parameter": parameter, "variants": make_variants(good[0], value, parameter=parameter)}
        )
    for value in invalid:
        assert invalid_fields(parameter=parameter, variants=make_variants(good[0], value, parameter=parameter)) == {
            f"variants[1].config.{parameter}"
        }


@pytest.mark.parametrize(
    ("parameter", "config", "message"),
    [
        ("hashtags", {"hashtags": "lots"}, "config.hashtags: takes a whole number from 0 to 5"),
        ("hashtags", {"hashtags": 9}, "config.hashtags: takes a whole number from 0 to 5"),
        ("emoji", {"emoji": "loud"}, "config.emoji: takes one of never, sparing, free"),
        ("length", {"length": 10}, "config.length: takes a whole number from 50 to 50,000, or text"),
        ("emoji", {"emojis": "free"}, 'config: takes the value under the parameter\'s own name: {"emoji": ...}'),
        ("emoji", 3, "config: takes an object with named fields"),
        ("emoji", None, "config: is missing"),
    ],
)
def test_error_names_allowed_values(parameter, config, message):
    first = make_variants(None, parameter=parameter)[0]
    body = {"name": "n", "parameter": parameter, "variants": [first, {"id": "b", "label": "B", "config": config}]}
    with pytest.raises(InvalidError) as refused:
        validate_experiment(body)
    assert str(refused.value) == f"variants[1].{message}"


def test_all_invalid_fields_are_reported():
    invalid_variants = [{"id": "a", "label": "A", "config": {}}, {"id": "a", "label": "", "config": {"hook": 1}}]
    assert invalid_fields(name="", variants=invalid_variants, owner="me") == {
        "name",
        "owner",
        "variants[0].config",
        "variants[1].id",
        "variants[1].label",
    }


@pytest.mark.parametrize(
    ("first", "second"), [("question", "question"), ("Question", " question "), (2, 2.0), (None, None), (["a"], ["a"])]
)
def test_variants_with_the_same_value_are_refused(first, second):
    variants = make_variants(first, second)
    assert invalid_fields(variants=variants) == {"variants"}
    assert validate_experiment({"name": "n", "parameter": "hook", "variants": variants, "aaTest": True}).aa_test


def test_variants_of_an_aa_test_have_the_same_value():
    assert invalid_fields(aaTest=True) == {"variants"}
    assert invalid_fields(aaTest="yes") == {"aaTest"}


def test_metric_and_size_are_checked():
    body = {"name": "n", "parameter": "hook", "variants": make_variants(1, 2)}
    assert (validate_experiment(body).metric, validate_experiment(body).posts_per_variant) == ("acceptance", None)
    experiment = validate_experiment(body | {"metric": "engagement", "postsPerVariant": 10})
    assert (experiment.metric, experiment.posts_per_variant) == ("engagement", 10)
    assert invalid_fields(metric="likes") == {"metric"}
    assert invalid_fields(postsPerVariant=9) == invalid_fields(postsPerVariant=1_001) == {"postsPerVariant"}


def test_missing_fields_are_reported():
    with pytest.raises(InvalidError) as refused:
        validate_experiment({})
    assert {field for field, _ in refused.value.errors} == {"name", "parameter", "variants"}


def test_struct_input_is_validated_too():
    with pytest.raises(InvalidError, match="variants"):
        validate_experiment(NewExperiment(name="n", parameter="hook", variants=()))


def test_only_conclude_takes_winner_and_reason():
    assert validate_experiment_change({"action": "conclude", "winner": "b"}) == ChangeExperiment(
        action=ExperimentAction.CONCLUDE, winner="b"
    )
    assert validate_experiment_change({"action": "archive"}).winner is None
    for body in ({"action": "archive", "winner": "b"}, {"action": "conclude", "winner": ""}):
        with pytest.raises(InvalidError, match="winner"):
            validate_experiment_change(body)
    change = validate_experiment_change(
        {"action": "conclude", "winner": "b", "reason": " out of time ", "applyToVoice": True}
    )
    assert (change.reason, change.apply_to_voice) == ("out of time", True)
    for body in ({"action": "archive", "applyToVoice": True}, {"action": "conclude", "applyToVoice": True}):
        with pytest.raises(InvalidError, match="applyToVoice"):
            validate_experiment_change(body)
    with pytest.raises(InvalidError, match="reason"):
        validate_experiment_change({"action": "archive", "reason": "done"})
    for body in ({}, {"action": "delete"}, {"action": None}):
        with pytest.raises(InvalidError, match="action"):
            validate_experiment_change(body)
