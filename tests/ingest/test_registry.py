"""Tests for the rules shared by all source types: URL normalization and credentials."""

from importlib import import_module

import pytest

from copydesk.errors import InvalidError, SettingsError
from copydesk.ingest import registry
from copydesk.ingest.fetch_context import Credentials
from copydesk.ingest.registry import SOURCE_TYPES, normalize_url
from copydesk.ingest.urls import web_url_or_none
from copydesk.model.source import SourceConfig, SourceTypeInfo
from fake_fetcher import FakeFetcher, make_spec, next_state

RSS, TWITTER, REDDIT = "rss", "twitter", "reddit"
HACKERNEWS, GOOGLE_NEWS, SUBSTACK = "hackernews", "google_news", "substack"
NEWS = "https://news.google.com"
HN = "https://news.ycombinator.com"


def test_every_source_type_has_a_reader() -> None:
    for info in SOURCE_TYPES.values():
        reader = import_module(info.reader)
        assert callable(reader.fetch)
        assert callable(reader.normalize_url)
        assert {field.name for field in info.config_fields} <= set(SourceConfig.__struct_fields__)


def test_name_is_registered_once() -> None:
    registry.register_source_type(SOURCE_TYPES["rss"])
    with pytest.raises(ValueError, match="'rss'"):
        registry.register_source_type(SourceTypeInfo(name="rss", label="other", reader="other"))


def test_missing_plugin_leaves_name_and_is_refused() -> None:
    assert registry.get_source_type("gopher").label == "gopher"
    with pytest.raises(SettingsError, match="Unknown source type 'gopher'"):
        normalize_url("gopher", "gopher://floodgap.com", SourceConfig())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://blog.example/feed", "rss"),
        ("https://old.reddit.com/r/Python", "reddit"),
        ("reddit.com/r/Python", "reddit"),
        ("https://notreddit.com/r/Python", "rss"),
        ("https://letter.substack.com/feed", "substack"),
        ("https://[", "rss"),
    ],
)
def test_host_suggests_source_type(url: str, name: str) -> None:
    assert registry.guess_source_type(url).name == name


@pytest.mark.parametrize(
    ("type", "typed", "normalized"),
    [
        (RSS, "https://blog.example/feed.xml", "https://blog.example/feed.xml"),
        (RSS, "  blog.example/feed#latest ", "https://blog.example/feed"),
        (RSS, "localhost:8000/feed", "https://localhost:8000/feed"),
        (RSS, "http://127.0.0.1:8000/feed?a=b", "http://127.0.0.1:8000/feed?a=b"),
        (SUBSTACK, "https://letter.substack.com", "https://letter.substack.com/feed"),
        (SUBSTACK, "https://letter.substack.com/p/a-post?r=1", "https://letter.substack.com/feed"),
        (SUBSTACK, "https://www.letter.example/p/a-post", "https://www.letter.example/feed"),
        (SUBSTACK, "https://letter.example/feed", "https://letter.example/feed"),
        (SUBSTACK, "https://open.substack.com/pub/letter/p/a-post", "https://letter.substack.com/feed"),
        (REDDIT, "https://www.reddit.com/r/Python/", "https://www.reddit.com/r/Python/"),
        (REDDIT, "https://old.reddit.com/r/Python", "https://www.reddit.com/r/Python/"),
        (REDDIT, "reddit.com/r/Python+sqlite/.rss", "https://www.reddit.com/r/Python+sqlite/"),
        (REDDIT, "https://www.reddit.com/r/Python/top/?t=week", "https://www.reddit.com/r/Python/top/?t=week"),
        (REDDIT, "r/Python", "https://www.reddit.com/r/Python/"),
        (TWITTER, "https://x.com/NAME", "https://x.com/NAME"),
        (TWITTER, "https://twitter.com/NAME/status/1?s=20", "https://x.com/NAME"),
        (TWITTER, "@NAME", "https://x.com/NAME"),
        (HACKERNEWS, HN, f"{HN}/"),
        (HACKERNEWS, f"{HN}/newest", f"{HN}/newest"),
        (HACKERNEWS, f"{HN}/item?id=1", f"{HN}/"),
        (GOOGLE_NEWS, NEWS, f"{NEWS}/rss"),
        (GOOGLE_NEWS, f"{NEWS}/home?hl=de&gl=DE&ceid=DE:de", f"{NEWS}/rss?hl=de&gl=DE&ceid=DE%3Ade"),
        (GOOGLE_NEWS, f"{NEWS}/search?q=sqlite&utm=1", f"{NEWS}/rss/search?q=sqlite"),
        (GOOGLE_NEWS, f"{NEWS}/rss/search?q=a+b", f"{NEWS}/rss/search?q=a+b"),
        (GOOGLE_NEWS, f"{NEWS}/topics/CAAqJg_x", f"{NEWS}/rss/topics/CAAqJg_x"),
    ],
)
def test_url_is_normalized(type: str, typed: str, normalized: str) -> None:
    assert normalize_url(type, typed, SourceConfig()) == normalized
    assert normalize_url(type, normalized, SourceConfig()) == normalized


