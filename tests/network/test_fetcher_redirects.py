"""Tests for redirects: every hop is checked, and credentials stay with their host."""

import asyncio

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import FetchError, FetchTimeoutError, PrivateAddressError, ResponseStatusError
from copydesk.network.fetcher import Fetcher, FetchLimits
from feed_server import FeedServer
from fetcher_fixtures import ANY_TYPE, make_fetcher

RSS = b"<rss/>"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_followed(status: int) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/old", "/new", status=status)
        server.serve("/new", RSS)
        answer = await fetcher.get(server.url("/old"), accept=ANY_TYPE)
    assert (answer.url, answer.body) == (server.url("/new"), RSS)
    assert answer.moved_to == (server.url("/new") if status in (301, 308) else None)


@pytest.mark.parametrize(
    ("statuses", "moved"),
    [([301], True), ([308, 301], True), ([301, 302], False), ([302, 301], False), ([307, 308], False), ([], False)],
)
async def test_only_permanent_redirects_move_url(statuses: list[int], moved: bool) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        for n, status in enumerate(statuses):
            server.redirect(f"/{n}", f"/{n + 1}", status=status)
        server.serve(f"/{len(statuses)}", RSS, etag='"v"')
        for etag in (None, '"v"'):
            answer = await fetcher.get(server.url("/0"), accept=ANY_TYPE, etag=etag)
            assert answer.moved_to == (server.url(f"/{len(statuses)}") if moved else None)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/new", "/new"),
        ("new", "/a/new"),
        ("../new", "/new"),
        ("?page=2", "/a/old?page=2"),
        ("/new#top", "/new"),
        ("/b\xc3\xbccher", "/b%C3%BCcher"),
    ],
)
async def test_location_forms_are_resolved(location: str, path: str) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/a/old", location)
        server.serve(path, RSS)
        assert (await fetcher.get(server.url("/a/old"), accept=ANY_TYPE)).url == server.url(path)


async def test_at_most_five_redirects() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        for n in range(6):
            server.redirect(f"/{n}", f"/{n + 1}")
        server.serve("/6", RSS)
        assert (await fetcher.get(server.url("/1"), accept=ANY_TYPE)).body == RSS
        with pytest.raises(ResponseStatusError, match="more than 5 times"):
            await fetcher.get(server.url("/0"), accept=ANY_TYPE)


async def test_redirect_loop_ends() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/", "/")
        with pytest.raises(ResponseStatusError, match="more than 5 times"):
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert len(server.requests) == 6


async def test_redirect_without_location_is_an_error() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.fail("/", 302)
        with pytest.raises(ResponseStatusError, match="302"):
            await fetcher.get(server.url(), accept=ANY_TYPE)


@pytest.mark.parametrize(
    "location",
    [
        ":http://a.example[x]",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/xml,<rss/>",
        "gopher://example.org:70/",
        "http://[::1",
        "http://example.org:99999/",
        "http://user:secret@example.org/",
        "//user@example.org/",
        "http://a b/",
        "http://example.org/" + "a" * 5000,
        "http://\xff\xfe/",
    ],
)
async def test_redirect_to_invalid_url_is_refused(location: str) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/", location)
        with pytest.raises(PrivateAddressError) as refused:
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert "secret" not in str(refused.value)


