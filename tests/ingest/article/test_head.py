"""Tests for reading page metadata from the head of an HTML page."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ingest.article.head import (
    MAX_ELEMENTS,
    MAX_HEAD_LENGTH,
    Head,
    canonical_url,
    iter_head_elements,
    parse_head,
    parse_json_ld,
)
from copydesk.ingest.entries import MAX_ALT, MAX_NAME, MAX_SUMMARY, MAX_TITLE
from copydesk.text import clean
from cost_growth import assert_bounded, assert_linear
from sampling import EXHAUSTIVE

PAGE = "https://www.site.example/2026/ferry?id=7"


def read(page: str) -> Head:
    return parse_head(page, PAGE)


def head(*elements: str) -> Head:
    return parse_head(f"<!DOCTYPE html><html><head>{''.join(elements)}</head><body>", PAGE)


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


def script(data: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def test_complete_head_is_read() -> None:
    found = parse_head(
        """<!DOCTYPE html><html lang="en-GB"><head><meta charset=utf-8><title>A ferry opens | The Site</title>
        <META NAME='description' CONTENT='It carries 40 people &amp; a dog.'>
        <meta property="og:title" content="A ferry opens"><meta property="og:site_name" content="The Site">
        <meta property="og:image" content="/pictures/ferry.jpg"><meta name=author content="Lin Kim">
        <meta property="article:published_time" content="2026-11-20T08:30:00+01:00">
        <link href="https://site.example/2026/ferry" rel="canonical"></head>""",
        PAGE,
    )
    assert found == Head(
        title="A ferry opens",
        summary="It carries 40 people & a dog.",
        url="https://site.example/2026/ferry",
        image="https://www.site.example/pictures/ferry.jpg",
        author="Lin Kim",
        published=datetime(2026, 11, 20, 7, 30, tzinfo=UTC),
        language="en-gb",
        publisher="The Site",
    )


def test_empty_page_has_empty_head() -> None:
    assert parse_head("", PAGE) == parse_head("just text", PAGE) == Head()


@pytest.mark.parametrize("separator", [" | ", " - ", " – ", " · "])
def test_site_name_is_removed_from_title(separator: str) -> None:
    assert head(f"<title>A ferry{separator}Site</title>", meta("og:site_name", "Site")).title == "A ferry"
    assert head(f"<title>A ferry{separator}Site</title>").title == f"A ferry{separator}Site"


def test_json_ld_fills_missing_meta_tags() -> None:
    article = {
        "@type": ["Thing", "NewsArticle"],
        "headline": "A ferry opens",
        "description": "It carries 40.",
        "datePublished": "2026-11-20",
        "author": [{"@type": "Person", "name": "Lin"}, {"name": "Kim"}],
        "image": [{"@type": "ImageObject", "name": "Ferry", "url": "/ferry.jpg"}],
        "publisher": {"name": "The Site"},
        "inLanguage": "de",
    }
    for data in (article, [article], {"@graph": [{"@type": "WebSite", "name": "no"}, article]}):
        found = head(script(data))
        assert (found.title, found.summary, found.author) == ("A ferry opens", "It carries 40.", "Lin, Kim")
        assert found.image == "https://www.site.example/ferry.jpg"
        assert found.published == datetime(2026, 11, 20, tzinfo=UTC)
        assert (found.publisher, found.language) == ("The Site", "de")


@pytest.mark.parametrize(
    "data",
    ["", "{", "[" * 100_000, '"x"', "null", "[[[]]]", '{"@graph": 3}', '{"@type": {}}', "\x00", '{"@type": "Product"}']
    + ['{"@type":"Article","headline":' + value + "}" for value in ("7", "null", "[[]]", "{}", '{"name": 1}', "1e999")],
)
def test_invalid_json_ld_is_ignored(data: str) -> None:
    assert parse_json_ld(data) == {}
    assert head(f"<script type=application/ld+json>{data}</script>", "<title>Still here</title>").title == "Still here"


def test_first_non_empty_value_wins() -> None:
    assert head(meta("og:title", ""), meta("og:title", "One"), meta("og:title", "Two")).title == "One"
    assert head('<meta name="author" name="date" content="A" content="B">').author == "A"


def test_image_alt_is_read() -> None:
    found = head(meta("og:image", "/a.png"), meta("og:image:alt", "Two cranes\n over &amp;amp; under"))
    assert (found.image, found.image_alt) == ("https://www.site.example/a.png", "Two cranes over & under")
    assert len(head(meta("og:image", "/a.png"), meta("og:image:alt", "crane " * 500)).image_alt or "") <= MAX_ALT


def test_twitter_alt_applies_to_same_image() -> None:
    image, alt = meta("og:image", "/a.png"), meta("twitter:image:alt", "A crane")
    assert head(image, alt).image_alt == "A crane"
    assert head(image, meta("twitter:image", "https://www.site.example/a.png"), alt).image_alt == "A crane"
    assert head(meta("twitter:image", "/b.png"), alt).image_alt == "A crane"
    assert head(image, alt, meta("og:image:alt", "Two cranes")).image_alt == "Two cranes"


@pytest.mark.parametrize(
    "elements",
    [
        [meta("og:image", "/a.png"), meta("og:image", "/b.png"), meta("og:image:alt", "The second")],
        [meta("og:image", "/a.png"), meta("twitter:image", "/b.png"), meta("twitter:image:alt", "The card's")],
        [meta("twitter:image", "/b.png"), meta("og:image:alt", "Of none")],
        [meta("og:image:alt", "Of none"), meta("twitter:image:alt", "Of none")],
        [script({"@type": "Article", "image": "/c.png"}), meta("og:image:alt", "Of none")],
        [meta("og:image", "/a.png"), meta("og:image:alt", " ")],
        [meta("og:image", "/a.png")],
    ],
)
def test_alt_of_another_image_is_ignored(elements: list[str]) -> None:
    assert head(*elements).image_alt is None


def test_second_image_does_not_replace_first() -> None:
    found = head(
        meta("og:image", "/a.png"),
        meta("og:image", "/a.png"),
        meta("og:image:alt", "The first"),
        meta("og:image", "/b.png"),
        meta("og:image:secure_url", "https://www.site.example/b.png"),
    )
    assert (found.image, found.image_alt) == ("https://www.site.example/a.png", "The first")


def test_double_escaped_text_is_decoded() -> None:
    assert head(meta("og:title", "Fish &amp;amp; chips &amp;#8217;s")).title == "Fish & chips ’s"


def test_profile_url_is_not_an_author() -> None:
    found = head(meta("article:author", "https://social.example/lin"), meta("author", "Lin"))
    assert found.author == "Lin"
    assert head(meta("article:author", "https://social.example/lin")).author is None


@pytest.mark.parametrize(
    "template",
    [
        "<!-- {} -->",
        "<!-- {}",
        "<script>'{}'</script>",
        "<script>{}",
        "<style>{}</style>",
        "<template>{}</template>",
        "</head>{}",
        "<body>{}",
        "<title>{}</title>",
    ],
)
def test_markup_outside_head_is_ignored(template: str) -> None:
    assert head(template.format(meta("og:image", "/x.jpg"))).image is None


def test_head_continues_after_comment_and_script() -> None:
    before = "<!--> <!-- </head> --><script>'<body>'</script><style></style><noscript></noscript>"
    assert head(before, meta("og:title", "Here")).title == "Here"


def test_unclosed_title_ends_at_next_tag() -> None:
    assert head("<title>A ferry", meta("author", "Lin")) == Head(title="A ferry", author="Lin")
    assert head("<title>A <b> ferry</TITLE >").title == "A <b> ferry"


def test_unclosed_titles_take_linear_time() -> None:
    """Without a limit, each of these titles would be searched to the end of the head."""

    def titles(size: int) -> str:
        return "<title>" * (size // len("<title>"))

    assert_linear(titles, read, MAX_ELEMENTS * len("<title>"))
    assert_bounded(titles, read, MAX_HEAD_LENGTH)


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "data:image/png;base64,AA", "file:///etc/passwd", "http://", "ftp://x.example/a", " "),
        *("java\nscript:alert(1)", "blob:https://site.example/1", "vbscript:x", "&#106;avascript:alert(1)"),
    ],
)
def test_non_web_urls_are_ignored(address: str) -> None:
    found = head(
        meta("og:image", address), meta("og:url", address), f'<link rel="canonical" href="{address}"><base href=x:y>'
    )
    assert (found.image, found.url) == (None, None)


def test_invalid_image_url_falls_back() -> None:
    found = head(meta("og:image", "javascript:x"), meta("twitter:image", "a.png"), "<base href='/deep/er/'>")
    assert found.image == "https://www.site.example/deep/er/a.png"


@pytest.mark.parametrize(
    ("canonical", "expected"),
    [
        ("/2026/ferry", "https://www.site.example/2026/ferry"),
        ("https://site.example/ferry", "https://site.example/ferry"),
        ("https://m.site.example/ferry", "https://m.site.example/ferry"),
        ("https://news.site.example/ferry", "https://news.site.example/ferry"),
        ("https://bank.example/login", None),
        ("https://www.site.example.evil.example/ferry", None),
        ("https://evilsite.example/ferry", None),
        ("https://example/ferry", None),
        ("https://site.example@evil.example/", None),
        ("https://lin:secret@www.site.example/ferry", None),
        ("https://www.site.example:8443/ferry", None),
        ("http://127.0.0.1/admin", None),
        ("http://www.site.example/2026/ferry", None),
        ("https://www.site.example/", None),
        ("https://www.site.example", None),
        ("https://[oops/", None),
    ],
)
def test_canonical_url_must_be_same_site(canonical: str, expected: str | None) -> None:
    assert canonical_url(canonical, PAGE, PAGE) == expected


def test_home_page_may_be_its_own_canonical() -> None:
    assert canonical_url("https://site.example/", "https://www.site.example/", "https://www.site.example/") is not None


def test_foreign_canonical_falls_back_to_og_url() -> None:
    found = head('<link rel="canonical" href="https://bank.example/">', meta("og:url", "/2026/ferry"))
    assert found.url == "https://www.site.example/2026/ferry"


def test_head_is_sanitized_and_truncated() -> None:
    nasty = "\x1b]0;owned\x07\x1b[31m[red]Bold\u202e claim&#27;&#x202e;[/red]" + "x" * 20_000
    found = head(*(meta(name, nasty) for name in ("og:title", "og:description", "author", "og:site_name")))
    for text, limit in (
        (found.title, MAX_TITLE),
        (found.summary, MAX_SUMMARY),
        (found.author or "", MAX_NAME),
        (found.publisher or "", MAX_NAME),
    ):
        assert text.startswith("[red]Bold claim[/red]xxx")
        assert text.isprintable()
        assert len(text) <= limit


def test_image_equal_to_page_is_none() -> None:
    assert [head(meta("og:image", address)).image for address in ("/", "//", "#", "?")] == [None] * 4


def test_doctype_entities_are_not_expanded() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]><html><head>'
    assert parse_head(f"{bomb}<title>&b;&b;</title>", PAGE).title == "&b;&b;"


def test_head_limits_are_enforced() -> None:
    assert head("<style>" + "x" * MAX_HEAD_LENGTH + "</style>", meta("og:title", "late")).title == ""
    assert len(list(iter_head_elements("<meta>" * 50_000))) == 2_000


@pytest.mark.parametrize(
    "hostile",
    [
        *("<title>", "<title", "<title>x<", "<meta ", "<meta '", '<meta "', "<meta content='", "<!--", "<script>", "<"),
        *("<style>", "<base href=", "</head", "<html lang=", "<link rel=canonical href=x>", "<meta " + "a " * 50 + ">"),
        '<meta property=og:title content="&amp;',
        *("<script type=application/ld+json>[", "<script type=application/ld+json>[</script>"),
    ],
)
def test_hostile_heads_take_linear_time(hostile: str) -> None:
    def page(size: int) -> str:
        return "<title>a</title>" + hostile * (size // len(hostile))

    for size in (MAX_HEAD_LENGTH // 8, MAX_HEAD_LENGTH) if EXHAUSTIVE else (MAX_HEAD_LENGTH // 8,):
        assert_linear(page, read, size)
    assert_bounded(page, read, 8 * MAX_HEAD_LENGTH)


FRAGMENTS = [
    "<title>",
    "</title>",
    "<meta ",
    "property=",
    "og:image",
    "content=",
    '"',
    "'",
    ">",
    "<!--",
    "-->",
    "&#0;",
    "\ud800",
]
FRAGMENTS += [
    "<script type=application/ld+json>",
    "</script>",
    '{"@type":"Article","headline":',
    "<link rel=canonical href=",
]
FRAGMENTS += ["http://", "//[", "<base href=", "<html lang=", "date", "9999-99-99"]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=30).map("".join))
def test_no_head_raises(page: str) -> None:
    found = parse_head(page, PAGE)
    assert found.title == clean(found.title)
    assert found.image is None or found.image.startswith(("http://", "https://"))
