"""Tests for links, mentions and hashtags in text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.text import links
from sampling import sample_size
from text_spans import unbreakable_spans

PIECES = st.sampled_from(
    [
        "a",
        "Ex",
        "-",
        ".",
        "com",
        "de",
        "io",
        "DE",
        "co",
        "uk",
        "/",
        "x",
        "1",
        " ",
        "\n",
        "ſ",
        "ı",
        "K",
        "@",
        "_",
        "news",
        "é",
        "(",
    ]
)


@given(st.lists(PIECES, max_size=9).map("".join))
@settings(max_examples=sample_size(500))
def test_fast_bare_host_search_misses_none(text: str) -> None:
    everywhere = [found.span() for found in links._BARE.finditer(text)]
    assert list(links._bare(text)) == [
        (start, start + len(links.trim_address(text[start:end]))) for start, end in everywhere
    ]


@pytest.mark.parametrize("text", ["3.11.7", "the U.S. and e.g. this", "at 9.30 a.m.", "Next.js"])
def test_numbers_and_abbreviations_are_skipped(text: str) -> None:
    assert not links._DOTTED.search(text)


@pytest.mark.parametrize("text", ["#ニュースhttps://example.com/日本語", "@名前https://example.com/日本語"])
def test_adjacent_tokens_are_unbreakable(text: str) -> None:
    assert unbreakable_spans(f"川 {text} 川") == [(2, 2 + len(text))]


def test_unbreakable_spans_are_ordered() -> None:
    text = "by @ann.example, see #news on example.org or https://example.com/a"
    found = [text[start:end] for start, end in unbreakable_spans(text)]
    assert found == ["@ann.example", "#news", "example.org", "https://example.com/a"]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one, #two", ["#one", "#two"]),
        ("＃日本語 です", ["＃日本語"]),
        ("#हिन्दी में", ["#हिन्दी"]),
        ("#ภาษาไทย และ", ["#ภาษาไทย"]),
        ("#العَرَبِيَّة", ["#العَرَبِيَّة"]),
        ("#cafe\u0301", ["#cafe\u0301"]),
        ("#می\u200cخواهم #क्\u200dष", ["#می\u200cخواهم", "#क्\u200dष"]),
        ("#end\u200d #end\u200c", ["#end", "#end"]),
        ("#party🎉 #🎉 #1️⃣", ["#party"]),
        ("#end. (#bracket) #हिन्दी।", ["#end", "#bracket", "#हिन्दी"]),
        ("#co-op", ["#co"]),
        ("#2026 #2026q1", ["#2026q1"]),
        ("a#b &#8211; /#c ##d", []),
    ],
)
def test_hashtags_are_words_with_their_marks(text, tags):
    assert [text[start:end] for start, end in links.hashtag_spans(text)] == tags
