"""Tests for the fetcher: requests, responses and errors."""

import asyncio
import contextlib
import logging

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk import errors
from copydesk.network.fetcher import Fetcher, FetchLimits
from copydesk.network.transport import GuardedTransport
from feed_server import FeedServer, Request
from fetcher_fixtures import ANY_TYPE, FakeClock, make_fetcher

RSS = b"<rss><channel><title>Caf\xc3\xa9</title></channel></rss>"


async def test_response_has_body_and_headers() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve(
            "/feed.xml", RSS, content_type="Application/RSS+XML; Charset=UTF-8", etag='"v1"', last_modified="yesterday"
        )
        answer = await fetcher.get(server.url("/feed.xml"), accept="application/rss+xml")
    assert (answer.url, answer.status, answer.body) == (server.url("/feed.xml"), 200, RSS)
    assert (answer.content_type, answer.charset) == ("application/rss+xml", "utf-8")
    assert (answer.etag, answer.last_modified, answer.not_modified) == ('"v1"', "yesterday", False)
    assert answer.moved_to is None


async def test_request_sends_only_expected_headers() -> None:
    async with FeedServer() as server, make_fetcher(user_agent="Copydesk/1 (+mailto:me@example.org)") as fetcher:
        server.serve("/feed.xml", RSS, headers={"Set-Cookie": "track=1"})
        for _ in range(2):
            await fetcher.get(server.url("/feed.xml"), accept="application/rss+xml", headers={"X-Key": "k"})
        first, second = server.requests_for("/feed.xml")
    assert first.headers == second.headers
    assert first.headers == {
        "host": server.host(),
        "user-agent": "Copydesk/1 (+mailto:me@example.org)",
        "accept": "application/rss+xml",
        "accept-encoding": "gzip, deflate",
        "a-im": "feed",
        "x-key": "k",
    }


async def test_caller_can_override_user_agent() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        await fetcher.get(server.url(), accept=ANY_TYPE, headers={"User-Agent": "linux:copydesk:1 (by /u/me)"})
    assert server.requests[0].headers["user-agent"] == "linux:copydesk:1 (by /u/me)"


async def test_fragment_is_dropped_and_query_sent() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/feed", RSS)
        answer = await fetcher.get(server.url("/feed?a=1&b=%20#top"), accept=ANY_TYPE)
    assert server.requests[0].target == "/feed?a=1&b=%20"
    assert answer.url == server.url("/feed?a=1&b=%20")


@pytest.mark.parametrize(
    "etag", ['"v1"', 'W/"v1"', "unquoted", '"with \\" and , comma"', '"caf\xe9"', '""', '"1"-gzip', "'single'"]
)
async def test_etag_is_echoed_byte_for_byte(etag: str) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS, etag=etag)
        first = await fetcher.get(server.url(), accept=ANY_TYPE)
        second = await fetcher.get(server.url(), accept=ANY_TYPE, etag=first.etag, last_modified=first.last_modified)
    assert second.not_modified
    assert b"if-none-match: " + etag.encode("latin-1") + b"\r\n" in server.requests[1].raw_headers


async def test_last_modified_is_echoed_byte_for_byte() -> None:
    """Even if it is not a valid date."""
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS, etag=False, last_modified="Tue,  3 Feb 26 1:2:3 CEST")
        first = await fetcher.get(server.url(), accept=ANY_TYPE)
        second = await fetcher.get(server.url(), accept=ANY_TYPE, etag=first.etag, last_modified=first.last_modified)
    assert second.not_modified
    assert server.requests[1].headers["if-modified-since"] == "Tue,  3 Feb 26 1:2:3 CEST"
    assert "if-none-match" not in server.requests[1].headers


async def test_304_has_no_body_but_freshness() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS, etag='"v1"', headers={"Cache-Control": "public, max-age=1800"})
        answer = await fetcher.get(server.url(), accept=ANY_TYPE, etag='"v1"')
    assert (answer.status, answer.not_modified, answer.body) == (304, True, b"")
    assert answer.fresh_for == 1800


