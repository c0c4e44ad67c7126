"""Tests for the coalescer: only the newest request is processed, and started work is never cancelled."""

import asyncio

import pytest

from copydesk.errors import CopydeskError
from copydesk.tui.runtime.coalescer import Coalescer


async def test_superseded_request_is_dropped() -> None:
    results: list[int] = []
    release = asyncio.Event()

    async def work(request: int) -> None:
        await release.wait()
        results.append(request)

    latest = Coalescer(work)
    first = asyncio.create_task(latest.submit(1))
    await asyncio.sleep(0)
    await latest.submit(2)
    await latest.submit(3)
    release.set()
    await first
    assert results == [1, 3]


async def test_request_after_error_is_processed() -> None:
    results: list[int] = []

    async def work(request: int) -> None:
        if request == 1:
            raise CopydeskError
        results.append(request)

    latest = Coalescer(work)
    with pytest.raises(CopydeskError):
        await latest.submit(1)
    await latest.submit(2)
    assert results == [2]


async def test_last_request_runs_after_failed_one() -> None:
    results: list[int] = []
    release = asyncio.Event()

    async def work(request: int) -> None:
        await release.wait()
        if request == 1:
            raise CopydeskError
        results.append(request)

    latest = Coalescer(work)
    first = asyncio.create_task(latest.submit(1))
    await asyncio.sleep(0)
    last = asyncio.create_task(latest.submit_and_wait(2))
    await asyncio.sleep(0)
    release.set()
    with pytest.raises(CopydeskError):
        await first
    await last
    assert results == [2]


async def test_waiting_caller_gets_error_of_last_request() -> None:
    release = asyncio.Event()

    async def work(_: int) -> None:
        await release.wait()
        raise CopydeskError

    latest = Coalescer(work)
    first = asyncio.create_task(latest.submit_and_wait(1))
    await asyncio.sleep(0)
    last = asyncio.create_task(latest.submit_and_wait(2))
    await asyncio.sleep(0)
    release.set()
    errors = await asyncio.gather(first, last, return_exceptions=True)
    assert [type(error) for error in errors] == [CopydeskError, CopydeskError]
