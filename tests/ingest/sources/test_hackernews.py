"""Tests for Hacker News sources: Algolia searches, and lists from Firebase."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from copydesk.errors import NotAFeedError, RateLimitedError, ResponseStatusError
from copydesk.model.source import FetchState, SourceSpec
from fake_fetcher import HOSTILE_TITLE, NOW, FakeFetcher, make_spec, next_state

SITE = "https://news.ycombinator.com"
ALGOLIA = "https://hn.algolia.com/api/v1/search_by_date"
FIREBASE = "https://hacker-news.firebaseio.com/v0"
FRONT_PAGE = f"{ALGOLIA}?tags=front_page&hitsPerPage=100"
NOW_SECONDS = int(NOW.timestamp())
MONTH_AGO = NOW_SECONDS - 30 * 86_400
TWO_DAYS_AGO = NOW_SECONDS - 2 * 86_400
HIT: dict[str, Any] = {
    "objectID": "48210001",
    "title": "SQLite is enough",
    "url": "https://blog.example/sqlite",
    "author": "pg",
    "points": 312,
    "num_comments": 120,
    "created_at_i": NOW_SECONDS - 600,
    "story_text": None,
    "_tags": ["story", "author_pg", "story_48210001", "front_page"],
    "_highlightResult": {"title": {"value": "<em>SQLite</em> is enough"}},
}
ITEM: dict[str, Any] = {
    "by": "dhouston",
    "descendants": 71,
    "id": 8863,
    "kids": [8952, 9224],
    "score": 111,
    "time": 1175714200,
    "title": "My YC app: Dropbox",
    "type": "story",
    "url": "http://www.getdropbox.com/u/2/screencast.html",
}


def source(url: str = f"{SITE}/", **config: Any) -> SourceSpec:
    return make_spec("hackernews", url, **config)


def search_answer(*hits: dict[str, Any], pages: int = 1, took: int = 3) -> dict[str, Any]:
    """Return Algolia's answer."""
    return {"hits": list(hits), "nbHits": len(hits), "page": 0, "nbPages": pages, "processingTimeMS": took}


def list_url(name: str, since: int = MONTH_AGO) -> str:
    return f"{ALGOLIA}?tags={name}&numericFilters=created_at_i%3E{since}&hitsPerPage=100"


async def read_hit(**hit: Any) -> Any:
    """Return the entry that is built from one hit."""
    web = FakeFetcher()
    web.put(FRONT_PAGE, search_answer(HIT | hit))
    (entry,) = (await web.read(source())).entries
    return entry


async def test_front_page_is_one_request() -> None:
    web = FakeFetcher()
    web.put(FRONT_PAGE, search_answer(HIT))
    reading = await web.read(source())
    assert web.requested_urls == [FRONT_PAGE]
    assert web.requests[0].headers["accept"] == "application/json"
    (entry,) = reading.entries
    assert (entry.ident, entry.title, entry.url) == ("48210001", "SQLite is enough", "https://blog.example/sqlite")
    assert entry.discussion == f"{SITE}/item?id=48210001"
    assert (entry.points, entry.comments, entry.author) == (312, 120, "pg")
    assert entry.published == NOW - timedelta(seconds=600)
    assert reading.cursor == {"newest": str(NOW_SECONDS - 600)}


@pytest.mark.parametrize(("list_name", "tag"), [("new", "story"), ("ask", "ask_hn"), ("show", "show_hn")])
async def test_list_is_search_by_tag(list_name: str, tag: str) -> None:
    web = FakeFetcher()
    web.put(list_url(tag), search_answer(HIT))
    await web.read(source(list=list_name))
    assert web.requested_urls == [list_url(tag)]


@pytest.mark.parametrize(("page", "tag"), [("newest", "story"), ("ask", "ask_hn"), ("show", "show_hn")])
async def test_url_can_name_the_list(page: str, tag: str) -> None:
    web = FakeFetcher()
    web.put(list_url(tag), search_answer(HIT))
    await web.read(source(f"{SITE}/{page}"))
    assert web.requested_urls == [list_url(tag)]


