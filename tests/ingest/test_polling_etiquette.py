"""Tests for polite polling: the rules of rachelbythebay.com's "feed reader score".

A blog with a post every three days is polled for weeks of simulated time, by the fetcher and the fetch policy together.
"""

from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import pairwise

from copydesk.errors import FetchError
from copydesk.ingest.fetch_context import FetchResult
from copydesk.ingest.fetch_policy import after_failure, after_fetch, is_due
from copydesk.model.source import FetchState
from copydesk.network.fetcher import Fetcher
from feed_server import FeedServer
from fetcher_fixtures import ANY_TYPE, NOW, FakeClock, make_fetcher

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
POST_INTERVAL = 3 * DAY
ETAG, MODIFIED = '"5f3e-62b1c;gz"', "Tue, 03 Feb 2026 09:08:07 GMT"


class FeedPoller:
    """Polls one feed whenever it is due and records the request times."""

    def __init__(self, server: FeedServer, clock: FakeClock, state: FetchState) -> None:
        self.server = server
        self.clock = clock
        self.state = state
        self.times: list[datetime] = []

    async def poll_for(self, span: timedelta) -> None:
        """Poll for `span`; check every 15 minutes whether the feed is due."""
        async with make_fetcher(self.clock) as fetcher:
            end = self.clock.now + span
            while self.clock.now < end:
                if is_due(self.state, self.clock.now):
                    await self._read(fetcher)
                self.clock.advance(900)

    async def _read(self, fetcher: Fetcher) -> None:
        now, state = self.clock.now, self.state
        self.times.append(now)
        try:
            answer = await fetcher.get(
                self.server.url("/feed.xml"), accept=ANY_TYPE, etag=state.etag, last_modified=state.last_modified
            )
        except FetchError as error:
            self.state = after_failure(state, error, now, 0.0)
            return
        digest = state.body_hash if answer.not_modified else blake2b(answer.body).digest()
        result = FetchResult(
            etag=state.etag if answer.not_modified else answer.etag,
            last_modified=state.last_modified if answer.not_modified else answer.last_modified,
            body_hash=digest,
            fresh_for=answer.fresh_for,
        )
        published = () if digest == state.body_hash else self._posts()
        self.state = after_fetch(state, result, published, None, now, 0.0)

    def _posts(self) -> tuple[datetime, ...]:
        if self.state.last_ok is not None:
            return (self.clock.now - HOUR,)
        return tuple(self.clock.now - HOUR - n * POST_INTERVAL for n in range(10))

    def intervals(self) -> list[timedelta]:
        """Return the intervals between consecutive requests."""
        return [later - earlier for earlier, later in pairwise(self.times)]


async def poll(server: FeedServer, span: timedelta, state: FetchState | None = None) -> FeedPoller:
    reader = FeedPoller(server, FakeClock(), state or FetchState())
    await reader.poll_for(span)
    return reader


async def test_requests_after_first_are_conditional() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, last_modified=MODIFIED)
        await poll(server, 9 * DAY)
    conditional = ["if-none-match" in request.headers for request in server.requests]
    assert len(conditional) > 5
    assert conditional == [False] + [True] * (len(conditional) - 1)


async def test_validators_are_echoed_exactly() -> None:
    for etag, modified in [(ETAG, MODIFIED), (ETAG, None), (None, MODIFIED), (None, None)]:
        async with FeedServer() as server:
            server.serve("/feed.xml", "<feed/>", etag=etag or False, last_modified=modified)
            await poll(server, 4 * DAY)
        assert len(server.requests) > 2
        for request in server.requests[1:]:
            assert request.headers.get("if-none-match") == etag
            assert request.headers.get("if-modified-since") == modified


async def test_new_validators_replace_old_ones() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, last_modified=MODIFIED)
        first = await poll(server, DAY)
        server.serve("/feed.xml", "<feed>2</feed>", etag='"new"')
        await poll(server, 3 * DAY, first.state)
    assert server.requests[-1].headers["if-none-match"] == '"new"'
    assert "if-modified-since" not in server.requests[-1].headers


async def test_min_interval_with_and_without_validators() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG)
        assert min((await poll(server, 21 * DAY)).intervals()) >= HOUR
        server.serve("/feed.xml", "<feed/>", etag=False)
        assert min((await poll(server, 21 * DAY)).intervals()) >= DAY


async def test_max_age_is_honoured_on_200_and_304() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, headers={"Cache-Control": "max-age=259200"})
        pauses = (await poll(server, 21 * DAY)).intervals()
    assert len(pauses) > 5
    assert min(pauses) >= 3 * DAY


async def test_retry_after_is_honoured() -> None:
    async with FeedServer() as server:
        server.throttle("/feed.xml", retry_after="172800")
        pauses = (await poll(server, 9 * DAY)).intervals()
    assert len(pauses) == 4
    assert min(pauses) >= 2 * DAY


async def test_errors_do_not_increase_request_rate() -> None:
    async with FeedServer() as server:
        server.fail("/feed.xml", 500)
        reader = await poll(server, 14 * DAY)
    assert len(reader.times) < 20
    assert reader.intervals() == sorted(reader.intervals())


async def test_requests_carry_no_cookies_or_referrer() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, headers={"Set-Cookie": "id=1; Path=/"})
        await poll(server, 4 * DAY)
    assert {request.target for request in server.requests} == {"/feed.xml"}
    for request in server.requests:
        assert not {"cookie", "referer", "from", "cache-control", "pragma"} & set(request.headers)
        assert request.headers["user-agent"].startswith("Copydesk/")


async def test_restart_does_not_refetch() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG)
        reader = FeedPoller(server, FakeClock(), FetchState())
        for _ in range(8):
            await reader.poll_for(HOUR)
    assert reader.times == [NOW]
