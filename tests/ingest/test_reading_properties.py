"""What holds for every source type whatever is typed and whatever is answered, and that no post of X is lost."""

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

from copydesk.errors import FetchError, InvalidError, ThrottledError, UnreachableError
from copydesk.ingest.answer import Answer
from copydesk.ingest.fetch import Fetcher
from copydesk.ingest.reading import Credentials, Reading, normalise, read_source
from copydesk.model.source import FetchState, SourceConfig, SourceType
from small_web import NOW, after, spec

ADDRESSES = {
    SourceType.RSS: "https://blog.example/feed",
    SourceType.TWITTER: "https://x.com/NAME",
    SourceType.REDDIT: "https://www.reddit.com/r/Python/",
    SourceType.HACKERNEWS: "https://news.ycombinator.com/",
    SourceType.GOOGLE_NEWS: "https://news.google.com/rss",
    SourceType.SUBSTACK: "https://letter.substack.com/feed",
}
ALL_SET = Credentials(reddit_client_id="id", reddit_client_secret="secret", twitter_bearer_token="token")

hosts = st.sampled_from([urlsplit(address).netloc for address in ADDRESSES.values()])
typed = st.text(max_size=60) | st.builds("https://{}/{}".format, hosts, st.text(max_size=40))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
names = st.sampled_from(
    ["data", "id", "text", "meta", "errors", "hits", "objectID", "title", "url", "children", "name", "access_token"]
)
answers = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6))


@pytest.mark.parametrize("type", list(SourceType))
@given(typed=typed)
def test_an_address_is_either_refused_or_in_its_final_form(type: SourceType, typed: str) -> None:
    try:
        kept = normalise(type, typed, SourceConfig())
    except InvalidError:
        return
    assert normalise(type, kept, SourceConfig()) == kept
    assert kept.startswith(("https://", "http://"))


@pytest.mark.parametrize("credentials", [Credentials(), ALL_SET], ids=["nothing set", "all set"])
@pytest.mark.parametrize("type", list(SourceType))
@settings(max_examples=30, deadline=None)
@given(body=st.binary(max_size=60) | answers.map(lambda value: json.dumps(value).encode()))
def test_whatever_is_answered_is_a_reading_or_an_error_of_ours(
    type: SourceType, credentials: Credentials, body: bytes
) -> None:
    async def look() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
        http = Fetcher(clock=lambda: NOW, transport=transport)
        with contextlib.suppress(FetchError):
            await read_source(spec(type, ADDRESSES[type]), FetchState(), http, credentials=credentials, now=NOW)

    asyncio.run(look())


class X:
    """An account on X that goes on posting, at an API that fails now and then."""

    def __init__(self) -> None:
        self.posts = 30
        """The newest id; every one below it is a post as well."""
        self.failures: list[bool] = []
        """Whether the next requests fail."""

    async def get(self, url: str, **_: object) -> Answer:
        if self.failures and self.failures.pop(0):
            raise UnreachableError
        parts = urlsplit(url)
        if "/by/username/" in parts.path:
            return self._answer({"data": {"id": "1"}})
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        since, until = int(asked.get("since_id", 0)), int(asked.get("until_id", self.posts + 1))
        start, size = int(asked.get("pagination_token", 0)), int(asked["max_results"])
        found = list(range(until - 1, since, -1))
        meta = {"next_token": str(start + size)} if start + size < len(found) else {}
        page = [{"id": str(number), "text": "post"} for number in found[start : start + size]]
        return self._answer({"data": page, "meta": meta} if page else {"meta": meta})

    async def post_form(self, url: str, data: Mapping[str, str], headers: Mapping[str, str] = {}) -> Answer:
        raise AssertionError(url)

    def _answer(self, value: object) -> Answer:
        return Answer(url="https://api.x.com/", status=200, body=json.dumps(value).encode())


steps = st.lists(
    st.tuples(st.integers(0, 250), st.integers(0, 30), st.lists(st.booleans(), max_size=8)), min_size=1, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(steps=steps, budget=st.integers(7, 300))
def test_no_post_is_lost_and_no_budget_exceeded_whatever_fails(
    steps: list[tuple[int, int, list[bool]]], budget: int
) -> None:
    """Each step: so many new posts, so many hours later, and which requests fail."""
    asyncio.run(_follow(steps, budget))


async def _follow(steps: list[tuple[int, int, list[bool]]], budget: int) -> None:
    server, state, now = X(), FetchState(), NOW
    seen: set[int] = set()
    first: int | None = None
    read_on: dict[str, int] = {}

    async def look() -> Reading | None:
        nonlocal state, first
        try:
            reading = await read_source(
                spec(SourceType.TWITTER, "https://x.com/NAME"),
                state,
                server,
                credentials=Credentials(twitter_bearer_token="token", twitter_daily_reads=budget),
                now=now,
            )
        except (ThrottledError, UnreachableError):
            return None
        state = after(reading)
        numbers = {int(entry.ident) for entry in reading.entries}
        first = min(numbers) if first is None and numbers else first
        seen.update(numbers)
        day = now.date().isoformat()
        read_on[day] = read_on.get(day, 0) + len(numbers)
        return reading

    for posts, hours, failures in steps:
        server.posts += posts
        server.failures = failures
        now += timedelta(hours=hours)
        await look()
    server.failures = []
    for _ in range(2_000):
        now += timedelta(days=1)
        reading = await look()
        if reading is not None and reading.unchanged and "gap_until" not in state.cursor:
            break
    assert first is not None
    assert set(range(first, server.posts + 1)) <= seen
    assert max(read_on.values()) <= budget
