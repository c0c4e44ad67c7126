"""The server behind `copydesk --web`: what it answers to whom, and how the consoles behind its pages end."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from copydesk.cli import web_server
from copydesk.cli.web_door import HOST, Door
from web_console import free_port, until_gone

SAYS_READY = "import sys, os, time; sys.stdout.write('__GANGLION__\\n'); sys.stdout.flush(); "
PRINTS_ITS_PROCESS = "out = str(os.getpid()).encode(); os.write(1, b'D' + len(out).to_bytes(4, 'big') + out); "
READS = "sys.stdin.buffer.read(1); "
"""Until the server says anything, which is that the page is gone."""


def program(text: str) -> str:
    """A console that does this."""
    return "exec " + shlex.join([sys.executable, "-c", SAYS_READY + PRINTS_ITS_PROCESS + text])


class Site:
    """A server, and somebody who asks it."""

    def __init__(self, server: web_server.ConsoleServer, door: Door, addresses: list[str]) -> None:
        self.server = server
        self.door = door
        self.addresses = addresses
        self.url = f"http://{HOST}:{door.port}"
        self.cookies = {door.cookie: door.session}


@asynccontextmanager
async def site(command: str = "exec false") -> AsyncIterator[Site]:
    """A server on a free port, in this process."""
    addresses: list[str] = []
    door = Door(free_port(), addresses.append)
    server = web_server.ConsoleServer(command, door)
    runner = web.AppRunner(await server._make_app())
    await runner.setup()
    await web.TCPSite(runner, HOST, door.port).start()
    try:
        yield Site(server, door, addresses)
    finally:
        await runner.cleanup()


async def process_of(page: aiohttp.ClientWebSocketResponse) -> int:
    """The process behind a page, by its own account."""
    return int((await asyncio.wait_for(page.receive_bytes(), 60)).decode())


# Who is let in.


async def test_the_address_opens_the_page_and_the_cookie_opens_it_again() -> None:
    async with site() as here, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(here.addresses[0]) as answer:
            assert answer.status == 200
            assert "Copydesk" in await answer.text()
            assert "HttpOnly" in answer.headers["Set-Cookie"]
            assert "SameSite=Strict" in answer.headers["Set-Cookie"]
        async with browser.get(here.url) as again:
            assert again.status == 200
            assert "Set-Cookie" not in again.headers


async def test_an_address_that_was_used_is_refused_and_a_new_one_told() -> None:
    async with site() as here, aiohttp.ClientSession() as one, aiohttp.ClientSession() as other:
        async with one.get(here.addresses[0]) as answer:
            assert answer.status == 200
        async with other.get(here.addresses[0]) as answer:
            assert answer.status == 403
            assert "there is a new one now" in await answer.text()
        async with other.get(here.addresses[1]) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("path", ["/", "/?key=guess", "/ws", "/static/", "/static/js/textual.js", "/download/x"])
async def test_without_the_key_nothing_is_shown(path: str) -> None:
    async with site() as here, aiohttp.ClientSession() as browser, browser.get(here.url + path) as answer:
        assert answer.status == 403
        assert "the address that `copydesk --web` printed" in await answer.text()


async def test_looking_whether_the_address_is_there_does_not_use_it_up() -> None:
    async with site() as here, aiohttp.ClientSession() as browser:
        async with browser.head(here.addresses[0]) as answer:
            assert answer.status == 403
        async with browser.get(here.addresses[0]) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [{"Host": "elsewhere.example"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}],
    ids=str,
)
async def test_another_page_gets_no_console_even_with_the_cookie(headers: dict[str, str]) -> None:
    async with site() as here, aiohttp.ClientSession(cookies=here.cookies) as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect(here.url + "/ws", headers=headers)
        async with browser.get(here.addresses[0], headers=headers) as answer:
            assert answer.status == 403
        async with browser.get(here.addresses[0]) as answer:
            assert answer.status == 200


async def test_a_wrong_cookie_gets_no_console() -> None:
    async with site() as here, aiohttp.ClientSession(cookies={here.door.cookie: "guess"}) as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect(here.url + "/ws", origin=here.url)


async def test_the_page_asks_no_other_site_for_anything() -> None:
    async with site() as here, aiohttp.ClientSession() as browser, browser.get(here.addresses[0]) as answer:
        page = await answer.text()
        assert "http" not in page
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        port = here.door.port
        sockets = f"connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port};"
        assert sockets in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"


# How a console ends.


@asynccontextmanager
async def opened(here: Site) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """The page's half of the console."""
    socket = here.url + "/ws?width=90&height=30"
    async with (
        aiohttp.ClientSession(cookies=here.cookies) as browser,
        browser.ws_connect(socket, origin=here.url) as page,
    ):
        yield page


async def test_a_closed_page_ends_its_console() -> None:
    async with site(program(READS)) as here:
        async with opened(here) as page:
            process = await process_of(page)
        await until_gone(process)


async def test_a_console_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "PATIENCE", 0.1)
    async with site(program("time.sleep(600)")) as here:
        async with opened(here) as page:
            process = await process_of(page)
        await until_gone(process)


async def test_a_console_that_still_has_much_to_say_ends() -> None:
    """Its words fill the pipe to the server, and it waits until somebody reads them."""
    much = READS + "os.write(1, b'D' + (2_000_000).to_bytes(4, 'big') + bytes(2_000_000)); "
    async with site(program(much)) as here:
        async with opened(here) as page:
            process = await process_of(page)
        await until_gone(process)


@pytest.mark.parametrize("command", [program("sys.exit(3)"), "exec false"], ids=["dies", "does not start"])
async def test_the_page_hears_when_its_console_has_died(command: str) -> None:
    async with site(command) as here, opened(here) as page:
        async with asyncio.timeout(60):
            messages = [message async for message in page]
        assert page.closed
        assert len(messages) <= 1


async def test_a_server_that_ends_closes_its_pages_and_ends_their_consoles() -> None:
    async with site(program(READS)) as here, aiohttp.ClientSession(cookies=here.cookies) as browser:
        page = await browser.ws_connect(here.url + "/ws", origin=here.url)
        process = await process_of(page)
        await here.server.on_shutdown(web.Application())
        await until_gone(process)


# What is passed on.


async def test_what_is_typed_comes_through_whatever_it_is(tmp_path: Path) -> None:
    """Two halves of one character in two messages are one; what is no message of the page's is nothing."""
    got = tmp_path / "got"
    reads = f"open({str(got)!r}, 'wb').write(sys.stdin.buffer.read(16)); "
    async with site(program(reads)) as here, opened(here) as page:
        process = await process_of(page)
        for said in (["stdin", "ü"], ["stdin", 5], {"stdin": "x"}, ["resize", {"width": "x"}], [], None):
            await page.send_json(said)
        await page.send_json(["stdin", "\ud83d"])
        await page.send_json(["stdin", "\udc4d"])
        await until_gone(process)
    assert got.read_bytes() == b"D\0\0\0\2" + "ü".encode() + b"D\0\0\0\4" + "👍".encode()
