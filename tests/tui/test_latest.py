"""Of many requests only the newest is worked on, and work that has begun is never cut off."""

import asyncio

import pytest

from copydesk.errors import CopydeskError
from copydesk.tui.latest import Latest


async def test_what_was_wished_in_between_is_dropped() -> None:
    done: list[int] = []
    gate = asyncio.Event()

    async def work(wish: int) -> None:
        await gate.wait()
        done.append(wish)

    latest = Latest(work)
    first = asyncio.create_task(latest.wish(1))
    await asyncio.sleep(0)
    await latest.wish(2)
    await latest.wish(3)
    gate.set()
    await first
    assert done == [1, 3]


async def test_after_an_error_the_next_wish_is_done() -> None:
    done: list[int] = []

    async def work(wish: int) -> None:
        if wish == 1:
            raise CopydeskError
        done.append(wish)

    latest = Latest(work)
    with pytest.raises(CopydeskError):
        await latest.wish(1)
    await latest.wish(2)
    assert done == [2]


async def test_what_was_wished_last_is_done_though_the_one_before_it_fails() -> None:
    done: list[int] = []
    gate = asyncio.Event()

    async def work(wish: int) -> None:
        await gate.wait()
        if wish == 1:
            raise CopydeskError
        done.append(wish)

    latest = Latest(work)
    first = asyncio.create_task(latest.wish(1))
    await asyncio.sleep(0)
    last = asyncio.create_task(latest.settle(2))
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(CopydeskError):
        await first
    await last
    assert done == [2]


async def test_who_waits_for_what_comes_last_hears_that_it_failed() -> None:
    gate = asyncio.Event()

    async def work(_: int) -> None:
        await gate.wait()
        raise CopydeskError

    latest = Latest(work)
    first = asyncio.create_task(latest.settle(1))
    await asyncio.sleep(0)
    last = asyncio.create_task(latest.settle(2))
    await asyncio.sleep(0)
    gate.set()
    failed = await asyncio.gather(first, last, return_exceptions=True)
    assert [type(each) for each in failed] == [CopydeskError, CopydeskError]