async def test_unrequested_304_is_an_error() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.raw("/", b"HTTP/1.1 304 Not Modified\r\nETag: 1\r\n\r\n")
        with pytest.raises(errors.ResponseStatusError, match="304"):
            await fetcher.get(server.url(), accept=ANY_TYPE)


@pytest.mark.parametrize("status", [200, 203, 226])
async def test_success_statuses_become_200(status: int) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS, status=status)
        answer = await fetcher.get(server.url(), accept=ANY_TYPE)
    assert (answer.status, answer.body) == (200, RSS)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (202, errors.ResponseStatusError),
        (204, errors.ResponseStatusError),
        (300, errors.ResponseStatusError),
        (400, errors.ResponseStatusError),
        (401, errors.LoginRequiredError),
        (403, errors.LoginRequiredError),
        (404, errors.PageNotFoundError),
        (410, errors.GoneError),
        (418, errors.ResponseStatusError),
        (429, errors.RateLimitedError),
        (500, errors.ResponseStatusError),
        (503, errors.ResponseStatusError),
    ],
)
async def test_status_maps_to_error(status: int, error: type[errors.FetchError]) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.fail("/", status)
        with pytest.raises(errors.FetchError) as raised:
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert type(raised.value) is error
    assert server.host() in raised.value.message
    assert raised.value.hint
    if error is errors.ResponseStatusError:
        assert str(status) in raised.value.message


async def test_bot_protection_is_reported() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.fail("/", 403, headers={"cf-mitigated": "challenge"})
        with pytest.raises(errors.LoginRequiredError, match="admits browsers only"):
            await fetcher.get(server.url(), accept=ANY_TYPE)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/feed",
        "file:///etc/passwd",
        "example.org/feed",
        "",
        "/feed",
        "http://",
        "https:///feed",
        "http://[::1",
        "http://exa mple.org/",
        "http://example.org:99999/",
        "http://exa!mple.org/",
        "http://😀.example.org:99999/",
        "http://😀.example.org：80/",
        "http://😀⒈example.org/",
        "http://℀.example.org/",
        "http://😀@/",
        "http://" + "é" * 60_000 + ".example/",
        "https://.example/",
        "https://../",
        "http://" + "😀." * 30_000 + "example/",
        "http://example.org/\x00",
        "javascript:alert(1)",
        "http://example.org/" + "a" * 5000,
        "h" * 100_000,
    ],
)
async def test_invalid_url_is_refused_before_sending(url: str) -> None:
    async with make_fetcher() as fetcher:
        with pytest.raises(errors.PrivateAddressError) as refused:
            await fetcher.get(url, accept=ANY_TYPE)
    assert "https://" in refused.value.hint


@pytest.mark.parametrize("host", ["example.org", "😀.example"])
async def test_password_in_url_is_refused_and_hidden(host: str) -> None:
    async with make_fetcher() as fetcher:
        with pytest.raises(errors.PrivateAddressError, match="user name or password") as refused:
            await fetcher.get(f"https://{host}:secret@{host}/feed", accept=ANY_TYPE)
    assert "secret" not in str(refused.value)


@given(st.text(max_size=80))
async def test_no_url_breaks_the_client(text: str) -> None:
    async with make_fetcher(transport=httpx.MockTransport(lambda request: httpx.Response(200))) as fetcher:
        for url in (text, f"http://{text}/", f"http://example.org/{text}", f"http://example.org:{text}"):
            with contextlib.suppress(errors.PrivateAddressError):
                assert (await fetcher.get(url, accept=ANY_TYPE)).url.isprintable()


@pytest.mark.parametrize(
    ("host", "requested"),
    [
        ("xn--i-7iq.example", "xn--i-7iq.example"),
        ("xn--", "xn--"),
        ("i❤️.example", "xn--i-7iq.example"),
        ("😀.example:8080", "xn--e28h.example:8080"),
        ("😀.рф:8080", "xn--e28h.xn--p1ai:8080"),
        ("straße.😀.Example", "xn--strae-oqa.xn--e28h.example"),
        ("ｅ😀｡example", "xn--e-jv3s.example"),
    ],
)
async def test_name_that_idna_2008_does_not_know_is_requested(host: str, requested: str) -> None:
    async with make_fetcher(transport=httpx.MockTransport(lambda request: httpx.Response(200))) as fetcher:
        assert (await fetcher.get(f"https://{host}/feed", accept=ANY_TYPE)).url == f"https://{requested}/feed"


