"""The proxy that breaks connections: what it says has happened to a request has."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from copydesk.network.transport import GuardedTransport
from copydesk.posting.http import Answer, Caller
from copydesk.posting.platform import NotSentError, UnknownOutcomeError
from cutting_proxy import GARBAGE, Cut, CuttingProxy, Instead


@asynccontextmanager
async def small_server(asked: list[bytes]) -> AsyncIterator[str]:
    """A server that keeps what it is asked, and says "made"."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"a post."))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nmade")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def proxied(*faults: object, aim: str = "POST /posts") -> AsyncIterator[tuple[CuttingProxy, list[bytes]]]:
    asked: list[bytes] = []
    async with small_server(asked) as target, CuttingProxy(target, aim=aim) as proxy:
        proxy.faults.extend(faults)
        yield proxy, asked


async def ask(proxy: CuttingProxy, path: str = "/posts", **headers: str) -> Answer:
    caller = Caller(GuardedTransport(allow_private=True, concurrency=1), asking=0.2)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await caller.ask("POST", proxy.url + path, content=b"a post.", headers=named)


async def test_without_a_fault_the_server_answers():
    async with proxied() as (proxy, asked):
        assert (await ask(proxy)).body == b"made"
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [(Cut.BEFORE, 0), (Cut.AFTER, 1), (Cut.HALF, 1), (Cut.SILENT, 1), (Cut.LATE, 0), (GARBAGE, 0)],
)
async def test_a_fault_loses_the_answer_of_one_request(fault, arrives):
    async with proxied(fault) as (proxy, asked):
        with pytest.raises(UnknownOutcomeError):
            await ask(proxy)
        assert len(asked) == len(proxy.arrived) == arrives
        assert (await ask(proxy)).good


async def test_a_late_request_arrives_when_it_is_told_to():
    async with proxied(Cut.LATE) as (proxy, asked):
        with pytest.raises(UnknownOutcomeError):
            await ask(proxy)
        assert [answer[-4:] for answer in await proxy.arrive()] == [b"made"]
        assert len(asked) == 1


@pytest.mark.parametrize("arrives", [0, 1])
async def test_another_answer_with_and_without_the_server_being_asked(arrives):
    fault = Instead(429, b"later", (("retry-after", "7"),), asked=bool(arrives))
    async with proxied(fault) as (proxy, asked):
        answer = await ask(proxy)
        assert (answer.status, answer.headers["retry-after"], answer.body) == (429, "7", b"later")
        assert len(asked) == arrives


async def test_a_fault_waits_for_the_request_it_is_for():
    async with proxied(Cut.BEFORE) as (proxy, _):
        assert (await ask(proxy, "/session")).good
        with pytest.raises(UnknownOutcomeError):
            await ask(proxy)


async def test_connections_are_refused_for_a_while():
    async with proxied() as (proxy, asked):
        async with proxy.refusing():
            with pytest.raises(NotSentError):
                await ask(proxy)
        assert asked == []
        assert (await ask(proxy)).good


async def test_a_header_is_dropped_on_the_way():
    async with proxied() as (proxy, asked):
        proxy.rewrite = lambda request: request.without("Idempotency-Key")
        await ask(proxy, idempotency_key="k", x_other="o")
        assert b"idempotency-key" not in asked[0].lower()
        assert b"x-other: o" in asked[0].lower()
