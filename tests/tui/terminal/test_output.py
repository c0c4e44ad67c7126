"""Tests for output to terminals that disagree on character widths or lack UTF-8."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from copydesk.tui.terminal.cells import patch_rich_width_table, replace_unencodable, terminal_encoding
from copydesk.tui.terminal.driver import correct_widths

patch_rich_width_table()


def test_unambiguous_text_is_unchanged() -> None:
    output = "\x1b[3;4H\x1b[1m─ Queue · 24 ─ “naïve” … 日本語 한국어 Ж\x1b[0m\n"
    assert correct_widths(output) == output


def test_cursor_is_repositioned_after_ambiguous_word() -> None:
    assert correct_widths("\x1b[2;5Hab हिन्दी x") == "\x1b[2;5Hab \x1b[5Xहिन्दी\x1b[13G x"


def test_styles_between_words_keep_position() -> None:
    output = correct_widths("\x1b[2;1Hab\x1b[1m \x1b]8;;https://x.example\x1b\\❤\ufe0f\x1b]8;;\x1b\\ no")
    assert output == "\x1b[2;1Hab\x1b[1m \x1b]8;;https://x.example\x1b\\\x1b[2X❤\ufe0f\x1b[6G\x1b]8;;\x1b\\ no"


def test_unknown_cursor_position_changes_nothing() -> None:
    assert correct_widths("❤\ufe0f") == "❤\ufe0f"
    assert correct_widths("\x1b[1;1Hx\n❤\ufe0f") == "\x1b[1;1Hx\n❤\ufe0f"


@given(st.text(st.characters(exclude_categories=["C"]), max_size=30))
def test_any_text_is_preserved(text: str) -> None:
    pieces = correct_widths("\x1b[1;1H" + text).removeprefix("\x1b[1;1H").split("\x1b[")
    parts = [pieces[0], *(piece.split("X" if "X" in piece.split("G")[0] else "G", 1)[1] for piece in pieces[1:])]
    assert "".join(parts) == text


def test_vowel_sign_has_own_cell() -> None:
    """As on most terminals."""
    assert cell_len("कि") == 2
    assert cell_len("e\u0301") == 1


@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "en_US.UTF-8"}, "utf-8"),
        ({"LANG": "C"}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "ascii"),
        ({"LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-15@euro", "LANG": "C"}, "iso8859-15"),
        ({"LC_CTYPE": "C.UTF-8"}, "utf-8"),
        ({"LANG": "de_DE"}, "utf-8"),
        ({"LANG": "xx.klingon"}, "utf-8"),
    ],
    ids=str,
)
def test_locale_selects_encoding(environ: dict[str, str], encoding: str) -> None:
    assert terminal_encoding(environ) == encoding


def test_ascii_fallback_is_readable() -> None:
    assert replace_unencodable("▌ N ● “Ünï” – 3 × … │─┤ ✓ ▂▅█", "ascii") == '> N * "?n?" - 3 x ~ |-+ + _+#'
    assert replace_unencodable("Ünï …", "iso8859-1") == "Ünï ~"


@given(st.text(st.characters(exclude_categories=["C"], exclude_characters="\u200d\ufe0f")))
def test_ascii_fallback_keeps_widths(text: str) -> None:
    output = replace_unencodable(text, "ascii")
    assert output.isascii()
    assert cell_len(output) == cell_len(text)
