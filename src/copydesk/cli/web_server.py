"""The server behind `copydesk --web`: our page, access control and bounds around textual-serve's console processes.

Imported only if the extra `web` is installed.
"""

import asyncio
import json
import logging
import os
import signal
from codecs import getincrementaldecoder
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from copydesk.cli.web import HOST, BrowserAuth
from copydesk.errors import SettingsError

OPEN_TIMEOUT = 10.0
"""Seconds in which a page has to send its key or session token."""
MAX_CONSOLES = 8
"""Consoles at the same time; each takes about 100 MB."""
MAX_SIZE = 1000, 500
"""Columns and rows of a console: a full 4K screen in the smallest legible font."""
DEFAULT_SIZE = 80, 24
SHUTDOWN_TIMEOUT = 30.0
"""Seconds a console has to handle the last keys and exit after its page is closed; then it is killed."""
TERMINAL_VARIABLES = ("COLORFGBG", "COLORTERM", "KITTY_WINDOW_ID", "TMUX", "STY")
"""Environment variables that describe the server's terminal, which displays no console."""
REFUSED = (
    "Open the console with the address that `copydesk --web` printed. Each address works once. "
    "If yours was used already, the terminal now shows a new one."
)
TOO_MANY = f"{MAX_CONSOLES} consoles are open, which is the maximum. Close one of them, then reopen this one."
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    # Pages opened from here get no handle on this window, and no page may frame it.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
CONTENT_SECURITY_POLICY = (
    "default-src 'self' 'unsafe-inline'; connect-src 'self' {sockets}; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""Content Security Policy. Sockets are listed because browsers disagree on whether 'self' covers them."""
log = logging.getLogger("copydesk.web")
# aiohttp logs a traceback for a request that is not HTTP, which any program on this machine can send.
log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


class ConsoleProcess(AppService):
    """The console behind one page."""

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment = super()._build_environment(width, height)
        overrides = {"TEXTUAL_DRIVER": "copydesk.tui.terminal.web_driver:ConsoleDriver", "TERM": "xterm-256color"}
        return {name: value for name, value in environment.items() if name not in TERMINAL_VARIABLES} | overrides

    async def run(self) -> None:
        """Forward the console's output, and tell the page when the process ends, for any reason."""
        # If the console dies at once, textual-serve cancels its stderr reader before it has started, and that
        # cancellation reaches the task awaiting it.
        with suppress(asyncio.CancelledError):
            await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Stop the console. Its output is read to the end, or it would block on a full pipe."""
        process = self._process
        if process is None:
            return
        # A console that hangs must not keep the server from shutting down.
        kill_timer = asyncio.get_running_loop().call_later(SHUTDOWN_TIMEOUT, process.kill)
        with suppress(ConnectionError):  # the page is gone, and cannot be told
            await super().stop()
        await process.communicate()
        kill_timer.cancel()


class ConsoleServer:
    """Starts a console for each page that has a key or the session token."""

    def __init__(self, command: str, auth: BrowserAuth) -> None:
        self._command = command
        self._auth = auth
        self._downloads = DownloadManager()
        self._pages: set[web.WebSocketResponse] = set()
        self._console_count = 0

    def serve(self) -> None:
        """Serve until SIGINT or SIGTERM. Raise SettingsError if the port is in use."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        stopped = asyncio.Event()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signal_number, stopped.set)
        runner = self.runner()
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, HOST, self._auth.port).start()
            except OSError as error:
                raise SettingsError(
                    f"Cannot listen on port {self._auth.port}: {_reason(error)}.",
                    hint="Choose another: --web --port 8400",
                ) from None
            # Only now: a browser that opens the address at once must get the page.
            self._auth.announce()
            await stopped.wait()
        finally:
            await runner.cleanup()

    def runner(self) -> web.AppRunner:
        """Return the runner of the web application."""
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self._handle_index),
                web.get("/ws", self._handle_websocket),
                web.static("/static", Path(str(files("textual_serve") / "static"))),
            ]
        )
        app.on_shutdown.append(self._close_pages)
        return web.AppRunner(app, access_log=None, logger=log)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests from pages of another origin, and under another host name."""
        if not self._auth.is_own_origin(request.host, request.headers.get("Origin")):
            raise web.HTTPForbidden(text=REFUSED)
        return await handler(request)

    async def _close_pages(self, _: web.Application) -> None:
        """Close the pages: the server would wait a minute for open ones."""
        await asyncio.gather(*(page.close() for page in list(self._pages)))

    async def _handle_index(self, _: web.Request) -> web.Response:
        """Return the page, which holds no secret: its script finds the key in the address."""
        page = (files("copydesk.cli") / "web_page.html").read_text(encoding="utf-8")
        policy = CONTENT_SECURITY_POLICY.format(sockets=" ".join(f"ws://{host}" for host in self._auth.hosts))
        return web.Response(
            text=page, content_type="text/html", headers=SECURITY_HEADERS | {"Content-Security-Policy": policy}
        )

    async def _handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Admit the page by its first message; then run a console for it until the page is closed or it ends."""
        # A laptop that is closed sends nothing: without the heartbeat its console would run for ever.
        page = web.WebSocketResponse(heartbeat=15)
        await page.prepare(request)
        self._pages.add(page)
        try:
            # The page may be gone at any time, with a message to it on the way.
            with suppress(ConnectionError):
                if not await self._is_admitted(page):
                    await _refuse(page, REFUSED)
                # After the key was checked, so that a stranger cannot tell how many consoles are open.
                elif self._console_count >= MAX_CONSOLES:
                    await _refuse(page, TOO_MANY)
                else:
                    await self._run_console(page, _parse_size(request.query.get("width"), request.query.get("height")))
        finally:
            self._pages.discard(page)
        return page

    async def _is_admitted(self, page: web.WebSocketResponse) -> bool:
        try:
            message = _parse(await page.receive(OPEN_TIMEOUT))
        except (TimeoutError, ValueError):
            return False
        match message:
            case ["open", {"key": str() | None as key, "session": str() | None as session}]:
                return self._auth.admits(key, session)
        return False

    async def _run_console(self, page: web.WebSocketResponse, size: tuple[int, int]) -> None:
        async def close() -> None:
            await page.close()

        console = ConsoleProcess(
            self._command,
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=close,
            download_manager=self._downloads,
        )
        # Counted before it is started: starting takes time, in which further pages may come.
        self._console_count += 1
        try:
            # The key works once. With the session token the page can be reloaded.
            await page.send_json(["session", self._auth.session_token])
            try:
                await console.start(*size)
            except OSError as error:  # no process, memory or file left
                await _refuse(page, f"The console cannot start: {_reason(error)}.")
                return
            await _forward_messages(page, console)
        finally:
            await console.stop()
            # Only after the process has ended: until then it takes its memory.
            self._console_count -= 1


