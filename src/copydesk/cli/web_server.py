"""The server behind `copydesk --web`: textual-serve's, with a door, a page of our own, and an end for every console.

Imported only where the extra `web` is installed.
"""

import asyncio
from codecs import getincrementaldecoder
from contextlib import suppress
from importlib.resources import files

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from copydesk.cli.web_door import HOST, Door

PATIENCE = 10.0
"""Seconds that a console has to end in, once nobody sees it; then it is killed."""
OF_THE_TERMINAL = ("COLORFGBG", "COLORTERM", "KITTY_WINDOW_ID", "TMUX", "STY")
"""What is said of the terminal where the server runs, which shows no console."""
REFUSED = (
    "This console is opened by the address that `copydesk --web` printed, once.\n"
    "If it was used already, there is a new one now, in the same terminal.\n"
)
LOOKS = {
    "Cache-Control": "no-store",
    # Whoever's page is opened from here is not to reach back, nor may any page hold this one in a frame.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
POLICY = (
    "default-src 'self' 'unsafe-inline'; connect-src 'self' {sockets}; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""What the page may load, and where it may connect to. Browsers do not agree that 'self' means web sockets, too."""


class ConsoleProcess(AppService):
    """The console behind one page."""

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment = super()._build_environment(width, height)
        ours = {"TEXTUAL_DRIVER": "copydesk.tui.web_driver:ConsoleDriver", "TERM": "xterm-256color"}
        return {name: value for name, value in environment.items() if name not in OF_THE_TERMINAL} | ours

    async def run(self) -> None:
        """Pass on what the console shows, and tell the page when it ends, whatever ends it."""
        # Where the console dies at once, textual-serve cancels its own reader of errors before that has begun, and so
        # whoever waits for it.
        with suppress(asyncio.CancelledError):
            await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Let the console end. It is read to its last word, or it would wait for its reader."""
        process, self._process = self._process, None
        if process is None:
            return
        killing = asyncio.get_running_loop().call_later(PATIENCE, process.kill)
        await super().stop()
        await process.communicate()
        killing.cancel()


class ConsoleServer(Server):
    """Each page that is opened is a console of its own."""

    def __init__(self, command: str, door: Door) -> None:
        super().__init__(command, HOST, door.port, "Copydesk")
        self._door = door
        self._pages: set[web.WebSocketResponse] = set()

    def initialize_logging(self) -> None:
        """Textual-serve would print every request, with the key in it."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard())
        return app

    def _guard(self) -> Middleware:
        door = self._door

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            known = door.knows(request.cookies.get(door.cookie))
            asks = request.method == "GET" and request.path == "/" and not known
            if not door.at_home(request.host, request.headers.get("Origin")):
                raise web.HTTPForbidden(text=REFUSED)
            entered = asks and door.take(request.query.get("key"))
            if not (known or entered):
                raise web.HTTPForbidden(text=REFUSED)
            response = await handler(request)
            if entered:
                response.set_cookie(door.cookie, door.session, httponly=True, samesite="Strict")
            return response

        return guard

    async def on_startup(self, app: web.Application) -> None:
        """Say where the console is."""
        self._door.announce()

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the pages: the server would wait a minute for whoever looks at one."""
        await asyncio.gather(*(page.close() for page in list(self._pages)))

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Pass on what the page says. One character may come as two halves of UTF-16, in two messages."""
        typed = getincrementaldecoder("utf-16-le")("replace")
        async for message in websocket:
            match message.json():
                case ["stdin", str(keys)]:
                    # An empty packet would be the end of all keys.
                    if text := typed.decode(keys.encode("utf-16-le", "surrogatepass")):
                        await app_service.send_bytes(text.encode())
                case ["resize", {"width": int(width), "height": int(height)}]:
                    await app_service.set_terminal_size(width, height)
                case ["focus" | "blur" as which]:
                    await app_service.send_meta({"type": which})
                case ["ping", sent]:
                    await websocket.send_json(["pong", sent])

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page. Textual-serve's own asks another site for its font."""
        page = (files("copydesk.cli") / "web_page.html").read_text(encoding="utf-8")
        policy = POLICY.format(sockets=" ".join(f"ws://{host}" for host in self._door.hosts))
        return web.Response(text=page, content_type="text/html", headers=LOOKS | {"Content-Security-Policy": policy})

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Start a console, and pass keys to it until its page is closed or it ends."""
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
