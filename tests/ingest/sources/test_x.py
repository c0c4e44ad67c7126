"""Tests for X accounts over API v2, where every post read costs money."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from copydesk.errors import (
    FetchError,
    LoginRequiredError,
    NotAFeedError,
    PageNotFoundError,
    RateLimitedError,
    ResponseStatusError,
    UnreachableError,
)
from copydesk.ingest.fetch_context import FetchResult
from copydesk.model.source import FetchState, SourceSpec
from fake_fetcher import HOSTILE_TITLE, NOW, FakeFetcher, make_spec, next_state

API = "https://api.x.com/2"
LOOKUP = f"{API}/users/by/username/XDevelopers"
FIELDS = "tweet.fields=created_at,public_metrics,entities,lang,note_tweet"
DEFAULT_QUERY = f"exclude=replies,retweets&{FIELDS}"
TOKEN = "hush"
ACCOUNT = {"data": {"id": "2244994945", "name": "X Developers", "username": "XDevelopers"}}
POST: dict[str, Any] = {
    "id": "1990000000000000002",
    "author_id": "2244994945",
    "created_at": "2026-11-18T11:58:00.000Z",
    "lang": "en",
    "text": "SQLite is enough &amp; fast https://t.co/abc",
    "edit_history_tweet_ids": ["1990000000000000002"],
    "public_metrics": {"retweet_count": 12, "reply_count": 3, "like_count": 140, "quote_count": 2},
    "entities": {"urls": [{"url": "https://t.co/abc", "expanded_url": "https://blog.example/sqlite"}]},
}


def source(**config: Any) -> SourceSpec:
    return make_spec("twitter", "https://x.com/XDevelopers", **config)


def timeline(query: str) -> str:
    return f"{API}/users/2244994945/tweets?{query}"


def posts_page(*ids: int, token: str | None = None) -> dict[str, Any]:
    """Return a page of posts, newest first."""
    posts = [{"id": str(number), "text": f"Post {number}"} for number in ids]
    meta = {"result_count": len(ids), **({"next_token": token} if token else {})}
    return {"data": posts, "meta": meta} if posts else {"meta": meta}


def saved_state(newest: int = 10, **more: str) -> FetchState:
    """Return the state stored by an earlier fetch."""
    return FetchState(cursor={"name": "XDevelopers", "user_id": "2244994945", "newest_id": str(newest), **more})


async def read(web: FakeFetcher, state: FetchState | None = None, budget: int = 200, **config: Any) -> FetchResult:
    return await web.read(source(**config), state, twitter_bearer_token=TOKEN, twitter_daily_reads=budget)


async def read_post(**post: Any) -> Any:
    """Return the entry that is built from one post."""
    web = FakeFetcher()
    web.put(
        timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), {"data": [POST | post], "meta": {"result_count": 1}}
    )
    (entry,) = (await read(web, saved_state())).entries
    return entry


async def test_first_fetch_resolves_account() -> None:
    web = FakeFetcher()
    web.put(LOOKUP, ACCOUNT)
    web.put(
        timeline(f"max_results=20&{DEFAULT_QUERY}"), {"data": [POST], "meta": {"result_count": 1, "next_token": "more"}}
    )
    reading = await read(web)
    assert web.requested_urls == [LOOKUP, timeline(f"max_results=20&{DEFAULT_QUERY}")]
    assert {request.headers["authorization"] for request in web.requests} == {"Bearer hush"}
    assert {request.headers["accept"] for request in web.requests} == {"application/json"}
    assert len(web.requests) == 2
    assert reading.cursor == {
        "name": "XDevelopers",
        "user_id": "2244994945",
        "newest_id": "1990000000000000002",
        "reads_day": "2026-11-21",
        "reads": "3",
    }


async def test_linked_page_is_url_and_post_is_discussion() -> None:
    entry = await read_post()
    assert entry.ident == "1990000000000000002"
    assert entry.title == "SQLite is enough & fast"
    assert entry.text == "SQLite is enough & fast https://blog.example/sqlite"
    assert entry.url == "https://blog.example/sqlite"
    assert entry.discussion == "https://x.com/XDevelopers/status/1990000000000000002"
    assert entry.author == "@XDevelopers"
    assert entry.published == datetime(2026, 11, 18, 11, 58, tzinfo=UTC)
    assert (entry.points, entry.comments, entry.language) == (154, 3, "en")


async def test_post_without_link_is_its_own_page() -> None:
    entry = await read_post(text="Just a thought.", entities=None, public_metrics=None, lang="und")
    assert entry.url == entry.discussion == "https://x.com/XDevelopers/status/1990000000000000002"
    assert (entry.points, entry.comments, entry.language) == (None, None, None)


async def test_own_photo_and_quoted_post_are_not_links() -> None:
    links = [
        {"url": "https://t.co/pic", "expanded_url": "https://x.com/XDevelopers/status/1/photo/1"},
        {"url": "https://t.co/quo", "expanded_url": "https://twitter.com/other/status/2"},
    ]
    entry = await read_post(text="Look https://t.co/quo https://t.co/pic", entities={"urls": links})
    assert entry.url == entry.discussion
    assert entry.text == "Look https://twitter.com/other/status/2"


async def test_netflix_is_not_mistaken_for_x() -> None:
    links = [{"url": "https://t.co/abc", "expanded_url": "https://www.netflix.com/title"}]
    assert (await read_post(entities={"urls": links})).url == "https://www.netflix.com/title"


async def test_long_post_uses_full_text() -> None:
    note = {"text": "The whole of it.\n\nSecond paragraph.", "entities": {"urls": None}}
    entry = await read_post(text="The whole…", note_tweet=note)
    assert entry.text == "The whole of it.\n\nSecond paragraph."
    assert entry.title == "The whole of it."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("First line\nSecond line", "First line"),
        ("https://t.co/abc", "SQLite, explained"),
        ("One. " * 30, " ".join(["One."] * 24)),
        ("word " * 40, " ".join(["word"] * 23) + "…"),
        ("x" * 300, "x" * 119 + "…"),
    ],
)
async def test_title_is_first_line_or_truncated(text: str, title: str) -> None:
    links = [{"url": "https://t.co/abc", "expanded_url": "https://blog.example/s", "title": "SQLite, explained"}]
    assert (await read_post(text=text, entities={"urls": links})).title == title


async def test_second_fetch_requests_only_newer_posts() -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), posts_page(12, 11))
    reading = await read(web, saved_state())
    assert [entry.ident for entry in reading.entries] == ["12", "11"]
    assert (reading.cursor["newest_id"], reading.cursor["reads"], len(web.requests)) == ("12", "2", 1)


async def test_answer_without_data_means_unchanged() -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), {"meta": {"result_count": 0}})
    reading = await read(web, saved_state())
    assert (reading.entries, reading.unchanged, reading.cursor["newest_id"]) == ((), True, "10")


@pytest.mark.parametrize(
    ("config", "exclude"),
    [
        ({"replies": True}, "exclude=retweets&"),
        ({"reposts": True}, "exclude=replies&"),
        ({"replies": True, "reposts": True}, ""),
    ],
)
async def test_replies_and_reposts_follow_config(config: dict[str, bool], exclude: str) -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{exclude}{FIELDS}&since_id=10")
    web.put(url, posts_page())
    await read(web, saved_state(), **config)
    assert web.requested_urls == [url]


async def test_all_pages_are_read_after_pause() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(16, 15, token="p2"))
    web.put(f"{url}&pagination_token=p2", posts_page(14, 13, token="p3"))
    web.put(f"{url}&pagination_token=p3", posts_page(12, 11))
    reading = await read(web, saved_state())
    assert [entry.ident for entry in reading.entries] == ["16", "15", "14", "13", "12", "11"]
    assert (reading.cursor["newest_id"], len(web.requests)) == ("16", 3)
    assert "gap_until" not in reading.cursor


async def test_gap_after_failed_page_is_read_next() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(16, 15, token="p2"))
    web.put(f"{url}&pagination_token=p2", "down", status=500)
    first = await read(web, saved_state())
    assert (first.cursor["newest_id"], first.cursor["gap_since"], first.cursor["gap_until"]) == ("16", "10", "15")

    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=16"), posts_page(17))
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10&until_id=15"), posts_page(14, 13))
    second = await read(web, next_state(first))
    assert [entry.ident for entry in second.entries] == ["17", "14", "13"]
    assert second.cursor["newest_id"] == "17"
    assert "gap_until" not in second.cursor


async def test_at_most_five_pages_per_fetch() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(99, token="p"))
    web.put(f"{url}&pagination_token=p", posts_page(98, token="p"))
    reading = await read(web, saved_state())
    assert (len(web.requests), reading.cursor["gap_since"], reading.cursor["gap_until"]) == (5, "10", "98")


async def test_pages_of_excluded_posts_do_not_count() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(token="p1"))
    for number in range(1, 7):
        web.put(f"{url}&pagination_token=p{number}", posts_page(token=f"p{number + 1}"))
    web.put(f"{url}&pagination_token=p7", posts_page(12, 11))
    reading = await read(web, saved_state())
    assert [entry.ident for entry in reading.entries] == ["12", "11"]
    assert (reading.cursor["newest_id"], len(web.requests)) == ("12", 8)


async def test_endless_empty_pages_end() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(token="p"))
    web.put(f"{url}&pagination_token=p", posts_page(token="p"))
    reading = await read(web, saved_state())
    assert (len(web.requests), reading.unchanged, reading.cursor["newest_id"]) == (32, True, "10")


async def test_unreadable_gap_is_retained() -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=16"), posts_page(17))
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10&until_id=15"), "down", status=500)
    reading = await read(web, saved_state(16, gap_since="10", gap_until="15"))
    assert [entry.ident for entry in reading.entries] == ["17"]
    assert (reading.cursor["gap_since"], reading.cursor["gap_until"]) == ("10", "15")


async def test_second_gap_is_merged_with_first() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=16")
    web.put(url, posts_page(30, 29, token="p2"))
    web.put(f"{url}&pagination_token=p2", "down", status=500)
    reading = await read(web, saved_state(16, gap_since="10", gap_until="15"))
    assert (reading.cursor["newest_id"], reading.cursor["gap_since"], reading.cursor["gap_until"]) == ("30", "10", "29")


async def test_gap_waits_for_next_days_budget() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=6&{DEFAULT_QUERY}&since_id=16")
    web.put(url, posts_page(18, 17))
    reading = await read(web, saved_state(16, gap_since="10", gap_until="15", reads_day="2026-11-21", reads="194"))
    assert web.requested_urls == [url]
    assert (reading.cursor["gap_since"], reading.cursor["gap_until"]) == ("10", "15")


async def test_account_is_resolved_once_per_name() -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), posts_page())
    await read(web, saved_state())
    assert LOOKUP not in web.requested_urls

    web.put(f"{API}/users/by/username/Other", {"data": {"id": "7"}})
    web.put(f"{API}/users/7/tweets?max_results=20&{DEFAULT_QUERY}", posts_page(3))
    other = make_spec("twitter", "https://x.com/Other")
    reading = await web.read(other, saved_state(), twitter_bearer_token=TOKEN)
    assert (reading.cursor["user_id"], reading.cursor["newest_id"]) == ("7", "3")


async def test_missing_token_sends_no_request() -> None:
    web = FakeFetcher()
    with pytest.raises(LoginRequiredError, match="COPYDESK_TWITTER__BEARER_TOKEN"):
        await web.read(source())
    assert web.requests == []


@pytest.mark.parametrize(("budget", "spent"), [(200, 200), (200, 197), (0, 0), (4, 0)])
async def test_spent_budget_blocks_until_midnight(budget: int, spent: int) -> None:
    web = FakeFetcher()
    with pytest.raises(RateLimitedError, match=r"twitter\.daily_read_budget") as refusal:
        await read(web, saved_state(reads_day="2026-11-21", reads=str(spent)), budget)
    assert refusal.value.retry_after == timedelta(hours=12).total_seconds()
    assert web.requests == []


async def test_first_fetch_budget_includes_lookup() -> None:
    web = FakeFetcher()
    with pytest.raises(RateLimitedError):
        await read(web, None, 6)
    assert web.requests == []


async def test_budget_resets_daily() -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), posts_page(11))
    reading = await read(web, saved_state(reads_day="2026-11-20", reads="200"))
    assert (reading.cursor["reads_day"], reading.cursor["reads"]) == ("2026-11-21", "1")


async def test_page_size_is_limited_by_budget() -> None:
    web = FakeFetcher()
    url = timeline(f"max_results=7&{DEFAULT_QUERY}&since_id=10")
    web.put(url, posts_page(13, 12, 11, token="p2"))
    reading = await read(web, saved_state(reads_day="2026-11-21", reads="193"))
    assert web.requested_urls == [url]
    assert (reading.cursor["reads"], reading.cursor["gap_until"]) == ("196", "11")


async def test_lookup_cost_is_saved_when_posts_fail() -> None:
    web = FakeFetcher()
    web.put(LOOKUP, ACCOUNT)
    web.put(timeline(f"max_results=20&{DEFAULT_QUERY}"), "down", status=503)
    reading = await read(web)
    assert isinstance(reading.error, FetchError)
    assert (reading.cursor["user_id"], reading.cursor["reads"]) == ("2244994945", "2")
    with pytest.raises(FetchError):
        await read(web, next_state(reading))
    assert web.requested_urls.count(LOOKUP) == 1


async def test_unknown_account_is_missing() -> None:
    """X reports it as an error inside a response with status 200."""
    web = FakeFetcher()
    web.put(
        LOOKUP, {"errors": [{"detail": f"Could not find user with username: [{HOSTILE_TITLE}].", "title": "Not Found"}]}
    )
    with pytest.raises(PageNotFoundError, match="Could not find user") as error:
        await read(web)
    assert "\x1b" not in str(error.value)


async def test_protected_account_needs_login() -> None:
    web = FakeFetcher()
    web.put(
        timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), {"errors": [{"detail": "Not authorized to see it."}]}
    )
    with pytest.raises(LoginRequiredError, match="Not authorized"):
        await read(web, saved_state())


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (429, RateLimitedError, "usage cap"),
        (401, LoginRequiredError, "COPYDESK_TWITTER__BEARER_TOKEN"),
        (402, ResponseStatusError, "credits"),
    ],
)
async def test_refusal_names_its_cause(status: int, kind: type[FetchError], message: str) -> None:
    web = FakeFetcher()
    capped = {"title": "UsageCapExceeded", "type": "https://api.twitter.com/2/problems/usage-capped"}
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), capped, status=status)
    with pytest.raises(kind, match=message) as error:
        await read(web, saved_state())
    assert TOKEN not in str(error.value)


async def test_rate_limit_reset_sets_retry_after() -> None:
    web = FakeFetcher()
    headers = {"x_rate_limit_remaining": "0", "x_rate_limit_reset": str(int(NOW.timestamp()) + 420)}
    web.put(
        timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), {"title": "Too Many Requests"}, status=429, **headers
    )
    with pytest.raises(RateLimitedError) as error:
        await read(web, saved_state())
    assert error.value.retry_after == 420


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"data": "x"}', b"{}", b'{"data": [1, null]}', b'{"data":' + b"[" * 10**5],
)
async def test_malformed_answer_is_not_a_feed(body: bytes) -> None:
    web = FakeFetcher()
    web.put(timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"), body)
    with pytest.raises(NotAFeedError):
        await read(web, saved_state())


async def test_malformed_post_is_skipped() -> None:
    web = FakeFetcher()
    bad = [{"id": None, "text": "a"}, {"id": "../1", "text": "a"}, {"id": "13", "text": None}, {"id": "9" * 99}, 7]
    web.put(
        timeline(f"max_results=100&{DEFAULT_QUERY}&since_id=10"),
        {"data": [*bad, {"id": "11", "text": "Good"}], "meta": {}},
    )
    reading = await read(web, saved_state())
    assert [entry.title for entry in reading.entries] == ["Good"]
    assert reading.cursor["reads"] == "6"


async def test_hostile_values_are_sanitized() -> None:
    entry = await read_post(
        text=HOSTILE_TITLE + " https://t.co/abc " + "a" * 100_000,
        created_at="0001-01-01T00:00:00+14:00",
        lang=None,
        public_metrics={"like_count": "7", "retweet_count": 10**12, "reply_count": None},
        entities={"urls": [{"url": "https://t.co/abc", "expanded_url": "javascript:alert(1)"}, {"url": None}]},
    )
    assert "\x1b" not in entry.title + entry.text
    assert "\u202e" not in entry.title + entry.text
    assert "[red]" in entry.title
    assert len(entry.title) <= 120
    assert len(entry.text) <= 25_000
    assert entry.url == entry.discussion
    assert (entry.published, entry.points, entry.comments) == (None, 1_000_000_000, None)


async def test_link_expansion_cannot_inflate_text() -> None:
    links = [{"url": "https://a", "expanded_url": "https://b/" + "https://a" * 200}] * 50
    entry = await read_post(text="https://a " * 2_000, entities={"urls": links})
    assert len(entry.text) <= 25_000


async def test_network_error_is_passed_on() -> None:
    class Down(FakeFetcher):
        async def get(self, url: str, **_: Any) -> Any:
            raise UnreachableError

    with pytest.raises(UnreachableError):
        await read(Down(), saved_state())
