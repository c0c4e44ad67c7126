"""Workers in the test's process, and what they have done."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from copydesk.desk import Desk, Desks
from copydesk.desk.context import utc_now
from copydesk.jobs import JobMessage
from copydesk.model.user import User
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.worker import Worker
from desk_fixtures import FakeWeb, list_drafts
from desks_fixtures import open_desks_at
from store_fixtures import postgresql_server


def open_desks_now(
    home: Path,
    web: FakeWeb | None = None,
    server: FakeServer | None = None,
    platform: FakePlatform | None = None,
    **settings: str,
):
    """Open the desks with the time of the server's clock, which dates the jobs in the queue."""
    platforms = {"fake": platform or FakePlatform(server or FakeServer())}
    return open_desks_at(home, web, clock=utc_now, platforms=platforms, **settings)


def make_worker(home: Path, desks: Desks, messages: list[str] | None = None, concurrency: int = 4) -> Worker:
    def on_message(user: User, message: JobMessage) -> None:
        if messages is not None:
            messages.append(f"{user.name} {message.job}: {message.text}")

    def on_queue(message: JobMessage) -> None:
        if messages is not None:
            messages.append(f"{message.job}: {message.text}")

    server = postgresql_server()
    assert server is not None
    return Worker(
        desks, on_message, concurrency=concurrency, url=server.url(home), password="", queue_listener=on_queue
    )


@asynccontextmanager
async def running(*workers: Worker) -> AsyncIterator[None]:
    """Run workers during the block."""
    stop = asyncio.Event()
    started = [asyncio.Event() for _ in workers]
    tasks = [asyncio.create_task(worker.run(stop, event.set)) for worker, event in zip(workers, started, strict=True)]
    try:
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in started)), 60)
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def wait_until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - other processes' work is waited for
            await asyncio.sleep(0.05)


def keys_of(server: FakeServer) -> Counter[str]:
    return Counter(post.key for post in server.posts)


async def all_posted(desk: Desk) -> bool:
    return {draft.status for draft in await list_drafts(desk)} == {"posted"}
