"""What is written to a terminal whose widths or encoding are not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from copydesk.tui.plain_glyphs import encoding_of, in_encoding
from copydesk.tui.steady import steady
from copydesk.tui.widths import agree

agree()


def test_what_every_terminal_draws_alike_is_written_as_it_is() -> None:
    written = "\x1b[3;4H\x1b[1m─ Queue · 24 ─ “naïve” … 日本語 한국어 Ж\x1b[0m\n"
    assert steady(written) == written


def test_behind_a_doubtful_word_the_cursor_is_put_where_it_should_be() -> None:
    assert steady("\x1b[2;5Hab हिन्दी x") == "\x1b[2;5Hab \x1b[5Xहिन्दी\x1b[13G x"


def test_colours_between_the_words_move_nothing() -> None:
    written = steady("\x1b[2;1Hab\x1b[1m \x1b]8;;https://x.example\x1b\\❤\ufe0f\x1b]8;;\x1b\\ no")
    assert written == "\x1b[2;1Hab\x1b[1m \x1b]8;;https://x.example\x1b\\\x1b[2X❤\ufe0f\x1b[6G\x1b]8;;\x1b\\ no"


def test_where_the_cursor_is_not_known_nothing_is_put_anywhere() -> None:
    assert steady("❤\ufe0f") == "❤\ufe0f"
    assert steady("\x1b[1;1Hx\n❤\ufe0f") == "\x1b[1;1Hx\n❤\ufe0f"


@given(st.text(st.characters(exclude_categories=["C"]), max_size=30))
def test_any_text_comes_out_whole(text: str) -> None:
    pieces = steady("\x1b[1;1H" + text).removeprefix("\x1b[1;1H").split("\x1b[")
    words = [pieces[0], *(piece.split("X" if "X" in piece.split("G")[0] else "G", 1)[1] for piece in pieces[1:])]
    assert "".join(words) == text


def test_a_vowel_sign_has_a_cell_of_its_own_as_on_most_terminals() -> None:
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
def test_the_encoding_is_the_locales(environ: dict[str, str], encoding: str) -> None:
    assert encoding_of(environ) == encoding


def test_without_utf_8_what_is_drawn_stays_readable() -> None:
    assert in_encoding("▌ N ● “Ünï” – 3 × … │─┤ ✓ ▂▅█", "ascii") == '> N * "?n?" - 3 x ~ |-+ + _+#'
    assert in_encoding("Ünï …", "iso8859-1") == "Ünï ~"


@given(st.text(st.characters(exclude_categories=["C"], exclude_characters="\u200d\ufe0f")))
def test_without_utf_8_no_column_moves(text: str) -> None:
    shown = in_encoding(text, "ascii")
    assert shown.isascii()
    assert cell_len(shown) == cell_len(text)
