"""Tests for the sample servers, accessed by a plain HTTP client."""

import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from copydesk import sample
from copydesk.errors import UnreachableError
from copydesk.sample.server import SampleTransport
from sample_feed_entries import NOW

SEARCH = "https://hn.algolia.com/api/v1/search_by_date"
FIREBASE = "https://hacker-news.firebaseio.com/v0"
USER = "9000000000000000001"
POSTS = f"https://api.x.com/2/users/{USER}/tweets"
TOKEN = {"Authorization": f"Bearer {sample.BEARER}"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=SampleTransport(NOW)) as client:
        yield client


async def get_json(client: httpx.AsyncClient, url: str, **query: Any) -> Any:
    response = await client.get(url, params=query or None, headers=TOKEN)
    assert response.status_code == 200
    return response.json()


@pytest.mark.parametrize(
    ("url", "content_type", "holds"),
    [
        ("https://lighthouse.example/feed.xml", "application/rss+xml; charset=utf-8", "<rss"),
        ("https://smallhours.example/atom.xml", "application/atom+xml; charset=utf-8", "<feed"),
        ("https://harbour-notes.example/feed.json", "application/feed+json", "jsonfeed.org"),
        ("https://papertrail.example/", "text/html; charset=utf-8", 'href="/feeds/all.xml"'),
        ("https://papertrail.example/feeds/all.xml", "text/xml; charset=utf-8", "<rss"),
        ("https://fieldnotes.example/feed", "application/xml; charset=utf-8", "<generator>Substack<"),
        ("https://www.reddit.com/r/harbourdev/new/.rss", "application/atom+xml; charset=utf-8", "t3_sample1"),
        ("https://www.reddit.com/r/HarbourDev/.rss?limit=100", "application/atom+xml; charset=utf-8", "t3_sample1"),
        ("https://www.reddit.com/r/harbourdev/top/.rss?t=day", "application/atom+xml; charset=utf-8", "t3_sample1"),
        ("https://news.google.com/rss/search?q=open+source", "application/xml; charset=utf-8", "NFE/5.0"),
        ("https://news.google.com/rss?hl=en-US", "application/xml; charset=utf-8", "NFE/5.0"),
    ],
)
async def test_feed_is_served_at_its_address(
    client: httpx.AsyncClient, url: str, content_type: str, holds: str
) -> None:
    response = await client.get(url)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == content_type
    assert holds in response.text


async def test_conditional_request_returns_304(client: httpx.AsyncClient) -> None:
    url = "https://harbour-notes.example/feed.json"
    first = await client.get(url)
    for header, validator in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")]:
        second = await client.get(url, headers={header: first.headers[validator]})
        assert (second.status_code, second.content) == (304, b"")
        assert second.headers["ETag"] == first.headers["ETag"]


async def test_etag_takes_precedence_over_last_modified(client: httpx.AsyncClient) -> None:
    url = "https://harbour-notes.example/feed.json"
    first = await client.get(url)
    mixed = {"If-None-Match": '"another"', "If-Modified-Since": first.headers["Last-Modified"]}
    assert (await client.get(url, headers=mixed)).status_code == 200


