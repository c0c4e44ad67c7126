"""Tests for rendering a draft as an article: title, text, slug and HTML."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.blogs.articles import article_from_post, make_slug, render_markdown, validate_article
from copydesk.posting.platform import Post, short_key
from fake_blog import SEED, make_post

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "given_title", "title", "remaining"),
    [
        ("# Tea & *steam*\n\nBoil it.", "", "Tea & steam", "Boil it."),
        ("Before.\n\n# Tea #\n\nAfter.", "", "Tea", "Before.\n\n\nAfter."),
        ("# Tea\n\nBoil it.", "Tea.", "Tea.", "Boil it."),
        ("# Tea\n\nBoil it.", "How to\nboil", "How to boil", "# Tea\n\nBoil it."),
        ("Boil `it` now.\n\nThen wait.", "", "Boil it now.", "Boil `it` now.\n\nThen wait."),
        ("```\n# no heading\n```\n\n## Part\n\nx", "", "Part", "```\n# no heading\n```\n\n## Part\n\nx"),
        ("#\n\n# Tea\r\nBoil it.", "", "Tea", "#\n\nBoil it."),
        (" ".join(["word"] * 30), "", " ".join(["word"] * 11) + " word…", " ".join(["word"] * 30)),
    ],
)
def test_title_is_own_then_heading_then_text_start(text, given_title, title, remaining):
    rendered = article_from_post(make_post(NOW, text, title=given_title), SEED)
    assert (rendered.title, rendered.text) == (title, remaining)


@pytest.mark.parametrize(
    ("title", "slug_words"),
    [
        ("Tea & Steam: it's 100%!", "tea-steam-its-100"),
        ("Über Çay", "uber-cay"),
        ("茶", "post"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("x" * 100, "x" * 60),
    ],
)
def test_slug_is_title_and_key(title, slug_words):
    assert make_slug(title, SEED) == f"{slug_words}-{short_key(SEED)}"


@given(title=st.text(max_size=200))
def test_slug_is_valid_for_any_title(title):
    generated = make_slug(title, SEED)
    assert generated.isascii()
    assert generated.replace("-", "").isalnum()
    assert generated == generated.lower()
    assert "--" not in generated
    assert len(generated) <= 71


def test_html_and_script_are_escaped():
    rendered = render_markdown("<script>a</script> [b](javascript:c) <b onclick=d>e</b>\n\n<img src=x onerror=y>")
    assert "<script" not in rendered
    assert "<b" not in rendered
    assert "<img" not in rendered
    assert "href" not in rendered


def test_markdown_links_need_scheme():
    assert render_markdown("*a* setup.py https://a.example/x.") == (
        '<p><em>a</em> setup.py <a href="https://a.example/x">https://a.example/x</a>.</p>'
    )


@pytest.mark.parametrize("text", ["", "# Only a title", " \n "])
def test_title_without_text_is_a_problem(text):
    assert validate_article(make_post(NOW, text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [("a" * 2_001, "a word of"), ("[ " * 1_001, "opening brackets"), ("a:// " * 1_001, "web addresses")],
    ids=["word", "brackets", "addresses"],
)
def test_text_that_parses_slowly_is_refused(text, reason):
    assert reason in validate_article(make_post(NOW, text))[0].message


def test_title_length_is_checked():
    assert not validate_article(make_post(NOW, "# Tea\n\nx"), max_title_length=3)
    assert validate_article(make_post(NOW, "# Teas\n\nx"), max_title_length=3)
    assert validate_article(Post(format=Format.SHORT, parts=("x",), at=NOW))


@given(text=st.text(alphabet="#*` \n-[]()ab<>", max_size=60))
def test_article_is_deterministic_and_loses_no_text(text):
    rendered = article_from_post(make_post(NOW, text), SEED)
    assert rendered == article_from_post(make_post(NOW, text), SEED)
    for letter in "ab":
        assert rendered.title.count(letter) + rendered.text.count(letter) >= text.count(letter)
