"""Tests for what commands print."""

import pytest

from copydesk.cli.output import print_table, print_text


def test_columns_are_aligned_after_wide_characters(capsys):
    print_table([("船の時刻表", "1"), ("Ferry times", "2"), ("🚢 new", "3")], empty="")

    assert capsys.readouterr().out == "船の時刻表   1\nFerry times  2\n🚢 new       3\n"


def test_last_column_is_cut_only_if_it_does_not_fit(capsys, monkeypatch):
    monkeypatch.setattr("copydesk.cli.output._available_columns", lambda _used, **_: 5)
    print_table([("a", "fits."), ("b", "does not fit")], empty="", cut=True)

    assert capsys.readouterr().out == "a  fits.\nb  does…\n"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("The ferry runs first class again.", "The ferry\nruns first\nclass\nagain."),
        ("  one two three\n\nfour", "  one two\nthree\n\nfour"),
        ("船の時刻 表 1", "船の時刻 表\n1"),
        ("https://example.com/ferry now", "https://example.com/ferry\nnow"),
    ],
)
def test_text_is_broken_between_words(capsys, monkeypatch, text, printed):
    monkeypatch.setattr("copydesk.cli.output._available_columns", lambda _used, **_: 11)
    print_text(text)

    assert capsys.readouterr().out == f"{printed}\n"


def test_text_for_a_pipe_is_not_broken(capsys):
    text = "word " * 100
    print_text(text)

    assert capsys.readouterr().out == f"{text}\n"
