"""Tests for canonical URLs: one key per page, however its address is spelled, tagged or shared."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.ranking import canonical_url as canonical
from copydesk.ranking.canonical_url import canonical_url, identifies_page
from cost_growth import assert_linear
from sampling import sample_size

SAME_PAGE = [
    ("https://Example.com/a?utm_source=x&id=2", "https://example.com/a?id=2"),
    ("http://www.example.com/a/", "https://example.com/a"),
    ("https://example.com:443/a#c", "https://example.com/a"),
    ("http://example.com:80/a", "https://example.com/a"),
    ("https://example.com./a", "https://example.com/a"),
    ("https://user:secret@example.com/a", "https://example.com/a"),
    ("https://example.com/a?b=2&a=1", "https://example.com/a?a=1&b=2"),
    ("https://example.com/a?b=2&amp;a=1", "https://example.com/a?a=1&b=2"),
    ("https://example.com/a?fbclid=1", "https://example.com/a"),
    ("https://example.com/a?", "https://example.com/a"),
    ("https://example.com/a?x=", "https://example.com/a?x"),
    ("https://example.com/a?q=b+c", "https://example.com/a?q=b%20c"),
    ("https://example.com/%7Euser", "https://example.com/~user"),
    ("https://example.com/caf%c3%a9", "https://example.com/café"),
    ("https://example.com/a//b", "https://example.com/a/b"),
    ("https://example.com/x/../a/./b", "https://example.com/a/b"),
    ("https://example.com/a?gclid=z&page=2", "https://example.com/a?page=2"),
    ("https://example.com/a?MTM_campaign=z&pk_kwd=2", "https://example.com/a"),
    ("https://example.com/a?ref=kottke.org", "https://example.com/a"),
    ("https://medium.com/p/1?source=rss----7f60cf5620c9---4", "https://medium.com/p/1"),
    ("https://bbc.com/news/1?at_medium=RSS&at_campaign=rss", "https://bbc.com/news/1"),
    ("https://aljazeera.com/n?traffic_source=rss", "https://aljazeera.com/n"),
    ("https://ndtv.com/n-1#publisher=newsstand", "https://ndtv.com/n-1"),
    ("https://x.substack.com/p/post?publication_id=1&post_id=2&r=abc", "https://x.substack.com/p/post"),
    ("https://open.substack.com/pub/x/p/post?r=abc", "https://x.substack.com/p/post"),
    ("https://m.example.com/a", "https://example.com/a"),
    ("https://amp.example.com/a", "https://example.com/a"),
    ("https://example.com/a/amp/", "https://example.com/a"),
    ("https://example.com/a.amp.html", "https://example.com/a.html"),
    ("https://example.com/a?outputType=amp", "https://example.com/a"),
    ("https://en.m.wikipedia.org/wiki/SQLite", "https://en.wikipedia.org/wiki/SQLite"),
    ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
    ("https://example.com/index.html", "https://example.com/"),
    ("https://example.com/blog/index.php", "https://example.com/blog"),
    ("https://twitter.com/u/status/1?s=20", "https://x.com/u/status/1"),
    ("https://mobile.twitter.com/u/status/1/photo/1", "https://x.com/i/web/status/1"),
    ("https://old.reddit.com/r/python/comments/1abc/a_title/", "https://redd.it/1abc"),
    ("https://www.reddit.com/r/python/comments/1abc/?rdt=5", "https://reddit.com/comments/1abc"),
    ("https://youtu.be/dQw4w9WgXcQ?si=x&t=3", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
    ("https://m.youtube.com/watch?list=PL1&v=dQw4w9WgXcQ&index=3", "https://youtu.be/dQw4w9WgXcQ"),
    ("https://youtube.com/shorts/8h9HuoNHuzU", "https://youtu.be/8h9HuoNHuzU"),
    ("https://news.google.com/rss/articles/CBMi1?oc=5", "https://news.google.com/articles/CBMi1?hl=en-US"),
    ("  https://example.com/a\n", "https://example.com/a"),
]

OTHER_PAGE = [
    ("https://example.com/a", "https://example.com/b"),
    ("https://example.com/a", "https://example.com/A"),
    ("https://example.com/a?id=1", "https://example.com/a?id=2"),
    ("https://example.com/a", "https://blog.example.com/a"),
    ("https://example.com/a", "https://example.com:8080/a"),
    ("https://example.com/#!/a", "https://example.com/#!/b"),
    ("https://example.com/#/a", "https://example.com/#/b"),
    ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ("https://example.com/a?q=b%26c", "https://example.com/a?q=b&c"),
    ("https://example.com/view?src=report.pdf", "https://example.com/view?src=other.pdf"),
    ("https://api.example.com/file?ref=main", "https://api.example.com/file?ref=next"),
    ("https://reddit.com/r/a/comments/1/t/c1", "https://reddit.com/r/a/comments/1/t/c2"),
    ("https://x.com/u", "https://x.com/w"),
    ("https://youtube.com/playlist?list=1", "https://youtube.com/playlist?list=2"),
    ("https://youtube.com/embed/videoseries?list=1", "https://youtube.com/embed/videoseries?list=2"),
    ("https://m.com/a", "https://www.com/a"),
]

INVALID_URLS = [
    "",
    "   ",
    "example.com/a",
    "/a/b",
    "ftp://example.com/a",
    "mailto:a@example.com",
    "javascript:alert(1)",
    "https://",
    "https:///a",
    "https://?a",
    "https://a b/c",
    "https://exa<mple.com/",
    "https://example.com:port/",
    "https://[::1/",
    "https://" + "a." * 200 + "com/",
    "https://\ud800.example/",
    "https://..../",
    "https://example.com/" + "a" * 10_000,
]


@pytest.mark.parametrize(("one", "other"), SAME_PAGE)
def test_same_page_has_same_key(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other) != ""


@pytest.mark.parametrize(("one", "other"), OTHER_PAGE)
def test_different_pages_have_different_keys(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize("url", INVALID_URLS)
def test_invalid_url_has_no_key(url: str) -> None:
    assert canonical_url(url) == ""


def test_ipv6_and_numeric_hosts_are_accepted() -> None:
    assert canonical_url("http://[2001:DB8::1]:8080/a") == "https://[2001:db8::1]:8080/a"
    assert canonical_url("http://192.0.2.1/a") == "https://192.0.2.1/a"


def test_front_page_is_not_a_story() -> None:
    assert not identifies_page(canonical_url("https://www.example.com/?utm_source=rss"))
    assert not identifies_page(canonical_url("https://example.com/index.html"))
    assert identifies_page(canonical_url("https://example.com/?p=12"))
    assert identifies_page(canonical_url("https://example.com/a"))
    assert not identifies_page("")


PIECES = (
    "https http :// / // ? & = # #! #!/ % %2 %41 %2F %25 %zz www. m. amp. .amp amp amp; index.html .. . a b 1 : :80 @ "
    "example.com reddit.com r comments x.com status youtube.com watch v shorts youtu.be open.substack.com pub p "
    "utm_a ref=a.de é ß 日 + ; [ ] \\ \ud800"
)
URL_PIECES = st.sampled_from(PIECES.split(" "))


@given(st.one_of(st.text(), st.lists(URL_PIECES, max_size=14).map("".join).map("https://".__add__)))
@settings(max_examples=sample_size(300))
def test_canonical_url_is_idempotent(url: str) -> None:
    key = canonical_url(url)
    assert canonical_url(key) == key
    assert key.isascii()


@given(st.lists(URL_PIECES, max_size=14).map("".join))
@settings(max_examples=sample_size(300))
def test_any_path_has_stable_key(rest: str) -> None:
    for host in ("example.com", "x.com", "www.youtube.com", "youtu.be", "old.reddit.com", "redd.it"):
        key = canonical_url(f"https://{host}/{rest}")
        assert key
        assert canonical_url(key) == key


def test_odd_post_id_has_stable_key() -> None:
    assert canonical_url("https://redd.it/amp/x") == canonical_url("https://reddit.com/comments/amp")


@pytest.mark.parametrize("piece", ["@", "%", "%41", "/..", "&amp;", "//", "a.amp.", ":", "[", "www.", "/status/1", "?"])
def test_hostile_url_takes_linear_time(piece: str) -> None:
    def canonicalize(url: str) -> None:
        canonical._host.cache_clear()
        canonical_url(url)
        canonical_url("https://example.com/" + url)

    assert_linear(lambda size: "https://x.com" + piece * (size // len(piece)), canonicalize, 8000)