async def test_local_addresses_are_refused_by_default() -> None:
    async with FeedServer() as server, Fetcher(clock=FakeClock()) as fetcher:
        with pytest.raises(errors.PrivateAddressError, match=r"127\.0\.0\.1 is not a public address"):
            await fetcher.get(server.url("/feed"), accept=ANY_TYPE)
        with pytest.raises(errors.PrivateAddressError):
            await fetcher.get(server.url("/feed", host="localhost"), accept=ANY_TYPE)
    assert server.connections == 0


async def test_closed_port_is_unreachable() -> None:
    with FeedServer() as server:
        pass
    async with make_fetcher() as fetcher:
        with pytest.raises(errors.UnreachableError, match="Connection refused by") as refused:
            await fetcher.get(server.url("/feed"), accept=ANY_TYPE)
    assert refused.value.hint == "The server is not running, or the port is wrong."


async def test_https_to_http_port_is_unreachable() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        with pytest.raises(errors.UnreachableError, match="TLS"):
            await fetcher.get(server.url("/feed", scheme="https"), accept=ANY_TYPE)


async def test_credentials_are_sent_but_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with FeedServer() as server, make_fetcher() as fetcher:
            server.fail("/", 401)
            with pytest.raises(errors.LoginRequiredError) as raised:
                await fetcher.get(server.url("/?x=1"), accept=ANY_TYPE, headers={"Authorization": "Bearer s3cret"})
    assert server.requests[0].headers["authorization"] == "Bearer s3cret"
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("value", ["caf\u0119", "two\r\nlines: 1", "nul\x00", "ok\ud800"])
async def test_unsendable_credentials_are_an_error(value: str) -> None:
    """In particular, a line break must not start a second header."""
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        with pytest.raises(errors.ResponseStatusError, match="Cannot send the request"):
            await fetcher.get(server.url(), accept=ANY_TYPE, headers={"Authorization": f"Bearer {value}"})
    assert server.requests == []


async def test_reason_phrase_is_not_in_message() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.raw("/", b"HTTP/1.1 500 \x1b[31mred[red]\r\nContent-Length: 0\r\n\r\n")
        with pytest.raises(errors.ResponseStatusError) as raised:
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert raised.value.message == f"{server.host()} answered with status 500 (internal server error)."


async def test_form_is_posted() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/token", b'{"access_token": "t"}', content_type="application/json", gzip=False)
        answer = await fetcher.post_form(
            server.url("/token"), {"grant_type": "client_credentials", "x": "a b"}, {"Authorization": "Basic eDp5"}
        )
    (request,) = server.requests
    assert (request.method, request.body) == ("POST", b"grant_type=client_credentials&x=a+b")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.headers["authorization"] == "Basic eDp5"
    assert answer.body == b'{"access_token": "t"}'


async def test_redirected_form_is_not_reposted() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/token", "/elsewhere", status=307)
        with pytest.raises(errors.ResponseStatusError, match="307"):
            await fetcher.post_form(server.url("/token"), {"secret": "x"})
    assert server.requests_for("/elsewhere") == []


async def test_form_obeys_throttling_and_address_guard() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher, Fetcher(clock=FakeClock()) as guarded:
        server.throttle("/token", retry_after="60")
        with pytest.raises(errors.RateLimitedError):
            await fetcher.post_form(server.url("/token"), {})
        with pytest.raises(errors.RateLimitedError):
            await fetcher.post_form(server.url("/token"), {})
        with pytest.raises(errors.PrivateAddressError):
            await guarded.post_form(server.url("/token"), {})
    assert len(server.requests) == 1


async def test_connection_is_reused() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        for _ in range(5):
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert server.connections == 1


