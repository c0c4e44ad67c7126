"""Property tests for all source types, and a simulation that no post on X is lost."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.errors import FetchError, InvalidError, RateLimitedError, UnreachableError
from copydesk.ingest.fetch_context import Credentials, FetchResult
from copydesk.ingest.registry import SOURCE_TYPES, fetch_source, normalize_url
from copydesk.model.source import FetchState, SourceConfig
from copydesk.network.fetcher import Fetcher
from copydesk.network.response import Response
from fake_fetcher import NOW, make_spec, next_state
from sampling import sample_size

ADDRESSES = {
    "rss": "https://blog.example/feed",
    "twitter": "https://x.com/NAME",
    "reddit": "https://www.reddit.com/r/Python/",
    "hackernews": "https://news.ycombinator.com/",
    "google_news": "https://news.google.com/rss",
    "substack": "https://letter.substack.com/feed",
}
ALL_CREDENTIALS = Credentials(reddit_client_id="id", reddit_client_secret="secret", twitter_bearer_token="token")

hosts = st.sampled_from([urlsplit(address).netloc for address in ADDRESSES.values()])
typed_urls = st.text(max_size=60) | st.builds("https://{}/{}".format, hosts, st.text(max_size=40))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
names = st.sampled_from(
    ["data", "id", "text", "meta", "errors", "hits", "objectID", "title", "url", "children", "name", "access_token"]
)
answers = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6))


@pytest.mark.parametrize("type", list(SOURCE_TYPES))
@given(typed=typed_urls)
def test_url_is_refused_or_normalized(type: str, typed: str) -> None:
    try:
        normalized = normalize_url(type, typed, SourceConfig())
    except InvalidError:
        return
    assert normalize_url(type, normalized, SourceConfig()) == normalized
    assert normalized.startswith(("https://", "http://"))


@pytest.mark.parametrize("credentials", [Credentials(), ALL_CREDENTIALS], ids=["nothing set", "all set"])
@pytest.mark.parametrize("type", list(SOURCE_TYPES))
@settings(max_examples=sample_size(30), deadline=None)
@given(body=st.binary(max_size=60) | answers.map(lambda value: json.dumps(value).encode()))
def test_any_answer_is_result_or_fetch_error(type: str, credentials: Credentials, body: bytes) -> None:
    async def fetch() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
        http = Fetcher(clock=lambda: NOW, transport=transport)
        with contextlib.suppress(FetchError):
            await fetch_source(make_spec(type, ADDRESSES[type]), FetchState(), http, credentials=credentials, now=NOW)

    asyncio.run(fetch())


class FakeX:
    """An X account that keeps posting, behind an API that fails now and then."""

    def __init__(self) -> None:
        self.newest_id = 30
        """The newest post id; all lower ids are posts too."""
        self.failures: list[bool] = []
        """One flag per coming request: True fails it."""

    async def get(self, url: str, **_: object) -> Response:
        if self.failures and self.failures.pop(0):
            raise UnreachableError
        parts = urlsplit(url)
        if "/by/username/" in parts.path:
            return self._answer({"data": {"id": "1"}})
        params = {name: values[0] for name, values in parse_qs(parts.query).items()}
        since, until = int(params.get("since_id", 0)), int(params.get("until_id", self.newest_id + 1))
        start, size = int(params.get("pagination_token", 0)), int(params["max_results"])
        post_ids = list(range(until - 1, since, -1))
        meta = {"next_token": str(start + size)} if start + size < len(post_ids) else {}
        page = [{"id": str(number), "text": "post"} for number in post_ids[start : start + size]]
        return self._answer({"data": page, "meta": meta} if page else {"meta": meta})

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Response:
        raise AssertionError(url)

    def _answer(self, value: object) -> Response:
        return Response(url="https://api.x.com/", status=200, body=json.dumps(value).encode())


steps = st.lists(
    st.tuples(st.integers(0, 250), st.integers(0, 30), st.lists(st.booleans(), max_size=8)), min_size=1, max_size=8
)


@settings(max_examples=sample_size(60), deadline=None)
@given(steps=steps, budget=st.integers(7, 300))
def test_no_post_lost_and_budget_respected(steps: list[tuple[int, int, list[bool]]], budget: int) -> None:
    """A step is a number of new posts, hours until the next fetch, and which requests fail."""
    asyncio.run(_simulate(steps, budget))


async def _simulate(steps: list[tuple[int, int, list[bool]]], budget: int) -> None:
    server, state, now = FakeX(), FetchState(), NOW
    read_ids: set[int] = set()
    first_id: int | None = None
    reads_by_day: dict[str, int] = {}

    async def fetch() -> FetchResult | None:
        nonlocal state, first_id
        try:
            reading = await fetch_source(
                make_spec("twitter", "https://x.com/NAME"),
                state,
                server,
                credentials=Credentials(twitter_bearer_token="token", twitter_daily_reads=budget),
                now=now,
            )
        except (RateLimitedError, UnreachableError):
            return None
        state = next_state(reading)
        new_ids = {int(entry.ident) for entry in reading.entries}
        first_id = min(new_ids) if first_id is None and new_ids else first_id
        read_ids.update(new_ids)
        day = now.date().isoformat()
        reads_by_day[day] = reads_by_day.get(day, 0) + len(new_ids)
        return reading

    for posts, hours, failures in steps:
        server.newest_id += posts
        server.failures = failures
        now += timedelta(hours=hours)
        await fetch()
    server.failures = []
    for _ in range(2_000):
        now += timedelta(days=1)
        reading = await fetch()
        if reading is not None and reading.unchanged and "gap_until" not in state.cursor:
            break
    assert first_id is not None
    assert set(range(first_id, server.newest_id + 1)) <= read_ids
    assert max(reads_by_day.values()) <= budget
