"""A draft as an article: its title, its text, its address and its HTML."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.blog import article, html, problems, slug
from copydesk.posting.keys import short_key
from copydesk.posting.platform import Post
from fake_blogs import SEED, blog_post

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "given_title", "title", "left"),
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
def test_the_title_is_the_drafts_own_else_its_heading_else_its_first_words(text, given_title, title, left):
    made = article(blog_post(NOW, text, title=given_title), SEED)
    assert (made.title, made.text) == (title, left)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Tea & Steam: it's 100%!", "tea-steam-its-100"),
        ("Über Çay", "uber-cay"),
        ("茶", "post"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("x" * 100, "x" * 60),
    ],
)
def test_the_address_is_made_of_the_titles_words_and_a_key(title, words):
    assert slug(title, SEED) == f"{words}-{short_key(SEED)}"


@given(title=st.text(max_size=200))
def test_every_title_makes_an_address_that_every_blog_takes_as_it_is(title):
    made = slug(title, SEED)
    assert made.isascii()
    assert made.replace("-", "").isalnum()
    assert made == made.lower()
    assert "--" not in made
    assert len(made) <= 71


def test_no_html_and_no_code_passes():
    made = html("<script>a</script> [b](javascript:c) <b onclick=d>e</b>\n\n<img src=x onerror=y>")
    assert "<script" not in made
    assert "<b" not in made
    assert "<img" not in made
    assert "href" not in made


def test_markdown_becomes_html_with_links_only_where_there_is_a_scheme():
    assert html("*a* setup.py https://a.example/x.") == (
        '<p><em>a</em> setup.py <a href="https://a.example/x">https://a.example/x</a>.</p>'
    )


@pytest.mark.parametrize("text", ["", "# Only a title", " \n "])
def test_a_title_alone_is_no_article(text):
    assert problems(blog_post(NOW, text))


def test_a_blog_takes_articles_with_titles_that_fit():
    assert not problems(blog_post(NOW, "# Tea\n\nx"), longest_title=3)
    assert problems(blog_post(NOW, "# Teas\n\nx"), longest_title=3)
    assert problems(Post(format=Format.SHORT, parts=("x",), at=NOW))


@given(text=st.text(alphabet="#*` \n-[]()ab<>", max_size=60))
def test_an_article_is_the_same_each_time_and_loses_no_letter(text):
    made = article(blog_post(NOW, text), SEED)
    assert made == article(blog_post(NOW, text), SEED)
    for letter in "ab":
        assert made.title.count(letter) + made.text.count(letter) >= text.count(letter)
