"""Tests for host limits: one request at a time, pauses and cooldowns."""

import asyncio
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import httpx
import pytest

from copydesk.errors import LoginRequiredError, RateLimitedError, ResponseStatusError
from feed_server import FeedServer
from fetcher_fixtures import ANY_TYPE, NOW, FakeClock, make_fetcher

RSS = b"<rss/>"


async def test_one_request_at_a_time_per_host() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.serve("/", RSS, delay=0.005)
        urls = [server.url(host=f"127.0.0.{2 + n % 3}") for n in range(12)]
        await asyncio.gather(*(fetcher.get(url, accept=ANY_TYPE) for url in urls))
    assert [server.max_concurrent[server.host(f"127.0.0.{n}")] for n in (2, 3, 4)] == [1, 1, 1]


async def test_total_concurrency_is_limited() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher(concurrency=3) as fetcher:
        busy = most = 0
        three = asyncio.Barrier(3)

        async def count(request: object, writer: asyncio.StreamWriter) -> bool:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await three.wait()
            await asyncio.sleep(0.01)  # time for an excess request to arrive
            busy -= 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return True

        server.route("/", count)
        await asyncio.gather(*(fetcher.get(server.url(host=f"127.0.0.{n}"), accept=ANY_TYPE) for n in range(2, 14)))
    assert most == 3


async def test_waiting_does_not_count_against_timeout() -> None:
    """The ten requests together take longer than the timeout of one."""
    async with FeedServer() as server, make_fetcher(timeout=2.0) as fetcher:
        server.serve("/", RSS, delay=0.21)
        answers = await asyncio.gather(*(fetcher.get(server.url(), accept=ANY_TYPE) for _ in range(10)))
    assert len(answers) == 10


async def test_host_gap_separates_requests() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        await asyncio.gather(*(fetcher.get(server.url(), accept=ANY_TYPE, host_gap=0.05) for _ in range(3)))
    assert all(later.at - earlier.at >= 0.049 for earlier, later in pairwise(server.requests))


async def test_host_gap_does_not_delay_other_hosts() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        calm, other = server.url(host="127.0.0.2"), server.url(host="127.0.0.3")
        await fetcher.get(calm, accept=ANY_TYPE, host_gap=600)
        paused = asyncio.create_task(fetcher.get(calm, accept=ANY_TYPE, host_gap=600))
        async with asyncio.timeout(60):
            await asyncio.gather(*(fetcher.get(other, accept=ANY_TYPE) for _ in range(3)))
        paused.cancel()
        await asyncio.gather(paused, return_exceptions=True)
    assert Counter(request.host for request in server.requests) == {
        server.host("127.0.0.2"): 1,
        server.host("127.0.0.3"): 3,
    }


async def test_host_gap_ends_with_time() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher, asyncio.timeout(60):
        server.serve("/", RSS)
        await fetcher.get(server.url(), accept=ANY_TYPE, host_gap=600)
        host_state = fetcher._hosts._states[server.host()]
        assert host_state.last_request_end is not None
        host_state.last_request_end -= 600  # ten minutes pass
        await fetcher.get(server.url(), accept=ANY_TYPE, host_gap=600)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [("120", 120), (None, 900), ("0", 900), ("soon", 900), ("-5", 900), ("99999999999999999999", 31 * 86400)],
)
async def test_429_cools_down_whole_host(retry_after: str | None, wait: float) -> None:
    clock = FakeClock()
    async with FeedServer() as server, make_fetcher(clock) as fetcher:
        server.throttle("/a", retry_after=retry_after)
        server.serve("/b", RSS)
        with pytest.raises(RateLimitedError) as first:
            await fetcher.get(server.url("/a"), accept=ANY_TYPE)
        clock.advance(60)
        with pytest.raises(RateLimitedError) as second:
            await fetcher.get(server.url("/b"), accept=ANY_TYPE)
        assert first.value.retry_after == wait
        assert second.value.retry_after == wait - 60
        assert fetcher.cooldowns == {server.host(): NOW + timedelta(seconds=wait)}
        assert len(server.requests) == 1

        clock.advance(wait - 60)
        assert (await fetcher.get(server.url("/b"), accept=ANY_TYPE)).body == RSS
        assert fetcher.cooldowns == {}


async def test_retry_date_is_relative_to_server_clock() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        headers = {"Date": "Sun, 01 Jan 2023 10:00:00 GMT", "Retry-After": "Sun, 01 Jan 2023 10:05:00 GMT"}
        server.fail("/", 429, headers=headers)
        with pytest.raises(RateLimitedError, match="5 minutes") as throttled:
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert throttled.value.retry_after == 300


async def test_waiting_requests_fail_on_cooldown() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.throttle("/", retry_after="60")
        results = await asyncio.gather(
            *(fetcher.get(server.url(), accept=ANY_TYPE) for _ in range(5)), return_exceptions=True
        )
    assert [type(error) for error in results] == [RateLimitedError] * 5
    assert len(server.requests) == 1


