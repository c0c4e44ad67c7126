"""A web server in a process of its own, whose responses are made before: it costs what is measured next to nothing.

For tests of behaviour there is `feed_server`.
"""

import asyncio
import contextlib
import multiprocessing
from collections.abc import Mapping
from functools import partial
from multiprocessing.connection import Connection
from typing import Self


class _Protocol(asyncio.Protocol):
    """Serves the requests of one connection, one after the other."""

    def __init__(self, responses: Mapping[bytes, bytes], delay: float) -> None:
        self._responses = responses
        self._delay = delay
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            response = self._responses[head.split(b" ", 2)[1]]
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._transport.write, response)
            else:
                self._transport.write(response)


async def _serve(responses: Mapping[bytes, bytes], delay: float, started: Connection) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(_Protocol, responses, delay), "0.0.0.0", backlog=512)
    started.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _run(responses: Mapping[bytes, bytes], delay: float, started: Connection) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(responses, delay, started))


class PageServer:
    """Serves `pages` by their paths, at every address of 127.0.0.0/8, each `delay` seconds after its request."""

    def __init__(self, pages: Mapping[str, bytes], delay: float = 0.0) -> None:
        responses = {path.encode(): _response(page) for path, page in pages.items()}
        spawn = multiprocessing.get_context("spawn")
        self._started, child = spawn.Pipe(duplex=False)
        self._process = spawn.Process(target=_run, args=(responses, delay, child), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self._port = self._started.recv()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process.pid is not None
        return self._process.pid

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """Return the URL of `path` on `host`."""
        return f"http://{host}:{self._port}{path}"


def _response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
