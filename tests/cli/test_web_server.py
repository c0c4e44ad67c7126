"""Tests for the server of `copydesk --web`: authentication, headers, and the end of console processes."""

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
from copydesk.cli.web import HOST, BrowserAuth
from web_server import find_free_port, wait_for_exit

REPORT_READY = "import sys, os, time; sys.stdout.write('__GANGLION__\\n'); sys.stdout.flush(); "
PRINT_PID = "out = str(os.getpid()).encode(); os.write(1, b'D' + len(out).to_bytes(4, 'big') + out); "
WAIT_FOR_INPUT = "sys.stdin.buffer.read(1); "
"""Block until the server sends something: that the page was closed."""


def console_program(text: str) -> str:
    """Return the shell command of a console process that runs this Python code."""
    return "exec " + shlex.join([sys.executable, "-c", REPORT_READY + PRINT_PID + text])


class RunningServer:
    """A running server, and its address, key and cookie for clients."""

    def __init__(self, server: web_server.ConsoleServer, auth: BrowserAuth, addresses: list[str]) -> None:
        self.console_server = server
        self.auth = auth
        self.addresses = addresses
        self.url = f"http://{HOST}:{auth.port}"
        self.cookies = {auth.cookie_name: auth.session_token}


@asynccontextmanager
async def run_server(command: str = "exec false") -> AsyncIterator[RunningServer]:
    """Run a server on a free port in this process."""
    addresses: list[str] = []
    auth = BrowserAuth(find_free_port(), addresses.append)
    server = web_server.ConsoleServer(command, auth)
    runner = web.AppRunner(await server._make_app())
    await runner.setup()
    await web.TCPSite(runner, HOST, auth.port).start()
    try:
        yield RunningServer(server, auth, addresses)
    finally:
        await runner.cleanup()


async def read_pid(page: aiohttp.ClientWebSocketResponse) -> int:
    """Return the id of the console process, which it prints first."""
    return int((await asyncio.wait_for(page.receive_bytes(), 60)).decode())


# Authentication


async def test_address_then_cookie_open_page() -> None:
    async with run_server() as server, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(server.addresses[0]) as response:
            assert response.status == 200
            assert "Copydesk" in await response.text()
            assert "HttpOnly" in response.headers["Set-Cookie"]
            assert "SameSite=Strict" in response.headers["Set-Cookie"]
        async with browser.get(server.url) as second_response:
            assert second_response.status == 200
            assert "Set-Cookie" not in second_response.headers


async def test_used_address_is_refused_and_replaced() -> None:
    async with run_server() as server, aiohttp.ClientSession() as first, aiohttp.ClientSession() as second:
        async with first.get(server.addresses[0]) as response:
            assert response.status == 200
        async with second.get(server.addresses[0]) as response:
            assert response.status == 403
            assert "the terminal now shows a new one" in await response.text()
        async with second.get(server.addresses[1]) as response:
            assert response.status == 200


@pytest.mark.parametrize("path", ["/", "/?key=guess", "/ws", "/static/", "/static/js/textual.js", "/download/x"])
async def test_requests_without_key_are_refused(path: str) -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser, browser.get(server.url + path) as response:
        assert response.status == 403
        assert "the address that `copydesk --web` printed" in await response.text()


async def test_head_request_does_not_consume_address() -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser:
        async with browser.head(server.addresses[0]) as response:
            assert response.status == 403
        async with browser.get(server.addresses[0]) as response:
            assert response.status == 200


@pytest.mark.parametrize(
    "headers",
    [{"Host": "elsewhere.example"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}],
    ids=str,
)
async def test_foreign_host_or_origin_is_refused_with_cookie(headers: dict[str, str]) -> None:
    async with run_server() as server, aiohttp.ClientSession(cookies=server.cookies) as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect(server.url + "/ws", headers=headers)
        async with browser.get(server.addresses[0], headers=headers) as response:
            assert response.status == 403
        async with browser.get(server.addresses[0]) as response:
            assert response.status == 200


async def test_invalid_cookie_gets_no_console() -> None:
    async with run_server() as server, aiohttp.ClientSession(cookies={server.auth.cookie_name: "guess"}) as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect(server.url + "/ws", origin=server.url)


async def test_page_loads_nothing_from_other_sites() -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser, browser.get(server.addresses[0]) as response:
        page = await response.text()
        assert "http" not in page
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        port = server.auth.port
        sockets = f"connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port};"
        assert sockets in response.headers["Content-Security-Policy"]
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-store"


# Ending consoles


@asynccontextmanager
async def open_page(server: RunningServer) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Connect to the server as its page does."""
    socket = server.url + "/ws?width=90&height=30"
    async with (
        aiohttp.ClientSession(cookies=server.cookies) as browser,
        browser.ws_connect(socket, origin=server.url) as page,
    ):
        yield page


async def test_closed_page_ends_console() -> None:
    async with run_server(console_program(WAIT_FOR_INPUT)) as server:
        async with open_page(server) as page:
            process = await read_pid(page)
        await wait_for_exit(process)


async def test_hanging_console_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "SHUTDOWN_TIMEOUT", 0.1)
    async with run_server(console_program("time.sleep(600)")) as server:
        async with open_page(server) as page:
            process = await read_pid(page)
        await wait_for_exit(process)


async def test_console_with_pending_output_ends() -> None:
    """Its output fills the pipe, so it blocks until somebody reads."""
    program_text = WAIT_FOR_INPUT + "os.write(1, b'D' + (2_000_000).to_bytes(4, 'big') + bytes(2_000_000)); "
    async with run_server(console_program(program_text)) as server:
        async with open_page(server) as page:
            process = await read_pid(page)
        await wait_for_exit(process)


@pytest.mark.parametrize("command", [console_program("sys.exit(3)"), "exec false"], ids=["dies", "does not start"])
async def test_page_closes_when_console_dies(command: str) -> None:
    async with run_server(command) as server, open_page(server) as page:
        async with asyncio.timeout(60):
            messages = [message async for message in page]
        assert page.closed
        assert len(messages) <= 1


async def test_stopping_server_ends_pages_and_consoles() -> None:
    async with (
        run_server(console_program(WAIT_FOR_INPUT)) as server,
        aiohttp.ClientSession(cookies=server.cookies) as browser,
    ):
        page = await browser.ws_connect(server.url + "/ws", origin=server.url)
        process = await read_pid(page)
        await server.console_server.on_shutdown(web.Application())
        await wait_for_exit(process)


# Forwarding


async def test_input_is_forwarded_and_invalid_messages_ignored(tmp_path: Path) -> None:
    """A character split over two messages is joined; malformed messages are ignored."""
    received_file = tmp_path / "got"
    program_text = f"open({str(received_file)!r}, 'wb').write(sys.stdin.buffer.read(16)); "
    async with run_server(console_program(program_text)) as server, open_page(server) as page:
        process = await read_pid(page)
        for message in (["stdin", "ü"], ["stdin", 5], {"stdin": "x"}, ["resize", {"width": "x"}], [], None):
            await page.send_json(message)
        await page.send_json(["stdin", "\ud83d"])
        await page.send_json(["stdin", "\udc4d"])
        await wait_for_exit(process)
    assert received_file.read_bytes() == b"D\0\0\0\2" + "ü".encode() + b"D\0\0\0\4" + "👍".encode()
