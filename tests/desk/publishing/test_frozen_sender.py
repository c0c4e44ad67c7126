"""Tests for a sender that is frozen between its commit and its request, as by SIGSTOP or the lid of a laptop."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.publishing import sender
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import Watch, query_db
from posting_fixtures import connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

MINUTE = timedelta(minutes=1)


class Freeze:
    """A point at which a sender stops until it is released."""

    def __init__(self) -> None:
        self.reached, self.released = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.released.wait()

    def after_start(self, write: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        """Return `write` with the freeze after the commit that starts a delivery."""

        async def frozen(work: Callable[..., object], *args: object, **kwargs: object) -> object:
            result = await write(work, *args, **kwargs)
            if work.__name__ == "_record_start":
                await self.wait()
            return result

        return frozen


class FreezingPlatform(FakePlatform):
    """Freezes before the first byte of a post leaves, as while an image is uploaded."""

    freeze: Freeze

    async def send(self, *args: object) -> object:
        await self.freeze.wait()
        return await super().send(*args)


async def start_and_freeze(desk: Desk, freeze: Freeze) -> str:
    """Post a draft and return its id once its sender is frozen."""
    await connect_account(desk)
    draft_id = await create_approved_draft(desk)
    await desk.posting.post(draft_id, wait=0)
    await freeze.reached.wait()
    return draft_id


async def take_over(desk: Desk, watch: Watch, draft_id: str) -> None:
    """Post the draft with another sender, once the lease of the first one has expired."""
    for _ in range(12):
        watch.now += 2 * MINUTE
        await desk.posting.send_due()
        if await draft_status(desk, draft_id) == "posted":
            break
    assert await draft_status(desk, draft_id) == "posted"


@pytest.mark.parametrize("set_back", [timedelta(0), 30 * MINUTE])
async def test_frozen_after_commit_does_not_send_once_replaced(tmp_path: Path, set_back: timedelta) -> None:
    server, watch, freeze = FakeServer(), Watch(), Freeze()
    async with (
        open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as first,
        open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as second,
    ):
        database = first._context.database
        database.write_durable = freeze.after_start(database.write_durable)
        draft_id = await start_and_freeze(first, freeze)
        await take_over(second, watch, draft_id)
        watch.now -= set_back
        freeze.released.set()
        await first.posting.drain()
    assert len(server.posts) == 1


async def test_frozen_after_commit_starts_over_if_not_replaced(tmp_path: Path) -> None:
    server, watch, freeze = FakeServer(), Watch(), Freeze()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        database = desk._context.database
        database.write_durable = freeze.after_start(database.write_durable)
        draft_id = await start_and_freeze(desk, freeze)
        watch.now += 10 * MINUTE
        freeze.released.set()
        await desk.posting.drain()
        assert await draft_status(desk, draft_id) == "posted"
    events = [str(what) for (what,) in query_db(tmp_path, "SELECT what FROM delivery_event ORDER BY rid")]
    assert events == ["planned", "sending", "held up", "sending", "made"]
    assert len(server.posts) == 1


async def test_frozen_before_first_byte_does_not_send_once_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, watch = FakeServer(), Watch()
    slow = FreezingPlatform(server)
    slow.freeze = Freeze()
    monkeypatch.setattr(sender, "CLOCK_CHECK_INTERVAL", 0.01)
    async with (
        open_posting_desk(tmp_path, {"fake": slow}, clock=watch) as first,
        open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as second,
    ):
        draft_id = await start_and_freeze(first, slow.freeze)
        await take_over(second, watch, draft_id)
        slow.freeze.released.set()
    assert len(server.posts) == 1
