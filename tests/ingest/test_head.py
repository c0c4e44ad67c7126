"""The head of a page says what the page is, and is not believed everything."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ingest.elements import MAX_ELEMENTS, MAX_HEAD, head_elements
from copydesk.ingest.entry import MAX_ALT, MAX_NAME, MAX_SUMMARY, MAX_TITLE
from copydesk.ingest.head import Head, own_address, read_head
from copydesk.ingest.linkeddata import linked_data
from copydesk.text import clean
from growth import assert_in_proportion, assert_no_dearer

PAGE = "https://www.site.example/2026/ferry?id=7"


def read(page: str) -> Head:
    return read_head(page, PAGE)


def head(*elements: str) -> Head:
    return read_head(f"<!DOCTYPE html><html><head>{''.join(elements)}</head><body>", PAGE)


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


def script(data: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def test_a_well_kept_page_says_everything() -> None:
    found = read_head(
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


def test_a_page_that_says_nothing_leaves_everything_open() -> None:
    assert read_head("", PAGE) == read_head("just text", PAGE) == Head()


@pytest.mark.parametrize("separator", [" | ", " - ", " – ", " · "])
def test_the_name_of_the_site_is_no_part_of_the_title(separator: str) -> None:
    assert head(f"<title>A ferry{separator}Site</title>", meta("og:site_name", "Site")).title == "A ferry"
    assert head(f"<title>A ferry{separator}Site</title>").title == f"A ferry{separator}Site"


def test_json_ld_speaks_where_the_metas_are_silent() -> None:
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
def test_json_ld_that_is_none_is_passed_over(data: str) -> None:
    assert linked_data(data) == {}
    assert head(f"<script type=application/ld+json>{data}</script>", "<title>Still here</title>").title == "Still here"


def test_of_two_the_first_counts_and_an_empty_one_does_not() -> None:
    assert head(meta("og:title", ""), meta("og:title", "One"), meta("og:title", "Two")).title == "One"
    assert head('<meta name="author" name="date" content="A" content="B">').author == "A"


def test_a_page_describes_its_picture() -> None:
    found = head(meta("og:image", "/a.png"), meta("og:image:alt", "Two cranes\n over &amp;amp; under"))
    assert (found.image, found.image_alt) == ("https://www.site.example/a.png", "Two cranes over & under")
    assert len(head(meta("og:image", "/a.png"), meta("og:image:alt", "crane " * 500)).image_alt or "") <= MAX_ALT


def test_a_card_that_shows_the_same_picture_describes_it_too() -> None:
    picture, says = meta("og:image", "/a.png"), meta("twitter:image:alt", "A crane")
    assert head(picture, says).image_alt == "A crane"
    assert head(picture, meta("twitter:image", "https://www.site.example/a.png"), says).image_alt == "A crane"
    assert head(meta("twitter:image", "/b.png"), says).image_alt == "A crane"
    assert head(picture, says, meta("og:image:alt", "Two cranes")).image_alt == "Two cranes"


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
def test_what_is_said_of_another_picture_describes_none(elements: list[str]) -> None:
    assert head(*elements).image_alt is None


def test_the_second_picture_does_not_take_the_place_of_the_first() -> None:
    found = head(
        meta("og:image", "/a.png"),
        meta("og:image", "/a.png"),
        meta("og:image:alt", "The first"),
        meta("og:image", "/b.png"),
        meta("og:image:secure_url", "https://www.site.example/b.png"),
    )
    assert (found.image, found.image_alt) == ("https://www.site.example/a.png", "The first")


def test_what_was_escaped_twice_is_read_as_it_was_meant() -> None:
    assert head(meta("og:title", "Fish &amp;amp; chips &amp;#8217;s")).title == "Fish & chips ’s"


def test_the_address_of_a_profile_is_no_author() -> None:
    found = head(meta("article:author", "https://social.example/lin"), meta("author", "Lin"))
    assert found.author == "Lin"
    assert head(meta("article:author", "https://social.example/lin")).author is None


@pytest.mark.parametrize(
    "said",
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
def test_what_stands_in_a_comment_a_script_or_after_the_head_is_not_there(said: str) -> None:
    assert head(said.format(meta("og:image", "/x.jpg"))).image is None


def test_after_a_comment_or_a_script_it_goes_on() -> None:
    before = "<!--> <!-- </head> --><script>'<body>'</script><style></style><noscript></noscript>"
    assert head(before, meta("og:title", "Here")).title == "Here"


def test_a_title_that_is_never_closed_ends_at_the_next_tag() -> None:
    assert head("<title>A ferry", meta("author", "Lin")) == Head(title="A ferry", author="Lin")
    assert head("<title>A <b> ferry</TITLE >").title == "A <b> ferry"


def test_the_end_of_a_title_is_not_looked_for_again_and_again() -> None:
    """Of so many titles as are looked at each would be read on to the end of what is looked at."""

    def titles(size: int) -> str:
        return "<title>" * (size // len("<title>"))

    assert_in_proportion(titles, read, MAX_ELEMENTS * len("<title>"))
    assert_no_dearer(titles, read, MAX_HEAD)


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "data:image/png;base64,AA", "file:///etc/passwd", "http://", "ftp://x.example/a", " "),
        *("java\nscript:alert(1)", "blob:https://site.example/1", "vbscript:x", "&#106;avascript:alert(1)"),
    ],
)
def test_only_web_addresses_are_taken(address: str) -> None:
    found = head(
        meta("og:image", address), meta("og:url", address), f'<link rel="canonical" href="{address}"><base href=x:y>'
    )
    assert (found.image, found.url) == (None, None)


def test_an_address_that_is_none_gives_way_to_the_next() -> None:
    found = head(meta("og:image", "javascript:x"), meta("twitter:image", "a.png"), "<base href='/deep/er/'>")
    assert found.image == "https://www.site.example/deep/er/a.png"


@pytest.mark.parametrize(
    ("named", "own"),
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
def test_a_page_may_name_an_address_of_its_own_site_only(named: str, own: str | None) -> None:
    assert own_address(named, PAGE, PAGE) == own


def test_a_home_page_may_name_itself() -> None:
    assert own_address("https://site.example/", "https://www.site.example/", "https://www.site.example/") is not None


def test_where_the_canonical_address_is_absurd_the_next_one_speaks() -> None:
    found = head('<link rel="canonical" href="https://bank.example/">', meta("og:url", "/2026/ferry"))
    assert found.url == "https://www.site.example/2026/ferry"


def test_nothing_in_it_commands_a_terminal_and_nothing_is_too_long() -> None:
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


def test_a_picture_that_would_be_the_page_itself_is_none() -> None:
    assert [head(meta("og:image", address)).image for address in ("/", "//", "#", "?")] == [None] * 4


def test_entities_of_a_doctype_mean_nothing() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]><html><head>'
    assert read_head(f"{bomb}<title>&b;&b;</title>", PAGE).title == "&b;&b;"


def test_what_comes_too_late_is_not_looked_at() -> None:
    assert head("<style>" + "x" * MAX_HEAD + "</style>", meta("og:title", "late")).title == ""
    assert len(list(head_elements("<meta>" * 50_000))) == 2_000


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

    assert_in_proportion(page, read, MAX_HEAD // 8)
    assert_in_proportion(page, read, MAX_HEAD)
    assert_no_dearer(page, read, 8 * MAX_HEAD)


WORDS = [
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
WORDS += [
    "<script type=application/ld+json>",
    "</script>",
    '{"@type":"Article","headline":',
    "<link rel=canonical href=",
]
WORDS += ["http://", "//[", "<base href=", "<html lang=", "date", "9999-99-99"]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=30).map("".join))
def test_no_head_raises(page: str) -> None:
    found = read_head(page, PAGE)
    assert found.title == clean(found.title)
    assert found.image is None or found.image.startswith(("http://", "https://"))
