"""Tests for the lengths of texts and links as the platforms count them."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from copydesk.text import links
from copydesk.text.length import byte_length, count_emoji, grapheme_length, graphemes, remove_emoji, shorten_link
from cost_growth import assert_linear
from platform_lengths import BYTE_LIMITS, LIMITS, fits, length

FAMILY = "👨‍👩‍👧‍👦"

# Description, text, graphemes (Bluesky), X, UTF-16 units (Threads, LinkedIn).
SPECIAL_CHARACTERS = [
    ("plain letters", "hello", 5, 5, 5),
    ("a letter with an accent of its own", "cafe\u0301", 4, 4, 5),
    ("an accent that has no composed form", "x\u0302", 1, 2, 2),
    ("a flag", "🇩🇪", 1, 2, 4),
    ("two flags in a row", "🇩🇪🇫🇷", 2, 4, 8),
    ("a family of four", FAMILY, 1, 2, 11),
    ("a skin tone", "👍🏽", 1, 2, 4),
    ("a heart with its presentation", "❤️", 1, 2, 2),
    ("a heart on fire", "❤️‍🔥", 1, 2, 5),
    ("a keycap", "1️⃣", 1, 2, 3),
    ("the flag of England, made of tags", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", 1, 2, 14),
    ("a Devanagari syllable", "नि", 1, 2, 2),
    ("a Devanagari conjunct", "क्षि", 1, 4, 4),
    ("Chinese", "日本語", 3, 6, 3),
    ("Korean, composed", "한국", 2, 4, 2),
    ("Korean, in parts", "\u1112\u1161\u11ab", 1, 2, 3),
    ("an astral letter", "𝒳", 1, 2, 2),
    ("typographic quotes and a dash", "“a” — b", 7, 7, 7),
    ("an ellipsis", "…", 1, 2, 1),
    ("two line ends of Windows", "a\r\n\r\nb", 4, 6, 6),
    ("a copyright sign is no emoji", "©", 1, 1, 1),
    ("Arabic with a vowel mark", "كِتاب", 4, 5, 5),
    ("Persian with a joiner that it needs", "می\u200cخواهم", 7, 8, 8),
]


@pytest.mark.parametrize(
    ("text", "bluesky", "x", "units"),
    [row[1:] for row in SPECIAL_CHARACTERS],
    ids=[row[0] for row in SPECIAL_CHARACTERS],
)
def test_special_characters_count_per_platform(text: str, bluesky: int, x: int, units: int) -> None:
    assert length(text, "bluesky") == len(graphemes(text)) == bluesky
    assert length(text, "x") == x
    assert length(text, "threads") == length(text, "linkedin") == units


LONG = "https://example.org/a/very/long/path/that/goes/on?and=on#end"
SHOWN = "example.org/a/very/long/..."


@pytest.mark.parametrize(
    ("text", "x", "mastodon", "bluesky"),
    [
        (LONG, 23, 23, len(SHOWN)),
        (f"see {LONG}.", 28, 28, len(SHOWN) + 5),
        (f"({LONG})", 25, 25, len(SHOWN) + 2),
        ("https://en.wikipedia.org/wiki/Bear_(animal)", 23, 23, 32),
        ("http://a.io and http://b.io", 51, 51, 13),
        ("read kottke.org today", 34, 21, 21),
        ("bit.ly/abc", 23, 10, 10),
        ("the end.It was", 14, 14, 14),
        ("Next.js and 3.11.7, e.g. here", 29, 29, 29),
        ("ask @jane@mastodon.example now", 30, 13, 30),
        ("mail jane@example.com", 21, 21, 21),
    ],
)
def test_links_and_mentions_count_per_platform(text: str, x: int, mastodon: int, bluesky: int) -> None:
    assert length(text, "x") == x
    assert length(text, "mastodon") == mastodon
    assert length(text, "bluesky") == bluesky


def test_platform_limits() -> None:
    assert LIMITS == {"x": 280, "bluesky": 300, "mastodon": 500, "threads": 500, "linkedin": 3000}
    assert BYTE_LIMITS == {"bluesky": 3000}
    for platform, limit in LIMITS.items():
        assert fits("a" * limit, platform)
        assert not fits("a" * (limit + 1), platform)


def test_bluesky_limits_bytes_too() -> None:
    families = FAMILY * 121
    assert length(families, "bluesky") == 121
    assert byte_length(families) == 3025
    assert not fits(families, "bluesky")
    assert fits(FAMILY * 120, "bluesky")


def test_unknown_platform_counts_graphemes_without_limit() -> None:
    assert length(FAMILY, "wordpress") == 1
    assert fits("a" * 100_000, "wordpress")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (LONG, SHOWN),
        # Readers of another host than the link's would be warned of it.
        ("https://www.example.org/about", "www.example.org/about"),
        ("https://example.org/", "example.org"),
        ("https://example.org:8000/?a=1", "example.org:8000?a=1"),
        ("https://example.org?a=12345678901234", "example.org?a=1234567890..."),
        ("https://bank.example@example.org/about", "example.org/about"),
        ("https://", "https://"),
    ],
)
def test_link_is_shortened_as_bluesky_does(address: str, shown: str) -> None:
    assert shorten_link(address) == shown


def test_emoji_are_counted_and_removed() -> None:
    text = f"Ship it 🚀 now {FAMILY}! And 1️⃣."
    assert count_emoji(text) == 3
    assert remove_emoji(text) == "Ship it now! And."
    assert remove_emoji("© 2026, 5 > 4") == "© 2026, 5 > 4"


@example("🇩🇪\u0301")
# Without U+094D: regex's \X joins a consonant after it to a flag before it. The conjunct above has it.
@given(st.text(max_size=80) | st.text(st.sampled_from("a é\u0301🇩🇪\u200d👩❤\ufe0fक\r\n한"), max_size=30))
def test_grapheme_fast_path_agrees_with_regex(text: str) -> None:
    assert "".join(graphemes(text)) == text
    # Not Bluesky's length, which a link shortens.
    assert grapheme_length(text) == len(graphemes(text)) == len(regex.findall(r"\X", text))


def test_row_of_flags_takes_linear_time() -> None:
    assert_linear(lambda size: "🇩" * size, graphemes, 16_000)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.a.org/b/", "http://a.org/b", True),
        ("https://a.org/b?utm_source=rss&utm_medium=x", "https://a.org/b", True),
        ("https://a.org/b?utm_source=rss&id=3", "https://A.org/b?id=3", True),
        ("https://a.org/b?id=3", "https://a.org/b?id=4", False),
        ("https://a.org/b?id=3", "https://a.org/b", False),
        ("https://a.org/b#part", "https://a.org/b", False),
        ("https://a.org/B", "https://a.org/b", False),
        ("https://a.org.evil.example/b", "https://a.org/b", False),
        ("https://a.org/c/utm_x", "https://a.org/c", False),
        ("https://a.org", "https://a.org/", True),
    ],
)
def test_equivalent_urls_have_one_key(one: str, other: str, same: bool) -> None:
    assert (links.comparison_key(one) == links.comparison_key(other)) is same


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://",
        "https://a.org/x y",
        "https://user:pw@a.org/",
        "ftp://a.org/",
        "https://a\u202e.org",
        "https://[::1",
        "",
        None,
        "https://a.org/\nb",
    ],
)
def test_unpostable_url_is_none(url: str | None) -> None:
    assert links.postable_url(url) is None


def test_ordinary_url_is_postable() -> None:
    for url in (
        LONG,
        "https://例え.jp/パス",
        "https://en.wikipedia.org/wiki/Bear_(animal)",
        "http://a.org:8080/?q=1&r=%20",
    ):
        assert links.postable_url(url) == url