@given(st.text(st.characters(max_codepoint=255)) | st.from_regex(r"https?://[^/]{0,9}(:\d{0,6})?/.*"))
async def test_no_location_breaks_the_client(location: str) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raw = [(b"Location", location.encode("latin-1", "replace"))]
        return httpx.Response(302, headers=raw) if request.url.path == "/start" else httpx.Response(200)

    async with make_fetcher(transport=httpx.MockTransport(respond)) as fetcher:
        try:
            answer = await fetcher.get("https://sample.invalid/start", accept=ANY_TYPE)
            text = answer.url
        except (PrivateAddressError, ResponseStatusError) as error:
            text = str(error)
    assert text.isprintable()


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:1/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost/",
        "http://2130706433/",
        "http://[64:ff9b::7f00:1]/",
        "https://0x7f.1/",
    ],
)
async def test_redirect_to_private_address_is_refused(location: str) -> None:
    """A custom transport stands in for a public site and redirects; the second hop meets the real guard."""
    guarded = Fetcher(clock=lambda: pytest.fail("nothing is to be answered"))

    class Public(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "public.example":
                return httpx.Response(302, headers={"Location": location})
            return await guarded._transport.handle_async_request(request)

    async with guarded, make_fetcher(transport=Public()) as fetcher:
        with pytest.raises(PrivateAddressError, match="is not a public address"):
            await fetcher.get("https://public.example/feed", accept=ANY_TYPE)


class RedirectingHosts(httpx.MockTransport):
    """Hosts that redirect as configured; records their requests."""

    def __init__(self, **redirects: str) -> None:
        self.redirects = {name.replace("_", "."): to for name, to in redirects.items()}
        self.requests: list[httpx.Request] = []
        super().__init__(self._respond)

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        to = self.redirects.get(request.url.host)
        if to and request.url.path == "/":
            return httpx.Response(301, headers={"Location": to})
        return httpx.Response(200, content=RSS)

    def carried_credentials(self) -> list[bool]:
        """Return, for each request, whether it carried the credentials."""
        return ["authorization" in request.headers and "x-key" in request.headers for request in self.requests]


CREDENTIALS = {"Authorization": "Bearer s3cret", "X-Key": "k"}


@pytest.mark.parametrize(
    ("start", "to", "expected"),
    [
        ("https://a.example/", "/feed", True),
        ("https://a.example/", "https://a.example/feed", True),
        ("http://a.example/", "https://a.example/feed", True),
        ("https://a.example/", "https://b.example/feed", False),
        ("https://a.example/", "https://sub.a.example/feed", False),
        ("https://a.example/", "https://a.example:8443/feed", False),
        ("http://a.example/", "http://b.example/feed", False),
    ],
)
async def test_credentials_stay_with_their_host(start: str, to: str, expected: bool) -> None:
    web = RedirectingHosts(a_example=to)
    async with make_fetcher(transport=web) as fetcher:
        await fetcher.get(start, accept="text/xml", etag='"v"', headers=CREDENTIALS)
    assert web.carried_credentials() == [True, expected]
    assert [request.headers["accept"] for request in web.requests] == ["text/xml"] * 2
    assert [request.headers["if-none-match"] for request in web.requests] == ['"v"'] * 2
    assert "referer" not in web.requests[1].headers


async def test_credentials_are_not_restored_on_return() -> None:
    web = RedirectingHosts(a_example="https://b.example/", b_example="https://a.example/feed")
    async with make_fetcher(transport=web) as fetcher:
        await fetcher.get("https://a.example/", accept=ANY_TYPE, headers=CREDENTIALS)
    assert web.carried_credentials() == [True, False, False]


@pytest.mark.parametrize("to", ["http://a.example/feed", "http://b.example/feed"])
async def test_credentials_refuse_downgrade_to_http(to: str) -> None:
    web = RedirectingHosts(a_example=to)
    async with make_fetcher(transport=web) as fetcher:
        with pytest.raises(PrivateAddressError, match="unencrypted address; the credentials were not sent"):
            await fetcher.get("https://a.example/", accept=ANY_TYPE, headers=CREDENTIALS)
        assert len(web.requests) == 1
        assert (await fetcher.get("https://a.example/", accept=ANY_TYPE)).url == to


async def test_deadline_covers_all_hops() -> None:
    async with FeedServer() as server, make_fetcher(timeout=0.25) as fetcher:
        for n in range(5):
            server.serve(f"/{n}", b"", status=302, headers={"Location": f"/{n + 1}"}, delay=0.1)
        server.serve("/5", RSS)
        with pytest.raises(FetchTimeoutError):
            await fetcher.get(server.url("/0"), accept=ANY_TYPE)
    assert len(server.requests) <= 4


async def test_redirect_body_is_not_read() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        endless = b"HTTP/1.1 302 Found\r\nLocation: /new\r\n\r\n" + b"x" * 2**20
        server.raw("/old", endless)
        server.serve("/new", RSS)
        assert (await fetcher.get(server.url("/old"), accept=ANY_TYPE)).body == RSS


async def test_mutual_redirects_do_not_deadlock() -> None:
    """Two hosts that redirect to each other must not wait for each other."""
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.redirect("/to3", server.url("/feed", host="127.0.0.3"))
        server.redirect("/to2", server.url("/feed", host="127.0.0.2"))
        server.serve("/feed", RSS)
        answers = await asyncio.wait_for(
            asyncio.gather(
                *(fetcher.get(server.url("/to3", host="127.0.0.2"), accept=ANY_TYPE) for _ in range(5)),
                *(fetcher.get(server.url("/to2", host="127.0.0.3"), accept=ANY_TYPE) for _ in range(5)),
            ),
            60,
        )
    assert all(answer.body == RSS for answer in answers)
    assert set(server.max_concurrent.values()) == {1}


async def test_default_limits() -> None:
    limits = FetchLimits()
    assert (limits.timeout, limits.max_redirects, limits.concurrency) == (30.0, 5, 16)
    assert (limits.max_wire, limits.max_body, limits.allow_private) == (4 * 2**20, 10 * 2**20, False)
    assert issubclass(PrivateAddressError, FetchError)
