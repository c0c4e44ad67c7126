"""Tests for the fault-injecting proxy used by other tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from copydesk.network.transport import GuardedTransport
from copydesk.posting.client import PlatformClient, Response
from copydesk.posting.platform import NotSentError, UnknownOutcomeError
from fault_proxy import GARBAGE, Cut, FaultProxy, ReplacedResponse, Restart


@asynccontextmanager
async def small_server(received: list[bytes]) -> AsyncIterator[str]:
    """Start a server that records request bodies and answers "made"; yield its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"a post."))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nmade")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def proxied(*faults: object, aim: str = "POST /posts") -> AsyncIterator[tuple[FaultProxy, list[bytes]]]:
    received: list[bytes] = []
    async with small_server(received) as target, FaultProxy(target, pattern=aim) as proxy:
        proxy.faults.extend(faults)
        yield proxy, received


async def send(proxy: FaultProxy, path: str = "/posts", *, limit: float = 60, **headers: str) -> Response:
    caller = PlatformClient(GuardedTransport(allow_private=True, concurrency=1), timeout=limit)
    request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return await caller.request("POST", proxy.url + path, content=b"a post.", headers=request_headers)


async def test_request_passes_without_fault():
    async with proxied() as (proxy, received):
        assert (await send(proxy)).body == b"made"
        assert len(received) == 1


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [(Cut.BEFORE, 0), (Cut.AFTER, 1), (Cut.HALF, 1), (Cut.SILENT, 1), (Cut.LATE, 0), (GARBAGE, 0)],
)
async def test_fault_loses_one_response(fault, arrives):
    async with proxied(fault) as (proxy, received):
        with pytest.raises(UnknownOutcomeError):
            # Only this one is noticed by the timeout; the others end the connection.
            await send(proxy, limit=1 if fault is Cut.SILENT else 60)
        assert len(received) == len(proxy.forwarded) == arrives
        assert (await send(proxy)).is_success


async def test_late_request_arrives_on_demand():
    async with proxied(Cut.LATE) as (proxy, received):
        with pytest.raises(UnknownOutcomeError):
            await send(proxy)
        assert [answer[-4:] for answer in await proxy.forward_late()] == [b"made"]
        assert len(received) == 1


@pytest.mark.parametrize("arrives", [0, 1])
async def test_replaced_response_with_or_without_arrival(arrives):
    fault = ReplacedResponse(429, b"later", (("retry-after", "7"),), forwarded=bool(arrives))
    async with proxied(fault) as (proxy, received):
        answer = await send(proxy)
        assert (answer.status, answer.headers["retry-after"], answer.body) == (429, "7", b"later")
        assert len(received) == arrives


async def test_fault_applies_to_target_request_only():
    async with proxied(Cut.BEFORE) as (proxy, _):
        assert (await send(proxy, "/session")).is_success
        with pytest.raises(UnknownOutcomeError):
            await send(proxy)


async def test_connections_are_refused_temporarily():
    async with proxied() as (proxy, received):
        async with proxy.refuse_connections():
            with pytest.raises(NotSentError):
                await send(proxy)
        assert received == []
        assert (await send(proxy)).is_success


@pytest.mark.parametrize("fault", [None, Cut.AFTER])
async def test_restart_refuses_connections_after_one_answer(fault):
    async with proxied(Restart(fault)) as (proxy, received):
        if fault is None:
            assert (await send(proxy)).is_success
        else:
            with pytest.raises(UnknownOutcomeError):
                await send(proxy)
        with pytest.raises(NotSentError):
            await send(proxy)
        assert len(received) == 1
        await proxy.listen()
        assert (await send(proxy)).is_success


async def test_header_is_removed():
    async with proxied() as (proxy, received):
        proxy.rewrite = lambda request: request.without_header("Idempotency-Key")
        await send(proxy, idempotency_key="k", x_other="o")
        assert b"idempotency-key" not in received[0].lower()
        assert b"x-other: o" in received[0].lower()
