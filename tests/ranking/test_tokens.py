"""Tests for splitting text into comparable words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ranking.tokens import content_words
from copydesk.text.folding import fold


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
def test_fold_ignores_case_and_accents(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_fold_is_independent_of_normalization() -> None:
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
def test_text_is_split_into_tokens(text: str, expected: list[str]) -> None:
    assert content_words(text) == expected


@given(st.text())
def test_any_text_can_be_tokenized(text: str) -> None:
    assert all(content_words(text))