def test_query_makes_google_news_a_search() -> None:
    given = make_spec(GOOGLE_NEWS, NEWS, query="sqlite")
    assert normalize_url(given.type, given.url, given.config) == f"{NEWS}/rss/search"


@pytest.mark.parametrize("type", list(SOURCE_TYPES))
@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://files.example/feed",
        "https://",
        "https://[::1",
        "https://blog.example:port/",
        "https://blog.example/a b",
        "https://blog.example/\x1b[31m",
        "https://user:secret@blog.example/feed",
        "https://blog.example/" + "a" * 2000,
    ],
)
def test_invalid_url_is_refused(type: str, typed: str) -> None:
    with pytest.raises(InvalidError) as refusal:
        normalize_url(type, typed, SourceConfig())
    (error,) = refusal.value.errors
    assert error.field == "url"
    assert "\x1b" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("type", "typed", "settings", "field", "message"),
    [
        (SUBSTACK, "https://substack.com/@letter", {}, "url", "https://NAME.substack.com"),
        (REDDIT, "https://www.reddit.com/user/somebody/", {}, "url", "/r/Python"),
        (REDDIT, "https://www.reddit.com/r/Python/comments/1abc/title/", {}, "url", "/r/Python"),
        (REDDIT, "https://reddit.com.evil.example/r/Python", {}, "url", "not a Reddit address"),
        (REDDIT, "r/Python", {"window": "decade"}, "config.window", "hour, day, week"),
        (TWITTER, "https://x.com/", {}, "url", "https://x.com/NAME"),
        (TWITTER, "https://x.com/search?q=a", {}, "url", "https://x.com/NAME"),
        (TWITTER, "https://x.com/a_name_that_is_too_long", {}, "url", "https://x.com/NAME"),
        (TWITTER, "https://netflix.com/NAME", {}, "url", "not an X address"),
        (HACKERNEWS, "https://hn.example/", {}, "url", HN),
        (HACKERNEWS, HN, {"query": " "}, "config.query", "enter search words"),
        (GOOGLE_NEWS, "https://google.com/news", {}, "url", "config.query"),
        (GOOGLE_NEWS, f"{NEWS}/search", {}, "config.query", "enter search words"),
        (GOOGLE_NEWS, f"{NEWS}/settings", {}, "url", "not a Google News page with a feed"),
        (GOOGLE_NEWS, NEWS, {"query": ""}, "config.query", "enter search words"),
        (GOOGLE_NEWS, NEWS, {"hl": "German"}, "config.hl", "en-US"),
        (GOOGLE_NEWS, NEWS, {"gl": "de"}, "config.gl", "two capitals"),
        (GOOGLE_NEWS, NEWS, {"ceid": "de"}, "config.ceid", "US:en"),
        (GOOGLE_NEWS, NEWS, {"hl": "de"}, "config.gl", "add the country"),
        (GOOGLE_NEWS, NEWS, {"gl": "DE"}, "config.hl", "add the language"),
        (GOOGLE_NEWS, NEWS, {"hl": "de", "gl": "AT", "ceid": "DE:de"}, "config.ceid", "AT:de"),
    ],
)
def test_unsupported_url_is_refused_with_hint(
    type: str, typed: str, settings: dict[str, str], field: str, message: str
) -> None:
    given = make_spec(type, typed, **settings)
    with pytest.raises(InvalidError) as refusal:
        normalize_url(given.type, given.url, given.config)
    (error,) = refusal.value.errors
    assert error.field == field
    assert message in error.message


@pytest.mark.parametrize("value", ["javascript:alert(1)", "data:text/html,x", "/p/1", "http://", "https://[", "", None])
def test_only_web_urls_are_story_links(value: str | None) -> None:
    assert web_url_or_none(value) is None


def test_credentials_repr_hides_secrets() -> None:
    credentials = Credentials(reddit_client_id="id", reddit_client_secret="hush", twitter_bearer_token="hush-too")
    assert repr(credentials) == "Credentials(reddit='set', twitter='set', twitter_daily_reads=200)"
    assert "hush" not in repr(list(credentials.__rich_repr__()))
    assert "not set" in repr(Credentials(reddit_client_id="id"))


async def test_validators_are_not_sent_to_new_url() -> None:
    """After a change of URL, the old URL's date could make the new server answer 304."""
    web = FakeFetcher()
    feed = "<rss version='2.0'><channel><title>T</title><item><title>A</title><guid>1</guid></item></channel></rss>"
    for page in ("a", "b"):
        web.put(f"https://blog.example/{page}", feed, etag='"1"', last_modified="Sat, 21 Nov 2026 11:00:00 GMT")
    first = await web.read(make_spec(RSS, "https://blog.example/a"))
    second = await web.read(make_spec(RSS, "https://blog.example/b"), next_state(first))
    third = await web.read(make_spec(RSS, "https://blog.example/b"), next_state(second))
    assert "if-none-match" not in web.requests[1].headers
    assert "if-modified-since" not in web.requests[1].headers
    assert web.requests[2].headers["if-none-match"] == '"1"'
    assert [result.unchanged for result in (first, second, third)] == [False, False, True]
