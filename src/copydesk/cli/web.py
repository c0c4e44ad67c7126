"""`copydesk --web`: the console in a browser on this machine, by textual-serve, which is an extra.

Each page that is opened is a console of its own, a process that is called with the same desk. The server listens on the
loopback only. That keeps out neither other users of this machine nor other pages in the same browser: so the address
that is printed has a key in it, and what comes from another page's address is refused.
"""

import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import click

from copydesk.cli.context import Context
from copydesk.errors import SettingsError

HOST = "127.0.0.1"
PORT = 8321
COOKIE = "copydesk"
Handler = Callable[[Any], Awaitable[Any]]
"""Takes aiohttp's request, gives its response."""


def command(context: Context) -> str:
    """How a console of the same desk is called, for a shell."""
    words = [sys.executable, "-m", "copydesk"]
    words += ["--home", str(context.home.absolute())] if context.home is not None else []
    words += ["--sample"] * context.sample + ["--debug"] * context.debug
    return shlex.join(words)


def serve(context: Context, port: int = PORT) -> None:
    """Serve until Ctrl-C. SettingsError where textual-serve is missing, or the port is another program's."""
    try:
        server = import_module("textual_serve.server").Server(command(context), HOST, port, "Copydesk")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"The browser's console needs the package textual-serve ({error.name} is missing).",
            hint="Install it: pip install 'copydesk[web]'",
        ) from None
    check_port(port)
    key = secrets.token_urlsafe(16)
    guard(server, key)

    async def say(_: object) -> None:
        click.echo(f"The console is on {server.public_url}/?key={key}\nKeep the address to yourself. Ctrl-C ends it.")

    server.on_startup = say
    server.initialize_logging = lambda: None  # it would print every request, with the key in it
    server.serve()


def check_port(port: int) -> None:
    """SettingsError where the port cannot be listened on: the server would say where it is before it finds out."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except OSError as error:
        raise SettingsError(
            f"Port {port} cannot be listened on: {error.strerror}.", hint="Choose another: --web --port 8400"
        ) from None


def guard(server: Any, key: str) -> None:
    """Let nobody in but who has the key, from the server's own page; the first page turns the key into a cookie."""
    web = import_module("aiohttp.web")
    hosts = {f"{HOST}:{server.port}", f"localhost:{server.port}"}

    def check(request: Any, given: str) -> None:
        origin = request.headers.get("Origin")
        # A name that another site has pointed at this machine is no host of ours.
        at_home = request.host in hosts and origin in (None, *(f"http://{host}" for host in hosts))
        if not at_home or not secrets.compare_digest(given.encode(), key.encode()):
            raise web.HTTPForbidden(text="This console is opened by the address that `copydesk --web` printed.\n")

    def guarded(handle: Handler, *, first: bool = False) -> Handler:
        async def answer(request: Any) -> Any:
            given = (request.query.get("key") if first else None) or request.cookies.get(COOKIE, "")
            check(request, given)
            response = await handle(request)
            if first:
                response.set_cookie(COOKIE, key, httponly=True, samesite="Strict")
            return response

        return answer

    server.handle_index = guarded(server.handle_index, first=True)
    server.handle_websocket = guarded(server.handle_websocket)
    server.handle_download = guarded(server.handle_download)
