"""Links, mentions and hashtags in a text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.text import links

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
@settings(max_examples=500)
def test_the_cheap_look_for_a_host_without_a_scheme_misses_none(text: str) -> None:
    everywhere = [found.span() for found in links._BARE.finditer(text)]
    assert list(links._bare(text)) == [
        (start, start + len(links.address(text[start:end]))) for start, end in everywhere
    ]


@pytest.mark.parametrize("text", ["3.11.7", "the U.S. and e.g. this", "at 9.30 a.m.", "Next.js"])
def test_numbers_and_abbreviations_are_not_looked_at_twice(text: str) -> None:
    assert not links._DOTTED.search(text)


@pytest.mark.parametrize("text", ["#ニュースhttps://example.com/日本語", "@名前https://example.com/日本語"])
def test_what_runs_into_one_another_is_one(text: str) -> None:
    assert links.unbreakable(f"川 {text} 川") == [(2, 2 + len(text))]


def test_what_must_stay_whole_is_told_in_order() -> None:
    text = "by @ann.example, see #news on example.org or https://example.com/a"
    found = [text[start:end] for start, end in links.unbreakable(text)]
    assert found == ["@ann.example", "#news", "example.org", "https://example.com/a"]
