"""Tests for the server of `copydesk --web`: authentication, headers, bounds, and the end of console processes."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
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
    """A running server, and its address and credentials for clients."""

    def __init__(self, server: web_server.ConsoleServer, auth: BrowserAuth, addresses: list[str]) -> None:
        self.console_server = server
        self.auth = auth
        self.addresses = addresses
        self.url = f"http://{HOST}:{auth.port}"
        self.session = {"key": None, "session": auth.session_token}

    @property
    def key(self) -> str:
        """The key of the last address."""
        return self.addresses[-1].partition("#key=")[2]


@asynccontextmanager
async def run_server(command: str = "exec false") -> AsyncIterator[RunningServer]:
    """Run a server on a free port in this process."""
    addresses: list[str] = []
    auth = BrowserAuth(find_free_port(), addresses.append)
    server = web_server.ConsoleServer(command, auth)
    runner = server.runner()
    await runner.setup()
    await web.TCPSite(runner, HOST, auth.port).start()
    auth.announce()
    try:
        yield RunningServer(server, auth, addresses)
    finally:
        await runner.cleanup()


async def read_pid(page: aiohttp.ClientWebSocketResponse) -> int:
    """Return the id of the console process, which it prints first."""
    return int((await asyncio.wait_for(page.receive_bytes(), 60)).decode())


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fail if the server prints or logs a traceback: both end on the user's terminal."""
    yield
    assert [record.exc_info for record in caplog.get_records("call") if record.exc_info] == []
    assert "Traceback" not in "".join(capfd.readouterr())


@asynccontextmanager
async def connect(server: RunningServer, query: str = "") -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Open a page's WebSocket without sending anything."""
    async with (
        aiohttp.ClientSession() as browser,
        browser.ws_connect(f"{server.url}/ws{query}", origin=server.url) as page,
    ):
        yield page


async def receive_all(page: aiohttp.ClientWebSocketResponse) -> list[object]:
    """Return the JSON messages until the server closes the page."""
    async with asyncio.timeout(60):
        return [message.json() async for message in page]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - no event signals it
            await asyncio.sleep(0.01)


# Authentication


async def test_key_opens_console_and_gives_session() -> None:
    async with run_server(console_program(WAIT_FOR_INPUT)) as server:
        async with connect(server) as page:
            await page.send_json(["open", {"key": server.key, "session": None}])
            assert await page.receive_json() == ["session", server.auth.session_token]
            assert await read_pid(page)
        async with connect(server) as page:
            await page.send_json(["open", server.session])
            assert await page.receive_json() == ["session", server.auth.session_token]
            assert await read_pid(page)


async def test_used_address_is_refused_and_replaced() -> None:
    async with run_server() as server:
        used = ["open", {"key": server.key, "session": None}]
        async with connect(server) as page:
            await page.send_json(used)
            await page.receive_json()
        async with connect(server) as page:
            await page.send_json(used)
            assert await receive_all(page) == [["refused", web_server.REFUSED]]
        assert len(server.addresses) == 2


async def test_page_holds_no_secret() -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser:
        for path in ("/", "/static/js/textual.js"):
            async with browser.get(server.url + path, cookies={"copydesk": "x"}) as response:
                assert response.status == 200
                assert "Set-Cookie" not in response.headers
                page = await response.text()
                assert server.key not in page
                assert server.auth.session_token not in page


@pytest.mark.parametrize("path", ["/static/", "/static/../../app_service.py", "/download/x"])
async def test_other_paths_are_not_found(path: str) -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser, browser.get(server.url + path) as response:
        assert response.status in (403, 404)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "elsewhere.example"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}],
    ids=str,
)
async def test_foreign_host_or_origin_is_refused(headers: dict[str, str]) -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect(server.url + "/ws", headers=headers)
        async with browser.get(server.url, headers=headers) as response:
            assert response.status == 403
            assert "the address that `copydesk --web` printed" in await response.text()


@pytest.mark.parametrize(
    "first",
    [
        '["open", {"key": "guess", "session": "guess"}]',
        '["open", {"key": null, "session": null}]',
        '["open", {"key": "\\ud83d", "session": "\\ud83d"}]',
        '["open", {"key": 1, "session": []}]',
        '["open"]',
        '["stdin", "a"]',
        "{not json",
        "[" * 100_000,
        "9" * 5_000,
        "",
    ],
    ids=range(10),
)
async def test_page_without_valid_secret_gets_no_console(first: str) -> None:
    async with run_server(console_program(WAIT_FOR_INPUT)) as server, connect(server) as page:
        await page.send_str(first)
        assert await receive_all(page) == [["refused", web_server.REFUSED]]


async def test_silent_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "OPEN_TIMEOUT", 0.05)
    async with run_server() as server, connect(server) as page:
        assert await receive_all(page) == [["refused", web_server.REFUSED]]


