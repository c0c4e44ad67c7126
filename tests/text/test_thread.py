"""Tests for splitting text into the posts of a thread."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.errors import WriterError
from copydesk.text import links
from copydesk.text.thread import join_parts, split_parts, split_thread
from cost_growth import assert_linear
from platform_lengths import LIMITS, length
from sampling import sample_size


def length_on_x(text: str) -> int:
    return length(text, "x")


def without_whitespace(text: str) -> str:
    return "".join(text.split())


def test_short_text_is_one_unnumbered_post() -> None:
    assert split_thread("  Short. ", len, 280, numbered=True) == ["Short."]
    assert split_thread(" \n ", len, 280) == []


def test_paragraph_end_beats_sentence_end() -> None:
    text = "One is here. Two is here.\n\nThree is here. Four is here."
    assert split_thread(text, len, 40) == ["One is here. Two is here.", "Three is here. Four is here."]


def test_sentence_end_beats_clause_end() -> None:
    text = "First of all, this is it. Then there is more, and it goes on."
    assert split_thread(text, len, 45) == ["First of all, this is it.", "Then there is more, and it goes on."]


def test_clause_end_beats_word_end() -> None:
    text = "When the rain had stopped at last, they all went out into the garden to look"
    assert split_thread(text, len, 50) == [
        "When the rain had stopped at last,",
        "they all went out into the garden to look",
    ]


def test_line_breaks_within_post_remain() -> None:
    text = "A line.\nAnother line.\n\n" + "More text here. " * 4
    assert split_thread(text, len, 70)[0] == "A line.\nAnother line."


def test_number_counts_toward_limit() -> None:
    posts = split_thread("Some words that fill a post. " * 30, length_on_x, 280, numbered=True)
    assert [post.rsplit(" ", 1)[1] for post in posts] == [f"{n}/{len(posts)}" for n in range(1, len(posts) + 1)]
    assert all(length_on_x(post) <= 280 for post in posts)


def test_ten_posts_get_two_digit_numbers() -> None:
    posts = split_thread("Some words that fill a post. " * 40, len, 100, numbered=True)
    assert len(posts) > 9
    assert all(len(post) <= 100 for post in posts)
    assert posts[0].endswith(f" 1/{len(posts)}")


def test_posts_have_similar_length() -> None:
    posts = split_thread("Five words make a sentence. " * 12, len, 280)
    assert len(posts) == 2
    assert abs(len(posts[0]) - len(posts[1])) <= 30


def test_overlong_word_is_refused() -> None:
    with pytest.raises(WriterError, match=r"longer than a post .*aaaaaaaaaa"):
        split_thread("short " + "a" * 300, len, 280)


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(WriterError, match="takes 4 posts; at most 3"):
        split_thread("Ten letters. " * 30, len, 100, max_parts=3)


def test_word_cuts_are_used_to_save_posts() -> None:
    text = ("a" * 59 + " ") * 2 + "b" * 20 + ". " + "c" * 59 + "."
    assert len(split_thread(text, len, 120, max_parts=2)) == 2


def test_text_without_spaces_avoids_leading_punctuation() -> None:
    posts = split_thread("今日はとても良い天気ですから、散歩に行きました。" * 6, length_on_x, 60)
    assert all(length_on_x(post) <= 60 for post in posts)
    assert "".join(posts) == "今日はとても良い天気ですから、散歩に行きました。" * 6
    assert not any(post[0] in "、。" for post in posts)


@pytest.mark.parametrize("before", range(1, 60, 7))
def test_link_after_hashtag_stays_whole(before: int) -> None:
    link = "https://example.com/日本語"
    posts = split_thread("川" * before + f" #ニュース{link} " + "川" * 60, length_on_x, 80)
    assert any(link in post for post in posts)


def test_link_in_text_without_spaces_stays_whole() -> None:
    url = "https://example.jp/" + "a" * 40
    posts = split_thread("日本語の文章です" * 8 + url + " " + "続きの文章です" * 8, len, 70)
    assert sum(url in post for post in posts) == 1


def test_joined_parts_split_back() -> None:
    parts = ["One\n\ntwo", "three -- four", "five\n--- six"]
    assert join_parts(parts) == "One\n\ntwo\n\n---\n\nthree -- four\n\n---\n\nfive\n--- six"
    assert split_parts(join_parts(parts)) == parts


@pytest.mark.parametrize("text", ["a\n---\nb", "a\n\n---\n\nb", "---\na\n ---  \n\n---\nb\n---", "a\n\n---\n---\n\nb"])
def test_separator_spacing_does_not_matter(text: str) -> None:
    assert split_parts(text) == ["a", "b"]


TOKENS = st.sampled_from(
    [
        "word", "a", "Longer", "sentences.", "clause,", "end!", "e.g.", "3.5%", "(so", "called)", "“quoted”", "—",
        "naïve",
        "https://example.org/path?query=1&more=2#part", "http://a.io/x_(y).", "@someone", "@user@mastodon.example",
        "@a.bsky.social,",
        "#hashtag", "#日本", "👩‍👩‍👧", "🇩🇪🇫🇷", "क्षि", "日本語。", "x\u0302", "1️⃣",
    ]
)  # fmt: skip
SPACES = st.sampled_from([" ", " ", " ", "\n", "\n\n", "  ", "\u00a0"])
TEXTS = st.lists(st.tuples(TOKENS, SPACES), min_size=1, max_size=120).map(lambda pairs: "".join(map("".join, pairs)))


def hashtags(text: str) -> list[str]:
    return [text[start:end] for start, end in links.hashtag_spans(text)]


@settings(max_examples=sample_size(150))
@given(TEXTS, st.sampled_from(sorted(LIMITS)), st.integers(60, 300), st.booleans())
def test_split_loses_nothing_and_respects_limit(text: str, platform: str, limit: int, numbered: bool) -> None:
    posts = split_thread(text, lambda part: length(part, platform), limit, numbered=numbered)
    assert all(length(post, platform) <= limit for post in posts)
    bare = [re.sub(r" \d+/\d+$", "", post) for post in posts] if numbered and len(posts) > 1 else posts
    assert without_whitespace("".join(bare)) == without_whitespace(text)
    for kind in (links.URL, links.MENTION):
        assert [found for post in bare for found in kind.findall(post)] == kind.findall(text)
    assert [tag for post in bare for tag in hashtags(post)] == hashtags(text)
    assert [word for post in bare for word in post.split() if word.isascii()] == [
        w for w in text.split() if w.isascii()
    ]


@settings(max_examples=sample_size(100))
@given(st.text(max_size=400))
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        posts = split_thread(text, length_on_x, 40)
    except WriterError:
        return
    assert without_whitespace("".join(posts)) == without_whitespace(text)
    assert all(length_on_x(post) <= 40 for post in posts)


@pytest.mark.parametrize(
    "unit",
    ["An ordinary sentence of some words, as people write it. ", "words ", "a ", "漢字"],
    ids=["prose", "no punctuation", "letters", "no spaces"],
)
def test_split_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)), lambda text: split_thread(text, length_on_x, 280), 10_000)
