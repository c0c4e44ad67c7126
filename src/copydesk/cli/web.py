"""`copydesk --web`: the console in a browser on this machine, through textual-serve (an extra).

Each browser page gets a console process of its own, started with the same desk options.
"""

import shlex
import socket
import sys
from importlib import import_module

import click

from copydesk.cli.context import Context
from copydesk.cli.web_auth import HOST, BrowserAuth
from copydesk.errors import SettingsError

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