async def test_feeds_change_after_an_hour(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    first = await client.get(url)
    async with httpx.AsyncClient(transport=SampleTransport(NOW + timedelta(hours=1))) as later:
        second = await later.get(url, headers={"If-None-Match": first.headers["ETag"]})
    assert second.status_code == 200


async def test_responses_are_deterministic(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    bodies = []
    async with httpx.AsyncClient(transport=SampleTransport(NOW)) as other:
        for current_client in (client, other):
            async with current_client.stream("GET", url) as response:
                bodies.append(b"".join([chunk async for chunk in response.aiter_raw()]))
                assert len(bodies[-1]) == int(response.headers["Content-Length"])
    assert bodies[0] == bodies[1]
    assert bodies[0][4:8] == bytes(4), "gzip's own time of packing"


async def test_lighthouse_feed_is_gzipped_on_request(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    zipped = await client.get(url)
    plain = await client.get(url, headers={"Accept-Encoding": "identity"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert zipped.text == plain.text
    assert int(zipped.headers["Content-Length"]) < int(plain.headers["Content-Length"])


async def test_small_hours_redirects_permanently(client: httpx.AsyncClient) -> None:
    response = await client.get("https://smallhours.example/feed")
    assert response.status_code == 301
    assert response.headers["Location"] == "https://smallhours.example/atom.xml"


async def test_signal_mast_is_unavailable(client: httpx.AsyncClient) -> None:
    assert (await client.get("https://signal-mast.example/feed.xml")).status_code == 503


@pytest.mark.parametrize(
    "url",
    [
        "https://lighthouse.example/nothing",
        "https://www.reddit.com/r/elsewhere/new/.rss",
        "https://news.google.com/articles",
        "https://hn.algolia.com/api/v1/users/pg",
        f"{FIREBASE}/user/pg.json",
        "https://api.x.com/2/users/1/tweets",
    ],
)
async def test_unknown_path_returns_404(client: httpx.AsyncClient, url: str) -> None:
    assert (await client.get(url, headers=TOKEN)).status_code == 404


async def test_unknown_host_is_unreachable(client: httpx.AsyncClient) -> None:
    with pytest.raises(UnreachableError, match="the sample desk reads only its own sources"):
        await client.get("https://elsewhere.example/")


async def test_only_get_and_head_are_allowed(client: httpx.AsyncClient) -> None:
    url = "https://papertrail.example/"
    assert (await client.post(url)).status_code == 405
    head = await client.head(url)
    assert (head.status_code, head.content) == (200, b"")


async def test_hacker_news_search_is_newest_first(client: httpx.AsyncClient) -> None:
    hits = (await get_json(client, SEARCH, tags="story"))["hits"]
    times = [hit["created_at_i"] for hit in hits]
    assert len(hits) == 7
    assert times == sorted(times, reverse=True)
    assert (hits[0]["points"], hits[0]["num_comments"]) == (641, 212)


async def test_hacker_news_filters_by_time_tags_and_query(client: httpx.AsyncClient) -> None:
    async def ids(**query: Any) -> list[str]:
        return [hit["objectID"] for hit in (await get_json(client, SEARCH, **query))["hits"]]

    day_ago = int((NOW - timedelta(hours=24)).timestamp())
    assert len(await ids(tags="story", numericFilters=f"created_at_i>{day_ago}")) == 4
    assert len(await ids(tags="story", numericFilters=f"created_at_i<={day_ago}")) == 3
    assert await ids(tags="ask_hn") == ["900000004"]
    assert await ids(tags="story,(ask_hn,show_hn)") == ["900000006", "900000004"]
    assert "900000003" not in await ids(tags="front_page")
    assert await ids(query="feed Reader") == ["900000006"]


async def test_hacker_news_search_is_paginated(client: httpx.AsyncClient) -> None:
    last = await get_json(client, SEARCH, tags="story", hitsPerPage=3, page=2)
    assert (len(last["hits"]), last["nbPages"], last["nbHits"]) == (1, 3, 7)


async def test_hacker_news_refuses_points_filter(client: httpx.AsyncClient) -> None:
    response = await client.get(SEARCH, params={"tags": "story", "numericFilters": "points>100"})
    assert response.status_code == 400
    assert response.json()["message"].startswith("invalid numeric attribute(points)")


async def test_firebase_serves_the_same_stories(client: httpx.AsyncClient) -> None:
    top = await get_json(client, f"{FIREBASE}/topstories.json")
    assert top[:2] == [900000001, 900000007]
    assert 900000003 not in top
    assert (await get_json(client, f"{FIREBASE}/newstories.json"))[0] == 900000007
    assert await get_json(client, f"{FIREBASE}/showstories.json") == [900000006]
    assert await get_json(client, f"{FIREBASE}/jobstories.json") == []
    question = await get_json(client, f"{FIREBASE}/item/900000004.json")
    assert (question["score"], question["descendants"], question["type"]) == (97, 118, "story")
    assert "url" not in question
    assert question["text"].startswith("Our changelog")
    assert await get_json(client, f"{FIREBASE}/item/1.json") is None


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer guess"}, {"Authorization": "sample"}])
async def test_x_requires_token(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    response = await client.get(POSTS, headers=headers)
    assert (response.status_code, response.json()["title"]) == (401, "Unauthorized")


async def test_x_finds_account_by_name(client: httpx.AsyncClient) -> None:
    found = await get_json(client, "https://api.x.com/2/users/by/username/QuarrystoneDB")
    assert found["data"]["id"] == USER
    missing = await get_json(client, "https://api.x.com/2/users/by/username/nobody")
    assert "data" not in missing
    assert missing["errors"][0]["title"] == "Not Found Error"


async def test_x_filters_posts(client: httpx.AsyncClient) -> None:
    all_posts = await get_json(client, POSTS)
    ids = [post["id"] for post in all_posts["data"]]
    assert all_posts["meta"] == {"result_count": 4, "newest_id": ids[0], "oldest_id": ids[-1]}
    assert ids == sorted(ids, key=int, reverse=True)
    newer = await get_json(client, POSTS, since_id=ids[1])
    assert [post["id"] for post in newer["data"]] == ids[:1]
    between = await get_json(client, POSTS, since_id=ids[3], until_id=ids[1])
    assert [post["id"] for post in between["data"]] == ids[2:3]
    recent = await get_json(client, POSTS, start_time="2026-11-20T00:00:00Z")
    assert [post["id"] for post in recent["data"]] == ids[:1]
    own = await get_json(client, POSTS, exclude="retweets,replies")
    assert [post["id"] for post in own["data"]] == [ids[0], ids[1], ids[3]]
    assert await get_json(client, POSTS, since_id=ids[0]) == {"meta": {"result_count": 0}}


async def test_x_posts_are_paginated(client: httpx.AsyncClient) -> None:
    first = await get_json(client, POSTS, max_results=3)
    rest = await get_json(client, POSTS, max_results=3, pagination_token=first["meta"]["next_token"])
    assert (len(first["data"]), len(rest["data"])) == (3, 1)
    assert "next_token" not in rest["meta"]


def test_source_list_imports_no_http_client() -> None:
    code = "import sys, copydesk.sample; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
