"""The sample's servers, asked by a plain HTTP client as the real ones would be."""

import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from copydesk import sample
from copydesk.errors import UnreachableError
from sample_answers import NOW

SEARCH = "https://hn.algolia.com/api/v1/search_by_date"
FIREBASE = "https://hacker-news.firebaseio.com/v0"
USER = "9000000000000000001"
POSTS = f"https://api.x.com/2/users/{USER}/tweets"
TOKEN = {"Authorization": f"Bearer {sample.BEARER}"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=sample.transport(NOW)) as client:
        yield client


async def json_of(client: httpx.AsyncClient, url: str, **query: Any) -> Any:
    answer = await client.get(url, params=query or None, headers=TOKEN)
    assert answer.status_code == 200
    return answer.json()


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
async def test_each_feed_is_where_its_reader_looks_for_it(
    client: httpx.AsyncClient, url: str, content_type: str, holds: str
) -> None:
    answer = await client.get(url)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == content_type
    assert holds in answer.text


async def test_what_is_known_is_not_sent_again(client: httpx.AsyncClient) -> None:
    url = "https://harbour-notes.example/feed.json"
    first = await client.get(url)
    for header, validator in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")]:
        again = await client.get(url, headers={header: first.headers[validator]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]


async def test_the_etag_decides_where_both_validators_are_sent(client: httpx.AsyncClient) -> None:
    url = "https://harbour-notes.example/feed.json"
    first = await client.get(url)
    mixed = {"If-None-Match": '"another"', "If-Modified-Since": first.headers["Last-Modified"]}
    assert (await client.get(url, headers=mixed)).status_code == 200


async def test_an_hour_later_the_feeds_are_others(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    first = await client.get(url)
    async with httpx.AsyncClient(transport=sample.transport(NOW + timedelta(hours=1))) as later:
        again = await later.get(url, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 200


async def test_the_same_now_gives_the_same_bytes(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    bodies = []
    async with httpx.AsyncClient(transport=sample.transport(NOW)) as other:
        for asked in (client, other):
            async with asked.stream("GET", url) as answer:
                bodies.append(b"".join([chunk async for chunk in answer.aiter_raw()]))
                assert len(bodies[-1]) == int(answer.headers["Content-Length"])
    assert bodies[0] == bodies[1]
    assert bodies[0][4:8] == bytes(4), "gzip's own time of packing"


async def test_the_lighthouse_is_zipped_for_who_can_unzip(client: httpx.AsyncClient) -> None:
    url = "https://lighthouse.example/feed.xml"
    zipped = await client.get(url)
    plain = await client.get(url, headers={"Accept-Encoding": "identity"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert zipped.text == plain.text
    assert int(zipped.headers["Content-Length"]) < int(plain.headers["Content-Length"])


async def test_small_hours_has_moved_for_good(client: httpx.AsyncClient) -> None:
    answer = await client.get("https://smallhours.example/feed")
    assert answer.status_code == 301
    assert answer.headers["Location"] == "https://smallhours.example/atom.xml"


async def test_signal_mast_is_down(client: httpx.AsyncClient) -> None:
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
async def test_a_path_that_is_not_there_is_404(client: httpx.AsyncClient, url: str) -> None:
    assert (await client.get(url, headers=TOKEN)).status_code == 404


async def test_a_host_that_is_not_there_cannot_be_reached(client: httpx.AsyncClient) -> None:
    with pytest.raises(UnreachableError, match="the sample desk reads only its own sources"):
        await client.get("https://elsewhere.example/")


async def test_only_reading_is_allowed_and_a_head_has_no_body(client: httpx.AsyncClient) -> None:
    url = "https://papertrail.example/"
    assert (await client.post(url)).status_code == 405
    head = await client.head(url)
    assert (head.status_code, head.content) == (200, b"")


async def test_hacker_news_is_searched_newest_first_with_points_and_comments(client: httpx.AsyncClient) -> None:
    hits = (await json_of(client, SEARCH, tags="story"))["hits"]
    times = [hit["created_at_i"] for hit in hits]
    assert len(hits) == 7
    assert times == sorted(times, reverse=True)
    assert (hits[0]["points"], hits[0]["num_comments"]) == (641, 212)


async def test_hacker_news_filters_by_time_tags_and_words(client: httpx.AsyncClient) -> None:
    async def ids(**query: Any) -> list[str]:
        return [hit["objectID"] for hit in (await json_of(client, SEARCH, **query))["hits"]]

    day_ago = int((NOW - timedelta(hours=24)).timestamp())
    assert len(await ids(tags="story", numericFilters=f"created_at_i>{day_ago}")) == 4
    assert len(await ids(tags="story", numericFilters=f"created_at_i<={day_ago}")) == 3
    assert await ids(tags="ask_hn") == ["900000004"]
    assert await ids(tags="story,(ask_hn,show_hn)") == ["900000006", "900000004"]
    assert "900000003" not in await ids(tags="front_page")
    assert await ids(query="feed Reader") == ["900000006"]


async def test_hacker_news_gives_pages(client: httpx.AsyncClient) -> None:
    last = await json_of(client, SEARCH, tags="story", hitsPerPage=3, page=2)
    assert (len(last["hits"]), last["nbPages"], last["nbHits"]) == (1, 3, 7)


async def test_hacker_news_refuses_to_filter_by_points(client: httpx.AsyncClient) -> None:
    answer = await client.get(SEARCH, params={"tags": "story", "numericFilters": "points>100"})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("invalid numeric attribute(points)")


async def test_firebase_lists_the_same_stories_and_gives_them_one_by_one(client: httpx.AsyncClient) -> None:
    top = await json_of(client, f"{FIREBASE}/topstories.json")
    assert top[:2] == [900000001, 900000007]
    assert 900000003 not in top
    assert (await json_of(client, f"{FIREBASE}/newstories.json"))[0] == 900000007
    assert await json_of(client, f"{FIREBASE}/showstories.json") == [900000006]
    assert await json_of(client, f"{FIREBASE}/jobstories.json") == []
    asked = await json_of(client, f"{FIREBASE}/item/900000004.json")
    assert (asked["score"], asked["descendants"], asked["type"]) == (97, 118, "story")
    assert "url" not in asked
    assert asked["text"].startswith("Our changelog")
    assert await json_of(client, f"{FIREBASE}/item/1.json") is None


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer guess"}, {"Authorization": "sample"}])
async def test_x_wants_its_token(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.get(POSTS, headers=headers)
    assert (answer.status_code, answer.json()["title"]) == (401, "Unauthorized")


async def test_x_looks_an_account_up_by_its_name(client: httpx.AsyncClient) -> None:
    found = await json_of(client, "https://api.x.com/2/users/by/username/QuarrystoneDB")
    assert found["data"]["id"] == USER
    missing = await json_of(client, "https://api.x.com/2/users/by/username/nobody")
    assert "data" not in missing
    assert missing["errors"][0]["title"] == "Not Found Error"


async def test_x_gives_only_what_is_newer_and_asked_for(client: httpx.AsyncClient) -> None:
    everything = await json_of(client, POSTS)
    ids = [post["id"] for post in everything["data"]]
    assert everything["meta"] == {"result_count": 4, "newest_id": ids[0], "oldest_id": ids[-1]}
    assert ids == sorted(ids, key=int, reverse=True)
    newer = await json_of(client, POSTS, since_id=ids[1])
    assert [post["id"] for post in newer["data"]] == ids[:1]
    between = await json_of(client, POSTS, since_id=ids[3], until_id=ids[1])
    assert [post["id"] for post in between["data"]] == ids[2:3]
    recent = await json_of(client, POSTS, start_time="2026-11-20T00:00:00Z")
    assert [post["id"] for post in recent["data"]] == ids[:1]
    own = await json_of(client, POSTS, exclude="retweets,replies")
    assert [post["id"] for post in own["data"]] == [ids[0], ids[1], ids[3]]
    assert await json_of(client, POSTS, since_id=ids[0]) == {"meta": {"result_count": 0}}


async def test_x_gives_pages(client: httpx.AsyncClient) -> None:
    first = await json_of(client, POSTS, max_results=3)
    rest = await json_of(client, POSTS, max_results=3, pagination_token=first["meta"]["next_token"])
    assert (len(first["data"]), len(rest["data"])) == (3, 1)
    assert "next_token" not in rest["meta"]


def test_the_list_of_sources_is_read_without_an_http_client() -> None:
    code = "import sys, copydesk.sample; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
