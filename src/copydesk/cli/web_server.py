"""The server behind `copydesk --web`: textual-serve's, plus access control, our own page and a clean shutdown.

Imported only if the extra `web` is installed.
"""

import asyncio
from codecs import getincrementaldecoder
from contextlib import suppress
from importlib.resources import files

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from copydesk.cli.web import HOST, BrowserAuth

SHUTDOWN_TIMEOUT = 10.0
"""Seconds a console has to exit after its page is closed; then it is killed."""
TERMINAL_VARIABLES = ("COLORFGBG", "COLORTERM", "KITTY_WINDOW_ID", "TMUX", "STY")
"""Environment variables that describe the server's terminal, which displays no console."""
REFUSED = (
    "Open the console with the address that `copydesk --web` printed. Each address works once.\n"
    "If yours was used already, the terminal now shows a new one.\n"
)
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
        process, self._process = self._process, None
        if process is None:
            return
        # A console that hangs must not keep the server from shutting down.
        kill_timer = asyncio.get_running_loop().call_later(SHUTDOWN_TIMEOUT, process.kill)
        await super().stop()
        await process.communicate()
        kill_timer.cancel()


class ConsoleServer(Server):
    """Starts a console for each page."""

    def __init__(self, command: str, auth: BrowserAuth) -> None:
        super().__init__(command, HOST, auth.port, "Copydesk")
        self._auth = auth
        self._pages: set[web.WebSocketResponse] = set()

    def initialize_logging(self) -> None:
        """Do nothing: textual-serve would log every request, with the key in it."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard())
        return app

    def _guard(self) -> Middleware:
        auth = self._auth

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            has_session = auth.is_session(request.cookies.get(auth.cookie_name))
            may_redeem = request.method == "GET" and request.path == "/" and not has_session
            if not auth.is_own_origin(request.host, request.headers.get("Origin")):
                raise web.HTTPForbidden(text=REFUSED)
            # Redeem only after the origin check: a foreign page must not use up the key.
            redeemed = may_redeem and auth.redeem(request.query.get("key"))
            if not (has_session or redeemed):
                raise web.HTTPForbidden(text=REFUSED)
            response = await handler(request)
            if redeemed:
                # Strict: the browser does not send it with requests that start on another site.
                response.set_cookie(auth.cookie_name, auth.session_token, httponly=True, samesite="Strict")
            return response

        return guard

    async def on_startup(self, app: web.Application) -> None:
        """Announce the console's address."""
        self._auth.announce()

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the pages: the server would wait a minute for open ones."""
        await asyncio.gather(*(page.close() for page in list(self._pages)))

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Forward the page's messages. A character may arrive as two UTF-16 halves, in two messages."""
        decoder = getincrementaldecoder("utf-16-le")("replace")
        async for message in websocket:
            match message.json():
                case ["stdin", str(keys)]:
                    # An empty packet would end the input stream.
                    if text := decoder.decode(keys.encode("utf-16-le", "surrogatepass")):
                        await app_service.send_bytes(text.encode())
                case ["resize", {"width": int(width), "height": int(height)}]:
                    await app_service.set_terminal_size(width, height)
                case ["focus" | "blur" as event]:
                    await app_service.send_meta({"type": event})
                case ["ping", timestamp]:
                    await websocket.send_json(["pong", timestamp])

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return our page; textual-serve's own loads its font from another site."""
        page = (files("copydesk.cli") / "web_page.html").read_text(encoding="utf-8")
        policy = CONTENT_SECURITY_POLICY.format(sockets=" ".join(f"ws://{host}" for host in self._auth.hosts))
        return web.Response(
            text=page, content_type="text/html", headers=SECURITY_HEADERS | {"Content-Security-Policy": policy}
        )

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Start a console and forward messages until its page is closed or it ends."""
        page = web.WebSocketResponse(heartbeat=15)
        await page.prepare(request)

        async def close() -> None:
            await page.close()

        console = ConsoleProcess(
            self.command,
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=close,
            download_manager=self.download_manager,
        )
        self._pages.add(page)
        try:
            await console.start(*(to_int(request.query.get(side, ""), 24) for side in ("width", "height")))
            await self._process_messages(page, console)
        finally:
            self._pages.discard(page)
            await console.stop()
        return page