async def _refuse(page: web.WebSocketResponse, text: str) -> None:
    """Let the page show `text`, and close the connection."""
    await page.send_json(["refused", text])
    await page.close(code=WSCloseCode.POLICY_VIOLATION)


def _parse(message: WSMessage) -> object:
    """Return the JSON of a text message. Raise ValueError for anything else, which no page of ours sends."""
    if message.type is not WSMsgType.TEXT:
        raise ValueError(message.type)
    try:
        return json.loads(message.data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


async def _forward_messages(page: web.WebSocketResponse, console: ConsoleProcess) -> None:
    """Forward the page's messages until it is closed, or sends something that is not JSON."""
    # A character may arrive as two UTF-16 halves, in two messages.
    decoder = getincrementaldecoder("utf-16-le")("replace")
    async for message in page:
        try:
            parsed = _parse(message)
        except ValueError:
            await page.close(code=WSCloseCode.INVALID_TEXT)
            return
        match parsed:
            case ["stdin", str(keys)]:
                # An empty packet would end the input stream.
                if text := decoder.decode(keys.encode("utf-16-le", "surrogatepass")):
                    await console.send_bytes(text.encode())
            case ["resize", {"width": int(width), "height": int(height)}]:
                await console.set_terminal_size(*_bounded(width, height))
            case ["focus" | "blur" as event]:
                await console.send_meta({"type": event})
            case ["ping", timestamp]:
                await page.send_json(["pong", timestamp])


def _parse_size(width: str | None, height: str | None) -> tuple[int, int]:
    """Return columns and rows of the page's address; the default if they are missing or no numbers."""
    try:
        return _bounded(int(width or ""), int(height or ""))
    except ValueError:
        return DEFAULT_SIZE


def _bounded(width: int, height: int) -> tuple[int, int]:
    """Return a size that a console can draw: it needs memory for every cell."""
    return min(max(width, 1), MAX_SIZE[0]), min(max(height, 1), MAX_SIZE[1])


def _reason(error: OSError) -> str:
    # asyncio replaces the system's message by a longer one of its own.
    return os.strerror(error.errno) if error.errno else str(error)
