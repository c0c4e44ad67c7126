"""Text as comparable words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ranking.words import fold, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("SQLite", "sqlite"),
        ("Jerí, São Paulo, Łódź", "jeri, sao paulo, lodz"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("France’s", "france's"),
        ("ＦＵＬＬ　width", "full width"),
        ("が", "が"),
        ("한국", "한국"),
        ("Ёлка", "елка"),
    ],
)
def test_case_and_accents_do_not_count(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_folding_is_the_same_for_both_ways_to_write_an_accent() -> None:
    assert fold(unicodedata.normalize("NFD", "Jerí が")) == fold(unicodedata.normalize("NFC", "Jerí が"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. and A.I.", ["us", "ai"]),
        ("France’s Macron's talks", ["france", "macron", "talks"]),
        ("Python 3.15.0 on 2026-02-17", ["python", "3.15.0", "2026-02-17"]),
        ("1,000 of 12,345,678", ["1000", "12345678"]),
        ("won't stop", ["won", "stop"]),
        ("日本の首相", ["日本", "本の", "の首", "首相"]),
        ("東京 Tokyo 2020年", ["東京", "tokyo", "2020", "年"]),
        ("Встреча в Москве", ["встреча", "в", "москве"]),
        ("snake_case", ["snake", "case"]),
        ("", []),
        ("—!?…", []),
    ],
)
def test_words_are_what_carries_a_story(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    assert all(words(text))
