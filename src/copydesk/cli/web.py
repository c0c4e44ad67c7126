"""`copydesk --web`: the console in a browser on this machine, through textual-serve (an extra).

Each browser page gets a console process of its own, started with the same desk options.

The server listens on the loopback interface only, but other users of this machine and other pages in the same browser
can reach that too. So the address carries a key that works once. The page sends it as the first message of its
WebSocket and gets a session token for further messages of this kind, which it keeps in the storage of its origin: that
is private to this port, while a cookie would be sent to every server on this machine. Requests from other pages, or
under a host name pointed at this machine (DNS rebinding), are refused.
"""

import secrets
import shlex
import sys
from collections.abc import Callable
from importlib import import_module

import click

from copydesk.cli.context import Context
from copydesk.errors import SettingsError
from copydesk.version import install_hint

HOST = "127.0.0.1"
_BYTES = 16

PORT = 8321


class BrowserAuth:
    """Keys, session token and origin checks. `announce` is called with each address that opens the console, once."""

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.port = port
        self.session_token = secrets.token_urlsafe(_BYTES)
        """Opens further consoles in a browser that has redeemed a key, until the server stops."""
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
            # A browser keeps the fragment to itself: the key is in no request.
            self._announce(f"http://{HOST}:{self.port}/#key={self._key}")

    def is_own_origin(self, host: str, origin: str | None) -> bool:
        """Return True if a request for `host` from a page of `origin` (None if there is none) is our own."""
        return host in self.hosts and origin in (None, *(f"http://{name}" for name in self.hosts))

    def admits(self, key: str | None, session: str | None) -> bool:
        """Return True for the session token, or else for a valid key, which is thereby used up."""
        return self.is_session(session) or self.redeem(key)

    def is_session(self, token: str | None) -> bool:
        """Return True if this is the token of an admitted browser."""
        return token is not None and _equals(token, self.session_token)

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
    # JSON may contain half of a surrogate pair.
    return secrets.compare_digest(given.encode(errors="surrogatepass"), expected.encode())


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
            hint=install_hint("web"),
        ) from None
    server.ConsoleServer(console_command(context), BrowserAuth(port, print_address)).serve()


def print_address(address: str) -> None:
    """Print the console's address."""
    click.echo(f"The console is at {address}\nThe address works once, in one browser; keep it secret. Ctrl-C stops.")