async def test_cooldown_does_not_affect_other_hosts() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.throttle("/limited")
        server.serve("/", RSS)
        with pytest.raises(RateLimitedError):
            await fetcher.get(server.url("/limited", host="127.0.0.2"), accept=ANY_TYPE)
        assert (await fetcher.get(server.url(host="127.0.0.3"), accept=ANY_TYPE)).body == RSS


async def test_cooldown_survives_restart() -> None:
    clock = FakeClock()
    async with FeedServer() as server:
        server.throttle("/", retry_after="3600")
        async with make_fetcher(clock) as fetcher:
            with pytest.raises(RateLimitedError):
                await fetcher.get(server.url(), accept=ANY_TYPE)
            saved = fetcher.cooldowns
        async with make_fetcher(clock) as restarted:
            restarted.cooldowns = saved
            with pytest.raises(RateLimitedError):
                await restarted.get(server.url(), accept=ANY_TYPE)
    assert len(server.requests) == 1


async def test_implausible_cooldown_is_dropped() -> None:
    """It was saved while the system clock was years ahead."""
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        fetcher.cooldowns = {server.host(): NOW + timedelta(days=20_000)}
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == RSS


async def test_503_with_retry_after_affects_only_url() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.throttle("/", retry_after="600", status=503)
        server.serve("/other", RSS)
        with pytest.raises(RateLimitedError, match="10 minutes") as throttled:
            await fetcher.get(server.url(), accept=ANY_TYPE)
        assert throttled.value.retry_after == 600
        assert fetcher.cooldowns == {}
        assert (await fetcher.get(server.url("/other"), accept=ANY_TYPE)).body == RSS


async def test_503_without_retry_after_is_an_error() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.fail("/", 503)
        with pytest.raises(ResponseStatusError):
            await fetcher.get(server.url(), accept=ANY_TYPE)


def fixed_response(status: int, **headers: str) -> httpx.MockTransport:
    header_map = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.MockTransport(lambda request: httpx.Response(status, content=RSS, headers=header_map))


async def test_anonymous_403_from_reddit_means_throttled() -> None:
    async with make_fetcher(transport=fixed_response(403)) as fetcher:
        with pytest.raises(RateLimitedError) as throttled:
            await fetcher.get("https://www.reddit.com/r/python/new/.rss", accept=ANY_TYPE)
        assert throttled.value.retry_after == 900
        assert list(fetcher.cooldowns) == ["www.reddit.com"]
        with pytest.raises(LoginRequiredError):
            await fetcher.get("https://oauth.reddit.com/r/x", accept=ANY_TYPE, headers={"Authorization": "Bearer t"})
        with pytest.raises(LoginRequiredError):
            await fetcher.get("https://notreddit.com/", accept=ANY_TYPE)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "240"}, 240),
        ({"x_ratelimit_remaining": "0.0", "x_ratelimit_reset": "30.5"}, 30.5),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": str(int(NOW.timestamp()) + 700)}, 700),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": str(int(NOW.timestamp()) - 700)}, 1),
        ({"x_ratelimit_remaining": "598.0", "x_ratelimit_reset": "240"}, None),
        ({"x_ratelimit_remaining": "0"}, None),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "never"}, None),
        ({"x_ratelimit_remaining": "nan", "x_ratelimit_reset": "inf"}, None),
    ],
)
async def test_exhausted_rate_limit_cools_down_host(headers: dict[str, str], wait: float | None) -> None:
    """Even though the response itself is fine."""
    async with make_fetcher(transport=fixed_response(200, **headers)) as fetcher:
        answer = await fetcher.get("https://api.example/", accept=ANY_TYPE)
        assert answer.body == RSS
        assert answer.headers == {name.replace("_", "-"): value for name, value in headers.items()}
        expected = {"api.example": NOW + timedelta(seconds=wait)} if wait else {}
        assert fetcher.cooldowns == expected


async def test_429_from_x_uses_rate_limit_reset() -> None:
    reset = str(int(NOW.timestamp()) + 500)
    async with make_fetcher(
        transport=fixed_response(429, x_rate_limit_remaining="0", x_rate_limit_reset=reset)
    ) as fetcher:
        with pytest.raises(RateLimitedError) as throttled:
            await fetcher.get("https://api.x.com/2/users/1/tweets", accept=ANY_TYPE)
    assert throttled.value.retry_after == 500


async def test_longer_cooldown_is_not_shortened() -> None:
    async with make_fetcher(
        transport=fixed_response(200, x_ratelimit_remaining="0", x_ratelimit_reset="10")
    ) as fetcher:
        fetcher._hosts.set_cooldown("api.example", 5000)
        fetcher._hosts.set_cooldown("api.example", 10)
        assert fetcher.cooldowns == {"api.example": NOW + timedelta(seconds=5000)}
