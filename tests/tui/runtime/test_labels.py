"""Tests for labels: states, times and numbers as text, and text cut to cells."""

from datetime import timedelta

import pytest

from console_driver import NOW
from copydesk.model.draft import MANUAL, Status
from copydesk.model.source import SourceType
from copydesk.tui.labels import SOURCE, STATUS, format_age, format_ago, plural, progress_bar
from copydesk.tui.terminal.cells import fit, safe_line


@pytest.mark.parametrize(
    ("age_delta", "expected"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=5), "5m"),
        (timedelta(minutes=119), "1h"),
        (timedelta(hours=47), "1d"),
        (timedelta(days=400), "57w"),
    ],
)
def test_age_is_abbreviated(age_delta: timedelta, expected: str) -> None:
    assert format_age(NOW - age_delta, NOW) == expected


def test_age_as_phrase() -> None:
    assert (format_ago(NOW, NOW), format_ago(NOW - timedelta(hours=3), NOW)) == ("just now", "3h ago")


def test_states_and_sources_have_labels() -> None:
    assert STATUS.keys() == set(Status)
    assert SOURCE.keys() == {*SourceType, MANUAL}


def test_state_signs_are_unique() -> None:
    """Except for the two states that are still being generated."""
    signs = [(sign.letter, sign.role) for sign in STATUS.values()]
    assert len(signs) - len(set(signs)) == 1


def test_bar_has_requested_width() -> None:
    assert [progress_bar(share, 4) for share in (-1, 0, 0.5, 1, 7)] == [
        ("", "╌╌╌╌"),
        ("", "╌╌╌╌"),
        ("━━", "╌╌"),
        ("━━━━", ""),
        ("━━━━", ""),
    ]


def test_plural_depends_on_count() -> None:
    assert (plural(1, "draft"), plural(2, "draft")) == ("1 draft", "2 drafts")


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