@pytest.mark.parametrize(("list_name", "tag"), [("top", "story"), ("ask", "ask_hn")])
async def test_query_filters_by_time_only(list_name: str, tag: str) -> None:
    """Algolia refuses to filter a search by points."""
    web = FakeFetcher()
    url = f"{ALGOLIA}?tags={tag}&query=sqlite+%26+wal&numericFilters=created_at_i%3E{MONTH_AGO}&hitsPerPage=100"
    web.put(url, search_answer(HIT))
    await web.read(source(query="sqlite & wal", list=list_name))
    assert web.requested_urls == [url]


async def test_recent_stories_are_refetched() -> None:
    """The points of stories of the last two days still change."""
    web = FakeFetcher()
    url = list_url("story", TWO_DAYS_AGO)
    web.put(url, search_answer(HIT | {"points": 400}))
    reading = await web.read(source(list="new"), FetchState(cursor={"newest": str(NOW_SECONDS - 600)}))
    assert web.requested_urls == [url]
    assert reading.entries[0].points == 400


async def test_all_pages_are_read_after_pause() -> None:
    web = FakeFetcher()
    newest = NOW_SECONDS - 5 * 86_400
    url = list_url("story", newest)
    web.put(url, search_answer(HIT | {"objectID": "3", "created_at_i": newest + 30}, pages=9))
    web.put(f"{url}&page=1", search_answer(HIT | {"objectID": "2", "created_at_i": newest + 20}, pages=9))
    web.put(f"{url}&page=2", search_answer(HIT | {"objectID": "1", "created_at_i": newest}, pages=9))
    reading = await web.read(source(list="new"), FetchState(cursor={"newest": str(newest)}))
    assert [entry.ident for entry in reading.entries] == ["3", "2", "1"]
    assert (len(web.requests), reading.cursor["newest"]) == (3, str(newest + 30))


async def test_same_stories_are_unchanged() -> None:
    """The answers differ only in how long the search took."""
    web = FakeFetcher()
    web.put(FRONT_PAGE, search_answer(HIT, took=3))
    web.put(FRONT_PAGE, search_answer(HIT, took=4))
    web.put(FRONT_PAGE, search_answer(HIT | {"points": 313}, took=4))
    first = await web.read(source())
    second = await web.read(source(), next_state(first))
    third = await web.read(source(), next_state(second))
    assert [(result.unchanged, len(result.entries)) for result in (first, second, third)] == [
        (False, 1),
        (True, 0),
        (False, 1),
    ]


async def test_question_without_link_is_its_discussion() -> None:
    entry = await read_hit(url=None, story_text="<p>What do you use?<p>I use &quot;vi&quot;. <a href='x'>x</a>")
    assert entry.url == entry.discussion == f"{SITE}/item?id=48210001"
    assert entry.text == 'What do you use?\n\nI use "vi". x'


async def test_best_list_comes_from_firebase() -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", [8863])
    web.put(f"{FIREBASE}/item/8863.json", ITEM)
    reading = await web.read(source(list="best"))
    (entry,) = reading.entries
    assert (entry.ident, entry.title) == ("8863", "My YC app: Dropbox")
    assert entry.url == "http://www.getdropbox.com/u/2/screencast.html"
    assert (entry.points, entry.comments, entry.author) == (111, 71, "dhouston")
    assert entry.published == datetime(2007, 4, 4, 19, 16, 40, tzinfo=UTC)
    assert len(web.requests) == 2


async def test_list_falls_back_to_firebase() -> None:
    """The cursor must not move backwards."""
    web = FakeFetcher()
    web.put(list_url("story", TWO_DAYS_AGO), "down", status=500)
    web.put(f"{FIREBASE}/newstories.json", [8863])
    web.put(f"{FIREBASE}/item/8863.json", ITEM)
    reading = await web.read(source(list="new"), FetchState(cursor={"newest": str(NOW_SECONDS - 60)}))
    assert [entry.ident for entry in reading.entries] == ["8863"]
    assert reading.cursor["newest"] == str(NOW_SECONDS - 60)


async def test_search_has_no_fallback() -> None:
    web = FakeFetcher()
    url = f"{ALGOLIA}?tags=story&query=a&numericFilters=created_at_i%3E{MONTH_AGO}&hitsPerPage=100"
    web.put(url, {"code": 400, "message": "invalid numeric attribute(points)"}, status=400)
    with pytest.raises(ResponseStatusError):
        await web.read(source(query="a"))


