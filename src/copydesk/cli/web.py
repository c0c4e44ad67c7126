"""`copydesk --web`: the console in a browser on this machine, by textual-serve, which is an extra.

Each page that is opened is a console of its own, a process that is called with the same desk.
"""

import shlex
import socket
import sys
from importlib import import_module

import click

from copydesk.cli.context import Context
from copydesk.cli.web_door import HOST, Door
from copydesk.errors import SettingsError

PORT = 8321


def command(context: Context) -> str:
    """How a console of the same desk is called, for a shell."""
    words = [sys.executable, "-m", "copydesk", *context.chosen_desk] + ["--debug"] * context.debug
    # Without a shell between them the server can end what it has started.
    return f"exec {shlex.join(words)}"


def serve(context: Context, port: int = PORT) -> None:
    """Serve until Ctrl-C. SettingsError where textual-serve is missing, or the port is another program's."""
    try:
        server = import_module("copydesk.cli.web_server")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"The browser's console needs the package textual-serve ({error.name} is missing).",
            hint="Install it: pip install 'copydesk[web]'",
        ) from None
    check_port(port)
    server.ConsoleServer(command(context), Door(port, say)).serve()


def say(address: str) -> None:
    """Tell the user an address."""
    click.echo(f"The console is on {address}\nIt opens once, in one browser; keep it to yourself. Ctrl-C ends it.")


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
