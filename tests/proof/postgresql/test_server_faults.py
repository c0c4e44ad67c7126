"""Proof that nothing is lost or doubled while the server is stopped and started, cuts connections, and meets conflicts.

Workers in processes of their own fetch and post meanwhile, one is killed now and then, and a desk creates drafts.
"""

import asyncio
import random
from pathlib import Path

import pytest

from copydesk.desk import Desk, open_desks
from copydesk.errors import StoreBusyError, StoreError
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import query_db, settings_at
from feed_server import FeedServer
from postgresql_server import PostgresqlServer, add_conflicts, count_conflicts, cut_connections
from sampling import EXHAUSTIVE
from store_fixtures import postgresql_server
from worker_load import Disturbance, Killer, Load, check_end, resend_asking, run_to_the_end
from worker_process import PostsFile, WorkerProcess

LOAD = Load(sources=400, deliveries=2000, users=4, accounts=40) if EXHAUSTIVE else Load(sources=40, deliveries=120)
FAULTS = 60 if EXHAUSTIVE else 10
"""Then what is left is done: a source whose fetch was interrupted each time waits a minute for the next run."""
LIMIT = 1200 if EXHAUSTIVE else 240
"""Seconds."""
WORKERS = 2
EVERY = 97
"""One in so many statements fails."""
TABLES = ("draft", "delivery", "engagement", "account", "source", "item", "run", "job", "event", "procrastinate_jobs")


def disturb(server: PostgresqlServer, home: Path, url: str, choice: random.Random) -> Disturbance:
    """Return what does something else to the server or a worker each of the first FAULTS times."""
    kill, left = Killer(choice, home, url), iter(range(FAULTS))

    async def restart(mode: str) -> None:
        await asyncio.to_thread(server.stop, mode)
        await asyncio.sleep(choice.random())
        await asyncio.to_thread(server.start)

    async def act(running: list[WorkerProcess]) -> None:
        if next(left, None) is None:
            return
        match choice.choice(("cut", "cut", "cut", "stop", "crash", "kill")):
            case "cut":
                await asyncio.to_thread(cut_connections, server, home)
            case "stop":
                await restart("fast")
            case "crash":
                await restart("immediate")
            case "kill":
                await kill(running)

    return act


async def create_drafts(desk: Desk, stop: asyncio.Event) -> tuple[list[str], list[str], list[str]]:
    """Create drafts until `stop` is set; return the texts of those that were, were not, and may have been created."""
    created: list[str] = []
    refused: list[str] = []
    doubtful: list[str] = []
    while not stop.is_set():
        text = f"Written in between, number {len(created) + len(refused) + len(doubtful)}."
        try:
            await desk.drafts.create({"text": text})
            created.append(text)
        except StoreBusyError:
            refused.append(text)
        except StoreError:
            doubtful.append(text)
        await asyncio.sleep(0.05)
    return created, refused, doubtful


async def test_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    server = postgresql_server()
    assert server is not None
    if not server.can_stop:
        pytest.skip("A proof of its own: this server was not started by the tests.")
    url = server.url_without_tables(tmp_path)
    server.sync_commits(tmp_path)
    posts, stop = tmp_path / "posts.jsonl", asyncio.Event()
    platforms = {"fake": FakePlatform(FakeServer())}
    with FeedServer("0.0.0.0") as web:
        await LOAD.add_to(tmp_path, web)
        running = [WorkerProcess(tmp_path, url, posts) for _ in range(WORKERS)]
        for process in running:
            await asyncio.to_thread(process.wait_until_started)
        add_conflicts(server, tmp_path, TABLES, EVERY)
        async with open_desks(settings_at(tmp_path), platforms=platforms) as desks:
            writing = asyncio.create_task(create_drafts(await desks.get(desks.owner), stop))
            faults = disturb(server, tmp_path, url, random.Random(1))
            seconds = await run_to_the_end(tmp_path, running, LIMIT, faults)
            stop.set()
            created, refused, doubtful = await writing

    asking = await resend_asking(tmp_path, PostsFile(posts))
    check_end(tmp_path, PostsFile(posts), LOAD)
    texts = [text for (text,) in query_db(tmp_path, "SELECT text FROM draft WHERE text LIKE 'Written in between%'")]
    assert len(texts) == len(set(texts))
    assert set(created) <= set(texts) <= {*created, *doubtful}
    conflicts = count_conflicts(server, tmp_path, EVERY)
    print(f"{seconds:.1f} s, {conflicts} conflicts, {asking} ask you")
    print(f"drafts: {len(created)} created, {len(refused)} refused, {len(doubtful)} cut off")
    assert conflicts
    assert created
