"""Tests for neutralizing untrusted text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from copydesk.text import HIDDEN_CHARACTERS, clean, clean_lines, reveal

HOSTILE = "a\x1b]0;own the title\x07b\x1b[2Jc\x9b1md\u202ee\u200bf\x00g\U000e0041h"


def test_clean_removes_control_sequences():
    assert clean(HOSTILE) == "abcdefgh"


def test_clean_makes_one_line():
    assert clean("a\r\nb\u2028c\td") == "a b c d"


def test_clean_keeps_markup():
    assert clean("[red]x[/] [@click=app.quit]y[/]") == "[red]x[/] [@click=app.quit]y[/]"


def test_clean_keeps_emoji_families_and_combining_letters():
    for text in ("👩‍👩‍👧 🏳️‍🌈", "e\u0301", "नमस्ते"):
        assert clean(text) == text


def test_stacked_accents_are_reduced():
    assert clean("a" + "\u0301" * 50) == "a\u0301\u0301"


def test_reveal_shows_hidden_characters():
    assert reveal("pay\u202e\x1b[31m") == "pay⟨U+202E⟩⟨U+001B⟩[31m"
    assert reveal("\U0001bca0\U0001bca3\U0001d173\U0001d17a") == "⟨U+1BCA0⟩⟨U+1BCA3⟩⟨U+1D173⟩⟨U+1D17A⟩"


@given(st.text())
def test_no_hidden_character_is_left(text):
    assert not re.search(HIDDEN_CHARACTERS, clean(text))
    assert not re.search(HIDDEN_CHARACTERS, clean_lines(text))
    assert not re.search(HIDDEN_CHARACTERS, reveal(text))
    assert "\n" not in clean(text)


@given(st.text())
def test_clean_is_idempotent(text):
    assert clean(clean(text)) == clean(text)
