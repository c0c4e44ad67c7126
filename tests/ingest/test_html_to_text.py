"""Tests for converting HTML to plain text, safely and in linear time."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.ingest.html_to_text import _NEEDS_CLEANING, clean_text, html_to_text, single_line
from copydesk.text import HIDDEN_CHARACTERS, clean_lines
from copydesk.text.html_tags import is_probably_html
from cost_growth import assert_linear
from sampling import sample_size


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("plain", "plain"),
        ("<p>One.</p><p>Two.</p>", "One.\n\nTwo."),
        ("<p>One.</p>\n\n   <p>Two\nlines.</p>", "One.\n\nTwo lines."),
        ("One<br>two<br/>three<BR />four", "One\ntwo\nthree\nfour"),
        ("a<br><br>b<br><br><br>c", "a\n\nb\n\nc"),
        ("Intro<ul><li>a</li>\n<li>b <b>c</b></li></ul>end", "Intro\n\na\nb c\n\nend"),
        ("<h2>Head</h2>body<blockquote>said</blockquote>", "Head\n\nbody\n\nsaid"),
        ("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("in<b>li</b>ne <i>and</i>  spaces", "inline and spaces"),
        ("x<script>if (a<b) alert('<p>')</script>y<STYLE>p{}</STYLE>z", "xyz"),
        ("x<script>never closed", "x"),
        ("a<!-- <p>hidden</p> -->b<!-->c<!-- open", "abc"),
        ("<?php echo 1 ?>a<!DOCTYPE html>b<![CDATA[c]]>", "ab"),
        ('<img alt="1 > 0" src=x>after<a title="<b>">link</a>', "afterlink"),
        ("<p title=it's>don't <i>stop</i></p>", "don't stop"),
        ("cut off <a href='http://x", "cut off"),
        ("1 < 2 and <3 and a <b", "1 < 2 and <3 and a <b"),
        ("&lt;p&gt; &amp;amp; caf&eacute; &#8217;&#x2019; &nbsp; x", "<p> &amp; café ’’ x"),
        ("AT&T &unknown; &#99999999999; &", "AT&T &unknown; \ufffd &"),
        ("<pre>def f():\n    return 1\n</pre>then\nmore", "def f():\nreturn 1\n\nthen more"),
        ("one\r\n\r\ntwo\r\nthree", "one\n\ntwo three"),
        ("<svg><text>icon</text></svg>shown<svg/>", "shown"),
        ("<p>\x1d\x1e</p>", ""),
    ],
)
def test_markup_is_converted_to_text(markup: str, text: str) -> None:
    assert html_to_text(markup, 1_000) == text


def test_plain_lines_preserves_line_breaks() -> None:
    assert clean_text(" a < b\n c  d\r\n\r\n\n\nend ", 1_000) == "a < b\nc d\n\nend"


def test_plain_line_returns_one_line() -> None:
    assert single_line(" a\tb\n\u2028c ", 100) == "a b c"
    assert single_line("<b>a</b><br>b &amp; c", 100, markup=True) == "a b & c"


@pytest.mark.parametrize("convert", [html_to_text, clean_text, single_line])
def test_output_never_exceeds_limit(convert: object) -> None:
    assert callable(convert)
    assert len(convert("word " * 1_000, 99)) <= 99
    assert len(convert("\u200b\u202e" * 1_000 + "x" * 1_000, 99)) <= 99


@pytest.mark.parametrize(
    "opening", ['<a href="u>', '<a href=u">', "<a href='u>", '<a href="u"">', "<a title=don't href=u>"]
)
@pytest.mark.parametrize("sound", ['<a href="u" class="x">', "<i title='x'>"])
def test_broken_quotes_lose_no_text(opening: str, sound: str) -> None:
    """In a browser two of them swallow everything between them."""
    markup = f"{opening}one</a> {sound}two</a> {opening}three</a> {sound}four</a>"
    assert html_to_text(markup, 1_000) == "one two three four"


def test_quoted_values_may_contain_markup() -> None:
    assert (
        html_to_text('<img alt="a > b <i>c</i>" data-x=\'<p>d</p>\'/>text<br title = "x>y">more', 100) == "text\nmore"
    )


def test_invisible_and_control_characters_are_removed() -> None:
    assert html_to_text("a\u202eb\u200bc\x1b[31md\x1b]0;title\x07e\x00f\x9b1mg", 100) == "abcdef›1mg"
    assert html_to_text("<p>soft\u00adhyphen</p><p>&#8203;&#x202e;x&#0;&#27;[2J</p>", 100) == "softhyphen\n\nx\ufffd[2J"
    assert single_line("a\u202eb\x1b[31m", 100) == "ab"


def test_letters_of_all_scripts_and_emoji_remain() -> None:
    text = "naïve Ünïcödé Ελληνικά Русский עברית العربية हिन्दी ไทย 中文 日本語 한국어 👩\u200d💻 ❤\ufe0f e\u0301"
    assert html_to_text(f"<p>{text}</p>", 1_000) == text


def test_c1_controls_are_read_as_windows_1252() -> None:
    assert single_line("it\x92s \x93quoted\x94", 100) == "it’s “quoted”"


def test_fast_path_covers_all_unsafe_characters() -> None:
    """Every character that the fast path accepts must be visible and unchanged by `clean_lines`."""
    for code in range(0x110000):
        character = chr(code)
        if character != "\n" and not _NEEDS_CLEANING.match(character):
            assert not re.match(HIDDEN_CHARACTERS, character)
            assert unicodedata.category(character) not in {"Mn", "Cc", "Cf", "Cs", "Zl", "Zp"} or code in {
                0x200C,
                0x200D,
            }
            assert clean_lines(character) == character


@pytest.mark.parametrize(
    ("prefix", "hostile"),
    [
        ("", "<"),
        ("", "<!--"),
        ("", "<!-- --"),
        ("", "<a '"),
        ("", '<a "'),
        ("", "<a \"'"),
        ("", '<a ="'),
        ("", '<a =" '),
        ("", "<a =\"<a =' "),
        ("", "<a =\"' "),
        ("<a ", "b=c "),
        ("<a ", '="<a " '),
        ("<a ", "="),
        ("", "<script>"),
        ("", "<script "),
        ("", "<style></styl"),
        ("", "</"),
        ("", "<!"),
        ("", "<p>"),
        ("", "<pre>\n"),
        ("", "\n"),
        ("", " \n"),
        ("", "&"),
        ("", "&#"),
        ("", "&a"),
        ("", " "),
        ("", "\x1b]"),
        ("", "\u0301"),
        ("", "<br>"),
        ("", "<img src"),
    ],
    ids=repr,
)
def test_hostile_markup_takes_linear_time(prefix: str, hostile: str) -> None:
    def convert(text: str) -> None:
        html_to_text(text, 100_000)
        is_probably_html(text)

    assert_linear(lambda size: prefix + hostile * (size // len(hostile)), convert, 600_000)


@given(st.text("<>/!-ab'\"= &;#1\n\x1d\x1e\x00\u200bé", max_size=60))
@settings(max_examples=sample_size(300))
def test_any_markup_becomes_tidy_text(markup: str) -> None:
    text = html_to_text(markup, 40)
    assert len(text) <= 40
    assert text == text.strip()
    assert "  " not in text
    assert " \n" not in text
    assert "\n " not in text
    assert "\n\n\n" not in text
    assert not re.search(HIDDEN_CHARACTERS, text)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("plain", False),
        ("<b>bold</b>", True),
        ("Tom &amp; Jerry", True),
        ("Tom & Jerry; co", False),
        ("The <dialog> element", False),
        ("the <foo></foo> tag", False),
        ("&nosuchentity;", False),
        ("a &lt; b", True),
        ("List<String> and </T>", False),
    ],
)
def test_markup_detection_agrees_with_feedparser(text: str, markup: bool) -> None:
    assert is_probably_html(text) is markup
