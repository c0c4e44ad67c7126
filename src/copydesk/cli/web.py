"""`copydesk --web`: the console in a browser on this machine, through textual-serve (an extra).

Each browser page gets a console process of its own, started with the same desk options.

The server listens on the loopback interface only, but other users of this machine and other pages in the same browser
can reach that too. So the address carries a key that works once and is exchanged for a cookie; requests from other
pages, or under a host name pointed at this machine (DNS rebinding), are refused.
"""

import secrets
import shlex
import socket
import sys
from collections.abc import Callable
from importlib import import_module

import click

from copydesk.cli.context import Context
from copydesk.errors import SettingsError

HOST = "127.0.0.1"
_BYTES = 16


class BrowserAuth:
    """Keys, cookie and origin checks. `announce` is called with each address that opens the console, once."""

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.port = port
        self.cookie_name = f"copydesk-{port}"
        """Cookie name. Browsers share cookies between the ports of a host, so the name contains the port."""
        self.session_token = secrets.token_urlsafe(_BYTES)
        """The cookie's value."""
        self._announce = announce
        self.hosts = (f"{HOST}:{port}", f"localhost:{port}")
        """Host headers under which a browser reaches the console."""
        self._key: str | None = None
        # Remembered so that opening a used address makes a new one appear on the terminal.
        self._used_keys: list[str] = []

    def announce(self) -> None:
        """Create a key, unless an unused one exists, and announce its address."""
        if self._key is None:
            self._key = secrets.token_urlsafe(_BYTES)
            self._announce(f"http://{HOST}:{self.port}/?key={self._key}")

    def is_own_origin(self, host: str, origin: str | None) -> bool:
        """Return True if a request for `host` from a page of `origin` (None if there is none) is our own."""
        return host in self.hosts and origin in (None, *(f"http://{name}" for name in self.hosts))

    def is_session(self, cookie: str | None) -> bool:
        """Return True if this is the cookie of an admitted browser."""
        return cookie is not None and _equals(cookie, self.session_token)

    def redeem(self, key: str | None) -> bool:
        """Redeem a key; return True if it was valid. It works once: a used key makes a new one be announced."""
        if key is None:
            return False
        if self._key is not None and _equals(key, self._key):
            self._used_keys.append(key)
            # Used up before the response: two requests with the same key must not both succeed.
            self._key = None
            return True
        if any(_equals(key, used_key) for used_key in self._used_keys):
            self.announce()
        return False


def _equals(given: str, expected: str) -> bool:
    """Compare in constant time, so that timing reveals nothing."""
    return secrets.compare_digest(given.encode(), expected.encode())


PORT = 8321


def console_command(context: Context) -> str:
    """Return the shell command that starts a console of the same desk."""
    argv = [sys.executable, "-m", "copydesk", *context.desk_options] + ["--debug"] * context.debug
    # `exec` replaces the shell, so that signals of the server reach the console itself.
    return f"exec {shlex.join(argv)}"


def serve(context: Context, port: int = PORT) -> None:
    """Serve until Ctrl-C. Raise SettingsError if textual-serve is missing or the port is in use."""
    try:
        server = import_module("copydesk.cli.web_server")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"--web needs the package textual-serve ({error.name} is missing).",
            hint="Install it: pip install 'copydesk[web]'",
        ) from None
    check_port(port)
    server.ConsoleServer(console_command(context), BrowserAuth(port, print_address)).serve()


def print_address(address: str) -> None:
    """Print the console's address."""
    click.echo(f"The console is at {address}\nThe address works once, in one browser; keep it secret. Ctrl-C stops.")


def check_port(port: int) -> None:
    """Raise SettingsError if the port cannot be bound: the server would print its address before it finds out."""
    try:
        with socket.socket() as probe:
            # As the server does: a port in TIME_WAIT after a restart is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on port {port}: {error.strerror}.", hint="Choose another: --web --port 8400"
        ) from None