async def test_page_loads_nothing_from_other_sites() -> None:
    async with run_server() as server, aiohttp.ClientSession() as browser, browser.get(server.url) as response:
        page = await response.text()
        assert "http" not in page
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        port = server.auth.port
        sockets = f"connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port};"
        assert sockets in response.headers["Content-Security-Policy"]
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-store"


# Malformed requests


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: \xff\xfe=\xed\xa0\x80; ;=;;\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: copydesk-1=\xc3\x28\r\nConnection: close\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
        b"GET /%ff%00?key=%ff HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HT",
        b"",
    ],
    ids=range(11),
)
async def test_malformed_request_prints_no_traceback(request_: bytes) -> None:
    async with run_server() as server:
        reader, writer = await asyncio.open_connection(HOST, server.auth.port)
        writer.write(request_.replace(b"{host}", f"{HOST}:{server.auth.port}".encode()))
        writer.write_eof()
        with suppress(ConnectionError):
            answer = await asyncio.wait_for(reader.read(), 60)
            assert b" 500 " not in answer
        writer.close()
        async with aiohttp.ClientSession() as browser, browser.get(server.url) as response:
            assert response.status == 200


@pytest.mark.parametrize("message", ["{not json", "[" * 100_000, b"\0"], ids=["text", "nested", "binary"])
async def test_malformed_message_closes_page(message: str | bytes) -> None:
    async with run_server(console_program(WAIT_FOR_INPUT)) as server, open_page(server) as page:
        process = await read_pid(page)
        await (page.send_str(message) if isinstance(message, str) else page.send_bytes(message))
        await receive_all(page)
        assert page.close_code == aiohttp.WSCloseCode.INVALID_TEXT
        await wait_for_exit(process)


async def test_early_close_prints_no_traceback() -> None:
    """The connection is cut while the console writes, and while the page still waits for it."""
    program = console_program("os.write(1, (b'D' + (9).to_bytes(4, 'big') + bytes(9)) * 100_000); " + WAIT_FOR_INPUT)
    async with run_server(program) as server:
        for message in (None, ["open", server.session]):
            async with connect(server) as page:
                if message is not None:
                    await page.send_json(message)
                transport = page._response.connection.transport
                transport.abort()
        await until(lambda: not server.console_server._pages)


# Bounds


async def test_number_of_consoles_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "MAX_CONSOLES", 1)
    async with run_server(console_program(WAIT_FOR_INPUT)) as server:
        async with open_page(server) as page:
            process = await read_pid(page)
            async with connect(server) as second:
                await second.send_json(["open", server.session])
                assert await receive_all(second) == [["refused", web_server.TOO_MANY]]
        await wait_for_exit(process)
        await until(lambda: not server.console_server._console_count)
        async with open_page(server) as page:
            assert await read_pid(page)


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("?width=90&height=30", "90 30"),
        ("?width=1000000000&height=1000000000", "1000 500"),
        ("?width=-5&height=0", "1 1"),
        ("?width=x&height=30", "80 24"),
        (f"?width={'9' * 5000}&height=3", "80 24"),
        ("", "80 24"),
    ],
    ids=["page", "huge", "negative", "word", "digits", "none"],
)
async def test_first_size_is_bounded(query: str, size: str, tmp_path: Path) -> None:
    file = tmp_path / "size"
    program = console_program(f"open({str(file)!r}, 'w').write(os.environ['COLUMNS'] + ' ' + os.environ['ROWS']); ")
    async with run_server(program) as server, connect(server, query) as page:
        await page.send_json(["open", server.session])
        await receive_until_closed(page)
    assert file.read_text() == size


async def test_resize_is_bounded(tmp_path: Path) -> None:
    file, expected = tmp_path / "packet", b'{"type": "resize", "width": 1000, "height": 500}'
    program = console_program(f"open({str(file)!r}, 'wb').write(sys.stdin.buffer.read({5 + len(expected)})); ")
    async with run_server(program) as server, open_page(server) as page:
        await page.send_json(["resize", {"width": 10**9, "height": 10**9}])
        await receive_until_closed(page)
    assert file.read_bytes().endswith(expected)


# Ending consoles


@asynccontextmanager
async def open_page(server: RunningServer) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Open a console as the page of an admitted browser does."""
    async with connect(server, "?width=90&height=30") as page:
        await page.send_json(["open", server.session])
        assert (await page.receive_json())[0] == "session"
        yield page


async def receive_until_closed(page: aiohttp.ClientWebSocketResponse) -> None:
    """Wait until the server closes the page."""
    async with asyncio.timeout(60):
        async for _ in page:
            pass


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
        connect(server) as silent,
        open_page(server) as page,
    ):
        process = await read_pid(page)
        await server.console_server._close_pages(web.Application())
        await wait_for_exit(process)
        await receive_until_closed(silent)


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
