"""How long a text is, while it is typed."""

from copydesk.model.draft import Format
from copydesk.tui.pages.lengths import lengths, platforms_of


def said(
    text: str, format: Format = Format.SHORT, platforms: tuple[str, ...] = ("x", "bluesky"), width: int = 80
) -> str:
    """The lines as text."""
    return "\n".join(line.plain for line in lengths(text, format, platforms, width))


def test_each_platform_counts_its_own_way() -> None:
    assert said("👍 https://example.org/a/very/long/path") == "x 26/280  bluesky 38/300"


def test_what_is_too_long_is_said_first_and_in_words() -> None:
    assert said("a" * 290) == "x 290/280, 10 too long  bluesky 290/300"
    assert said("a" * 310, platforms=("mastodon", "bluesky")) == "bluesky 310/300, 10 too long  mastodon 310/500"


def test_of_a_thread_the_longest_post_counts() -> None:
    assert said("one\n\n---\n\nlonger", Format.THREAD, ("x",)) == "2 posts  x 2: 6/280"


def test_an_article_has_words() -> None:
    assert said("Two words.", Format.BLOG) == "2 words, 10 characters"


def test_a_narrow_screen_takes_more_lines() -> None:
    assert said("abc", width=12) == "x 3/280\nbluesky 3/300"


def test_a_draft_for_some_platforms_is_counted_for_these() -> None:
    assert platforms_of(("Bluesky:me.example", "fake:you"), ("x",)) == ("bluesky",)


def test_a_draft_for_all_is_counted_for_those_with_an_account() -> None:
    assert platforms_of((), ("mastodon", "x", "wordpress")) == ("x", "mastodon")
    assert platforms_of(("fake",), ("bluesky",)) == ("bluesky",)


def test_where_nothing_is_connected_each_platform_has_its_count() -> None:
    assert platforms_of(("fake",), ("fake",)) == ("x", "bluesky", "mastodon", "threads", "linkedin")