async def test_firebase_reads_at_most_thirty_stories() -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", list(range(1, 501)))
    for number in range(1, 501):
        web.put(f"{FIREBASE}/item/{number}.json", ITEM | {"id": number})
    reading = await web.read(source(list="best"))
    assert len(reading.entries) == 30
    assert len(web.requests) == 31


async def test_failed_story_is_skipped_and_retried() -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", [1, 2, 3], etag='"same"')
    web.put(f"{FIREBASE}/item/1.json", ITEM | {"id": 1})
    web.put(f"{FIREBASE}/item/2.json", "down", status=500)
    web.put(f"{FIREBASE}/item/3.json", "<html>")
    first = await web.read(source(list="best"))
    assert [entry.ident for entry in first.entries] == ["1"]
    second = await web.read(source(list="best"), next_state(first))
    assert not second.unchanged


async def test_unchanged_firebase_list_is_not_read() -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", [1], etag='"same"')
    web.put(f"{FIREBASE}/item/1.json", ITEM | {"id": 1})
    first = await web.read(source(list="best"))
    second = await web.read(source(list="best"), next_state(first))
    assert (second.unchanged, len(web.requests)) == (True, 3)


async def test_firebase_without_stories_raises_the_cause() -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", [1])
    web.put(f"{FIREBASE}/item/1.json", "later", status=429)
    with pytest.raises(RateLimitedError):
        await web.read(source(list="best"))


@pytest.mark.parametrize(
    "item", [None, ITEM | {"type": "job"}, ITEM | {"dead": True}, ITEM | {"deleted": True}, ITEM | {"title": None}]
)
async def test_non_stories_are_skipped(item: Any) -> None:
    web = FakeFetcher()
    web.put(f"{FIREBASE}/beststories.json", [1])
    web.put(f"{FIREBASE}/item/1.json", item)
    result = await web.read(source(list="best"))
    assert result.entries == ()
    assert result.removed == ((str(item["id"]),) if item and (item.get("dead") or item.get("deleted")) else ())


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"hits": null}', b'{"hits": {"a": 1}}', b'{"hits": [7]}']
)
async def test_malformed_answer_is_not_a_feed(body: bytes) -> None:
    web = FakeFetcher()
    web.put(f"{ALGOLIA}?tags=story&query=a&numericFilters=created_at_i%3E{MONTH_AGO}&hitsPerPage=100", body)
    with pytest.raises(NotAFeedError):
        await web.read(source(query="a"))
    web.put(f"{FIREBASE}/beststories.json", body if body != b"[]" else b"[null]")
    with pytest.raises(NotAFeedError):
        await web.read(source(list="best"))


async def test_malformed_hit_is_skipped() -> None:
    web = FakeFetcher()
    bad: list[Any] = [
        None,
        {},
        {"objectID": "../1", "title": "a"},
        HIT | {"objectID": "9" * 5000},
        HIT | {"title": None},
    ]
    web.put(FRONT_PAGE, search_answer(*bad, HIT))
    assert [entry.ident for entry in (await web.read(source())).entries] == ["48210001"]


async def test_hostile_values_are_sanitized() -> None:
    entry = await read_hit(
        title=HOSTILE_TITLE + "a" * 100_000,
        url="javascript:alert(1)",
        author=None,
        points="312",
        num_comments=10**15,
        created_at_i=1e18,
        story_text="<script>x</script>" + "<p>" * 100_000,
    )
    assert "\x1b" not in entry.title
    assert len(entry.title) < 2_000
    assert entry.url == entry.discussion
    assert (entry.points, entry.comments, entry.author) == (312, 1_000_000_000, None)
    assert (entry.published, entry.text) == (None, "")


async def test_future_date_does_not_move_cursor() -> None:
    web = FakeFetcher()
    web.put(FRONT_PAGE, search_answer(HIT | {"created_at_i": NOW_SECONDS + 10**8}, HIT))
    assert (await web.read(source())).cursor == {"newest": str(NOW_SECONDS - 600)}
