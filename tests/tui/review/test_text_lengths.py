"""Tests for the text lengths displayed while a draft is typed."""

from copydesk.model.draft import Format
from copydesk.tui.review.dialogs import length_lines, relevant_platforms


def render_lengths(
    text: str, format: Format = Format.SHORT, platforms: tuple[str, ...] = ("x", "bluesky"), width: int = 80
) -> str:
    return "\n".join(line.plain for line in length_lines(text, format, platforms, width))


def test_platforms_count_differently() -> None:
    assert render_lengths("👍 https://example.org/a/very/long/path") == "X 26/280  Bluesky 38/300"


def test_overlong_platform_comes_first() -> None:
    assert render_lengths("a" * 290) == "X 290/280, 10 too long  Bluesky 290/300"
    assert (
        render_lengths("a" * 310, platforms=("mastodon", "bluesky")) == "Bluesky 310/300, 10 too long  Mastodon 310/500"
    )


def test_thread_counts_longest_post() -> None:
    assert render_lengths("one\n\n---\n\nlonger", Format.THREAD, ("x",)) == "2 posts  X 2: 6/280"


def test_article_counts_words() -> None:
    assert render_lengths("Two words.", Format.BLOG) == "2 words, 10 characters"


def test_narrow_width_uses_more_lines() -> None:
    assert render_lengths("abc", width=12) == "X 3/280\nBluesky 3/300"


def test_targeted_draft_counts_its_platforms() -> None:
    assert relevant_platforms(("Bluesky:me.example", "fake:you"), ("x",)) == ("bluesky",)


def test_untargeted_draft_counts_connected_platforms() -> None:
    assert relevant_platforms((), ("mastodon", "x", "wordpress")) == ("x", "mastodon")
    assert relevant_platforms(("fake",), ("bluesky",)) == ("bluesky",)


def test_without_accounts_all_platforms_are_counted() -> None:
    assert relevant_platforms(("fake",), ("fake",)) == ("x", "bluesky", "mastodon", "threads", "linkedin")
