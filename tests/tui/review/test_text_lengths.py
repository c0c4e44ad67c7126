"""Tests for the text lengths displayed while a draft is typed."""

from copydesk.model.draft import Format
from copydesk.model.targets import TextLimit
from copydesk.tui.review.dialogs import length_lines

X, BLUESKY = TextLimit("x", 280), TextLimit("bluesky", 300)


def render_lengths(
    text: str, format: Format = Format.SHORT, limits: tuple[TextLimit, ...] = (X, BLUESKY), width: int = 80
) -> str:
    return "\n".join(line.plain for line in length_lines(text, format, limits, width))


def test_platforms_count_differently() -> None:
    assert render_lengths("👍 https://example.org/a/very/long/path") == "X 26/280  Bluesky 29/300"


def test_overlong_platform_comes_first() -> None:
    assert render_lengths("a" * 290) == "X 290/280, 10 too long  Bluesky 290/300"
    assert (
        render_lengths("a" * 310, limits=(TextLimit("mastodon", 500), BLUESKY))
        == "Bluesky 310/300, 10 too long  Mastodon 310/500"
    )


def test_thread_counts_longest_post() -> None:
    assert render_lengths("one\n\n---\n\nlonger", Format.THREAD, (X,)) == "2 posts  X 2: 6/280"


def test_limit_of_the_server_counts() -> None:
    assert render_lengths("a" * 600, limits=(TextLimit("mastodon", 5000),)) == "Mastodon 600/5000"


def test_text_without_limits_counts_words() -> None:
    assert render_lengths("Two words.", Format.BLOG, ()) == "2 words, 10 characters"
    assert render_lengths("Two words.", limits=(TextLimit("fake", 5),)) == "2 words, 10 characters"


def test_narrow_width_uses_more_lines() -> None:
    assert render_lengths("abc", width=12) == "X 3/280\nBluesky 3/300"
