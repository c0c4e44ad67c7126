"""States, times and figures in words, and text in cells."""

from datetime import timedelta

import pytest

from copydesk.model.draft import MANUAL, Status
from copydesk.model.source import SourceType
from copydesk.tui.cells import cell, fit
from copydesk.tui.words import SOURCE, STATUS, age, ago, bar, plural
from tui_fixtures import NOW


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=5), "5m"),
        (timedelta(minutes=119), "1h"),
        (timedelta(hours=47), "1d"),
        (timedelta(days=400), "57w"),
    ],
)
def test_an_age_is_short(before: timedelta, said: str) -> None:
    assert age(NOW - before, NOW) == said


def test_an_age_in_words() -> None:
    assert (ago(NOW, NOW), ago(NOW - timedelta(hours=3), NOW)) == ("just now", "3h ago")


def test_every_state_and_source_has_words() -> None:
    assert STATUS.keys() == set(Status)
    assert SOURCE.keys() == {*SourceType, MANUAL}


def test_no_two_states_share_letter_and_colour_but_those_that_are_being_written() -> None:
    signs = [(sign.letter, sign.role) for sign in STATUS.values()]
    assert len(signs) - len(set(signs)) == 1


def test_a_bar_is_never_longer_than_it_may_be() -> None:
    assert [bar(share, 4) for share in (-1, 0, 0.5, 1, 7)] == [
        ("", "╌╌╌╌"),
        ("", "╌╌╌╌"),
        ("━━", "╌╌"),
        ("━━━━", ""),
        ("━━━━", ""),
    ]


def test_one_is_not_many() -> None:
    assert (plural(1, "draft"), plural(2, "draft")) == ("1 draft", "2 drafts")


def test_a_cell_is_one_line_without_anything_that_moves_the_cursor() -> None:
    assert cell("a\x1b[2Jb\nc\u202ed") == "ab cd"


def test_a_cell_has_no_character_whose_width_terminals_disagree_on() -> None:
    assert cell("❤\ufe0f 👍🏽 1\ufe0f\u20e3 👩\u200d💻") == "❤ 👍 1 👩"


def test_joiners_of_a_script_lose_no_letter() -> None:
    assert cell("क\u200dष") == "कष"


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [("abc", 5, "abc  "), ("abcdef", 5, "abcd…"), ("日本語", 5, "日本…"), ("日本語", 4, "日 …"), ("abc", 0, "")],
)
def test_a_text_fits_exactly(text: str, width: int, fitted: str) -> None:
    assert fit(text, width) == fitted
