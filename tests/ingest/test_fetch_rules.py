"""What publishers ask of programs that read their feeds: the rules of rachelbythebay.com's "feed reader score".

A blog with a new post every three days is read for weeks of simulated time, by the client and the decisions together.
"""

from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import pairwise

from copydesk.errors import FetchError
from copydesk.ingest.decide import Fetched, after_failure, after_fetch, is_due
from copydesk.ingest.fetch import Fetcher
from copydesk.model.source import FetchState
from feed_server import FeedServer
from fetching import ANY, NOW, Clock, client

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
POSTS_EVERY = 3 * DAY
ETAG, MODIFIED = '"5f3e-62b1c;gz"', "Tue, 03 Feb 2026 09:08:07 GMT"


class Reader:
    """Reads one feed, whenever it is due, and notes when it asked."""

    def __init__(self, server: FeedServer, clock: Clock, state: FetchState) -> None:
        self.server = server
        self.clock = clock
        self.state = state
        self.times: list[datetime] = []

    async def read_for(self, span: timedelta) -> None:
        """Look every quarter of an hour whether the feed is due."""
        async with client(self.clock) as fetcher:
            end = self.clock.now + span
            while self.clock.now < end:
                if is_due(self.state, self.clock.now):
                    await self._read(fetcher)
                self.clock.forward(900)

    async def _read(self, fetcher: Fetcher) -> None:
        now, known = self.clock.now, self.state
        self.times.append(now)
        try:
            answer = await fetcher.get(
                self.server.url("/feed.xml"), accept=ANY, etag=known.etag, last_modified=known.last_modified
            )
        except FetchError as error:
            self.state = after_failure(known, error, now, 0.0)
            return
        digest = known.body_hash if answer.not_modified else blake2b(answer.body).digest()
        fetched = Fetched(
            published=() if digest == known.body_hash else self._posts(),
            etag=known.etag if answer.not_modified else answer.etag,
            last_modified=known.last_modified if answer.not_modified else answer.last_modified,
            body_hash=digest,
            fresh_for=answer.fresh_for,
        )
        self.state = after_fetch(known, fetched, None, now, 0.0)

    def _posts(self) -> tuple[datetime, ...]:
        if self.state.last_ok is not None:
            return (self.clock.now - HOUR,)
        return tuple(self.clock.now - HOUR - n * POSTS_EVERY for n in range(10))

    def pauses(self) -> list[timedelta]:
        """How long it was between two requests."""
        return [later - earlier for earlier, later in pairwise(self.times)]


async def reading(server: FeedServer, span: timedelta, state: FetchState | None = None) -> Reader:
    reader = Reader(server, Clock(), state or FetchState())
    await reader.read_for(span)
    return reader


async def test_one_request_without_conditions_and_then_only_conditional_ones() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, last_modified=MODIFIED)
        await reading(server, 9 * DAY)
    conditional = ["if-none-match" in request.headers for request in server.requests]
    assert len(conditional) > 5
    assert conditional == [False] + [True] * (len(conditional) - 1)


async def test_validators_are_echoed_exactly_and_never_invented() -> None:
    for etag, modified in [(ETAG, MODIFIED), (ETAG, None), (None, MODIFIED), (None, None)]:
        async with FeedServer() as server:
            server.serve("/feed.xml", "<feed/>", etag=etag or False, last_modified=modified)
            await reading(server, 4 * DAY)
        assert len(server.requests) > 2
        for request in server.requests[1:]:
            assert request.headers.get("if-none-match") == etag
            assert request.headers.get("if-modified-since") == modified


async def test_the_validators_of_a_new_version_replace_the_old_ones() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, last_modified=MODIFIED)
        first = await reading(server, DAY)
        server.serve("/feed.xml", "<feed>2</feed>", etag='"new"')
        await reading(server, 3 * DAY, first.state)
    assert server.requests[-1].headers["if-none-match"] == '"new"'
    assert "if-modified-since" not in server.requests[-1].headers


async def test_an_hour_passes_between_requests_and_a_day_where_there_are_no_validators() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG)
        assert min((await reading(server, 21 * DAY)).pauses()) >= HOUR
        server.serve("/feed.xml", "<feed/>", etag=False)
        assert min((await reading(server, 21 * DAY)).pauses()) >= DAY


async def test_max_age_is_honoured_also_that_of_a_304() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, headers={"Cache-Control": "max-age=259200"})
        pauses = (await reading(server, 21 * DAY)).pauses()
    assert len(pauses) > 5
    assert min(pauses) >= 3 * DAY


async def test_retry_after_is_honoured() -> None:
    async with FeedServer() as server:
        server.throttle("/feed.xml", retry_after="172800")
        pauses = (await reading(server, 9 * DAY)).pauses()
    assert len(pauses) == 4
    assert min(pauses) >= 2 * DAY


async def test_errors_are_not_answered_with_more_requests() -> None:
    async with FeedServer() as server:
        server.fail("/feed.xml", 500)
        reader = await reading(server, 14 * DAY)
    assert len(reader.times) < 20
    assert reader.pauses() == sorted(reader.pauses())


async def test_no_cookies_no_referrer_and_nothing_added_to_the_address() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG, headers={"Set-Cookie": "id=1; Path=/"})
        await reading(server, 4 * DAY)
    assert {request.target for request in server.requests} == {"/feed.xml"}
    for request in server.requests:
        assert not {"cookie", "referer", "from", "cache-control", "pragma"} & set(request.headers)
        assert request.headers["user-agent"].startswith("Copydesk/")


async def test_a_restart_does_not_ask_again() -> None:
    async with FeedServer() as server:
        server.serve("/feed.xml", "<feed/>", etag=ETAG)
        reader = Reader(server, Clock(), FetchState())
        for _ in range(8):
            await reader.read_for(HOUR)
    assert reader.times == [NOW]