async def test_closed_connection_is_not_reused() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.raw("/", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        for _ in range(3):
            assert (await fetcher.post_form(server.url(), {})).body == b"hi"
            await asyncio.sleep(0.01)
    assert server.connections == 3


async def test_connection_closed_during_request_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without this, the client would notice the close before it sends, and never hit the race.
    monkeypatch.setattr(httpcore.AsyncHTTP11Connection, "has_expired", lambda self: False)
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.raw("/", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await fetcher.get(server.url(), accept=ANY_TYPE)
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == b"hi"
        assert (await fetcher.post_form(server.url(), {})).body == b"hi"  # a POST never uses an idle connection
    assert [request.method for request in server.requests] == ["GET", "GET", "POST"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_non_idempotent_request_is_sent_once(method: str) -> None:
    """The server keeps the connection of a GET, processes what comes next and closes without an answer."""

    async def answer_get_only(request: Request, writer: asyncio.StreamWriter) -> bool:
        if request.method == "GET":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        return request.method == "GET"

    guarded = GuardedTransport(allow_private=True, concurrency=1)
    async with FeedServer() as server:
        server.route("/", answer_get_only)
        response = await guarded.handle_async_request(httpx.Request("GET", server.url()))
        assert b"".join([chunk async for chunk in response.stream]) == b"hi"
        await response.stream.aclose()
        assert len(guarded._idle) == 1  # the connection that must not be used
        with pytest.raises(httpx.RemoteProtocolError):
            await guarded.handle_async_request(httpx.Request(method, server.url()))
        await guarded.aclose()
    assert [request.method for request in server.requests] == ["GET", method]


async def test_at_most_twenty_idle_connections() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        for n in range(2, 27):
            await fetcher.get(server.url(host=f"127.0.0.{n}"), accept=ANY_TYPE)
        assert len(fetcher._transport._idle) == 20
        await fetcher.get(server.url(host="127.0.0.26"), accept=ANY_TYPE)
        assert server.connections == 25
        await fetcher.get(server.url(host="127.0.0.2"), accept=ANY_TYPE)
        assert server.connections == 26


async def test_custom_transport_uses_no_network() -> None:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if request.headers.get("if-none-match") == '"1"':
            return httpx.Response(304, headers={"Cache-Control": "max-age=60"})
        return httpx.Response(200, content=RSS, headers={"ETag": '"1"', "Content-Type": "text/xml"})

    async with Fetcher(FetchLimits(), clock=FakeClock(), transport=httpx.MockTransport(respond)) as fetcher:
        first = await fetcher.get("https://sample.invalid/feed", accept=ANY_TYPE)
        second = await fetcher.get("https://sample.invalid/feed", accept=ANY_TYPE, etag=first.etag)
    assert (first.body, second.not_modified, second.fresh_for) == (RSS, True, 60)
    assert requests[0].headers["host"] == "sample.invalid"


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (httpx.ConnectError("x"), errors.UnreachableError),
        (httpx.ConnectTimeout("x"), errors.FetchTimeoutError),
        (httpx.ReadTimeout("x"), errors.FetchTimeoutError),
        (httpx.ReadError("x"), errors.ResponseStatusError),
        (httpx.RemoteProtocolError("x"), errors.ResponseStatusError),
        (OSError(24, "too many open files"), errors.UnreachableError),
    ],
)
async def test_transport_errors_are_translated(raised: Exception, error: type[errors.FetchError]) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raise raised

    async with make_fetcher(transport=httpx.MockTransport(respond)) as fetcher:
        with pytest.raises(error):
            await fetcher.get("https://sample.invalid/feed", accept=ANY_TYPE)


async def test_http_library_logs_no_headers(caplog: pytest.LogCaptureFixture) -> None:
    """Its debug messages contain the headers of responses, cookies included."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    with caplog.at_level(logging.DEBUG):
        async with FeedServer() as server, make_fetcher() as fetcher:
            server.serve("/feed.xml", RSS, headers={"Set-Cookie": "session=s3cret"})
            await fetcher.get(server.url("/feed.xml"), accept=ANY_TYPE)
    assert [record for record in caplog.records if record.name.startswith("http")] == []
