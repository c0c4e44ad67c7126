"""Run the service with uvicorn: listen, announce, stop without cutting a request."""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import uvicorn

from copydesk.errors import SettingsError
from copydesk.http.app import Extension, create_app
from copydesk.http.protocol import HttpProtocol
from copydesk.http.service import Service
from copydesk.model.serialization import Struct

if TYPE_CHECKING:
    from copydesk.desk import Desks

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
STOP_TIMEOUT = 40
"""Seconds that requests get to finish when the server stops; the longest one waits 30 seconds for platforms."""
ARRIVAL_TIMEOUT = 5.0
"""Seconds that requests of which a part is still missing get to arrive when the server stops."""
IDLE_TIMEOUT = 75
"""Seconds after which an idle connection is closed; longer than the usual 60 of a reverse proxy."""


class ServerOptions(Struct, frozen=True):
    """Address that the server listens on, and the proxies and hosts it trusts."""

    host: str = "127.0.0.1"
    port: int = 8470
    """0 takes a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names besides those of the loopback interface under which requests may come."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses whose `X-Forwarded-*` headers are believed."""

    @property
    def is_loopback(self) -> bool:
        """True if only programs of this machine can connect."""
        return self.host in LOOPBACK_NAMES


class _Server(uvicorn.Server):
    """uvicorn's server, which reports that it is ready, and tells the service when it stops, so that streams end."""

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets)
        if self.started:
            # Everything imported by now lives until exit: keep it out of every garbage collection.
            gc.freeze()
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT; a second one stops waiting for requests in progress.

        uvicorn's own handlers would raise the signal again at the end, before the desks are closed.
        """
        # The loop's handlers run between callbacks, so a request is never interrupted in the middle of a step.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        yield

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, end streams, wait for requests in progress, if they have arrived."""
        # First: an open stream counts as a request in progress, and uvicorn would wait for it until STOP_TIMEOUT.
        self._service.stopping.set()
        # uvicorn closes idle connections, but would wait for a body as long as it may take at any other time.
        deadline = asyncio.get_running_loop().call_later(ARRIVAL_TIMEOUT, self._close_unfinished)
        await super().shutdown(sockets)
        deadline.cancel()

    def _close_unfinished(self) -> None:
        for connection in list(self.server_state.connections):
            assert isinstance(connection, HttpProtocol)
            connection.close_unfinished()


async def serve(
    desks: "Desks",
    options: ServerOptions,
    on_ready: Callable[[str], None],
    create_extensions: Callable[[Service], Sequence[Extension]] = lambda _: (),
) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` gets the base URL. Raise SettingsError if the port cannot be used."""
    service = Service(desks)
    names = None if "*" in options.allowed_hosts else LOOPBACK_NAMES | set(options.allowed_hosts) | {options.host}
    app = create_app(service, allowed_hosts=names, extensions=create_extensions(service))
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        # uvicorn's configuration would replace the loggers of the process; ours redact secrets.
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=IDLE_TIMEOUT,
        timeout_graceful_shutdown=STOP_TIMEOUT,
        # Off unless asked for: any client can send X-Forwarded-For, and the log would name an invented address.
        proxy_headers=bool(options.trusted_proxies),
        forwarded_allow_ips=list(options.trusted_proxies) or None,
    )
    # Opened here instead of by uvicorn, which ends the process with its own message if the port is in use.
    listener = _listen(options.host, options.port)
    with listener:
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        await _Server(config, service, lambda: on_ready(address)).serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        address, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # With the protocol: asyncio sets TCP_NODELAY only then, and without it some responses wait 40 ms for an ACK.
        listener = socket.socket(address[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        with ExitStack() as on_error:
            on_error.callback(listener.close)
            # A restart would otherwise wait for connections of the previous process in TIME_WAIT, up to a minute.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address[4])
            on_error.pop_all()
    except OSError as error:
        is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        advice = "Choose another: `copydesk serve --port 8471`." if is_port else "Pass an address of this machine."
        raise SettingsError(
            f"Cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}.", hint=advice
        ) from None
    # A child process that outlives the server would keep the port in use.
    listener.set_inheritable(False)
    return listener
