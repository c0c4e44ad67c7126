"""Tests for labels and for text cut to cells."""

from collections.abc import Mapping
from enum import StrEnum

import pytest

from copydesk.model.draft import MANUAL, Status
from copydesk.model.engagement import EngagementMetric, Interval
from copydesk.model.experiment import ExperimentStatus, Metric
from copydesk.model.run import RunStatus
from copydesk.model.source import Health
from copydesk.tui import labels
from copydesk.tui.labels import STATUS, source_type_label, voice_unsupported
from copydesk.tui.terminal.cells import fit, safe_line


def test_states_and_sources_have_labels() -> None:
    assert STATUS.keys() == set(Status)
    assert source_type_label("hackernews") == "Hacker News"
    assert source_type_label(MANUAL) == "No source"


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (labels.HEALTH, Health),
        (labels.RUN_STATUS, RunStatus),
        (labels.ESTIMATE, Metric),
        (labels.EXPERIMENT_STATUS, ExperimentStatus),
        (labels.INTERVAL_NAMES, Interval),
        (labels.VALUE_NAMES, EngagementMetric),
        (labels.VALUE_BASIS, EngagementMetric),
    ],
)
def test_each_member_has_a_label(names: Mapping[str, object], kind: type[StrEnum]) -> None:
    """They are keyed by value, as `labels` does not import these enums."""
    assert names.keys() == set(kind)


def test_state_signs_are_unique() -> None:
    """Except for the two states that are still being generated."""
    signs = [(sign.letter, sign.role) for sign in STATUS.values()]
    assert len(signs) - len(set(signs)) == 1


def test_ignored_voice_fields_are_joined() -> None:
    assert voice_unsupported(["style"]) == "The offline writer ignores style."
    assert voice_unsupported(["style", "avoid", "examples"]).endswith("ignores style, avoid and examples.")


def test_cell_is_one_line_without_control_characters() -> None:
    assert safe_line("a\x1b[2Jb\nc\u202ed") == "ab cd"


def test_cell_omits_characters_of_ambiguous_width() -> None:
    assert safe_line("❤\ufe0f 👍🏽 1\ufe0f\u20e3 👩\u200d💻") == "❤ 👍 1 👩"


def test_script_joiners_keep_letters() -> None:
    assert safe_line("क\u200dष") == "कष"


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [("abc", 5, "abc  "), ("abcdef", 5, "abcd…"), ("日本語", 5, "日本…"), ("日本語", 4, "日 …"), ("abc", 0, "")],
)
def test_text_is_cut_to_exact_width(text: str, width: int, fitted: str) -> None:
    assert fit(text, width) == fitted
