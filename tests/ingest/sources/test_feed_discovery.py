"""Tests for finding the feeds of a web page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ingest.sources import rss
from copydesk.ingest.sources.rss import COMMON_FEED_PATHS, MAX_FEEDS, MAX_PAGE_BYTES, discover_feeds
from cost_growth import assert_bounded, assert_linear
from sampling import EXHAUSTIVE

PAGE = "https://site.example/blog/post"


def find_feeds(html: str) -> tuple[str, ...]:
    return discover_feeds(html.encode(), PAGE, None)


def test_head_feeds_come_in_order_comments_last() -> None:
    html = """<!DOCTYPE html><html><head>
    <link rel="alternate" type="application/rss+xml" href="/comments/feed/">
    <link rel='alternate' title="a > b" type='application/rss+xml' href='/feed/?a=1&amp;b=2'>
    <LINK REL=ALTERNATE TYPE=application/atom+xml HREF=atom.xml>
    <link rel="alternate" type="application/feed+json; charset=utf-8" href="//cdn.example/feed.json" />
    <link rel="alternate" type="application/rss+xml" href="/feed/?a=1&b=2">
    <link rel="stylesheet" href="/feed.css"><link rel="alternate" hreflang="de" href="/de/">
    <link rel="alternate" type="application/json" href="/wp-json/1">
    <link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">
    </head><a href="/other/feed">not needed</a>"""
    assert find_feeds(html) == (
        "https://site.example/feed/?a=1&b=2",
        "https://site.example/blog/atom.xml",
        "https://cdn.example/feed.json",
        "https://site.example/comments/feed/",
    )


@pytest.mark.parametrize(
    "address",
    ["/feed", "/feed/", "/rss", "/rss.xml", "/index.xml", "/atom.xml", "/feed.json", "/?feed=rss2", "/x/feeds/rss"],
)
def test_feed_like_links_are_used_as_fallback(address: str) -> None:
    """They count only if the head names no feed."""
    assert find_feeds(f"<a class=x href='{address}'>Subscribe</a><a href=/feeding>no</a>") == (
        f"https://site.example{address}",
    )


@pytest.mark.parametrize("address", ["/sitemap.xml", "/feedback", "/brussels", "mailto:feed", "#feed", "/about"])
def test_unrelated_links_are_ignored(address: str) -> None:
    assert find_feeds(f'<a href="{address}">x</a>') == ()


@pytest.mark.parametrize("link", ["<a href=/rss>", "<link rel=alternate type=application/rss+xml href=/rss>"])
@pytest.mark.parametrize("filler", ["x" * 1_500_000, '<a href="/post">post</a>' * 10_000])
def test_feed_far_down_a_page_is_found(filler: str, link: str) -> None:
    assert find_feeds(f"<p>{filler}</p>{link}") == ("https://site.example/rss",)


def test_comments_and_scripts_are_ignored() -> None:
    link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    assert find_feeds(f"<!-- {link} --><script>'{link}'</script><!-- {link}") == ()


def test_base_href_resolves_relative_urls() -> None:
    link = '<link rel="alternate" type="application/rss+xml" href="feed">'
    assert find_feeds(f'<base href="/deep/er/">{link}') == ("https://site.example/deep/er/feed",)


def test_page_itself_is_not_its_feed() -> None:
    assert find_feeds(f'<a href="{PAGE}/feed">x</a><link rel=alternate type="application/rss+xml" href="{PAGE}">') == ()


def test_number_of_feeds_is_capped() -> None:
    assert len(find_feeds("".join(f'<a href="/{number}/rss">' for number in range(100)))) == MAX_FEEDS
    assert all(path.startswith("/") for path in COMMON_FEED_PATHS)


@given(st.binary(max_size=200), st.sampled_from([None, "utf-8", "utf-16", "nonsense", "zip"]))
def test_no_input_raises(html: bytes, charset: str | None) -> None:
    assert isinstance(discover_feeds(b"<link href=" + html, PAGE, charset), tuple)


@pytest.mark.parametrize(
    "hostile",
    [
        "<!--",
        "<link ",
        '<a href="',
        "<a '",
        "<script>",
        "<link rel==",
        "<a href ",
        "<a href=/rss>",
        "<link " + "a" * 99,
    ],
)
def test_hostile_pages_take_linear_time(monkeypatch: pytest.MonkeyPatch, hostile: str) -> None:
    def page(size: int) -> bytes:
        return (hostile * (size // len(hostile))).encode()

    def discover(html: bytes) -> None:
        discover_feeds(html, PAGE, None)

    assert_linear(page, discover, MAX_PAGE_BYTES // 16)
    if EXHAUSTIVE:
        assert_linear(page, discover, MAX_PAGE_BYTES)
    else:
        monkeypatch.setattr(rss, "MAX_PAGE_BYTES", MAX_PAGE_BYTES // 16)
    assert_bounded(page, discover, 8 * rss.MAX_PAGE_BYTES)
