"""Proof that workers lose nothing and post nothing twice, while one of them is killed every second.

`make prove` runs 400 sources and 2,000 deliveries; `make prove-cluster` 10,000 and 100,000, or a part of these.
"""

import os
import random
from pathlib import Path

import pytest

from feed_server import FeedServer
from sampling import EXHAUSTIVE
from store_fixtures import postgresql_server
from worker_load import Killer, Load, check_end, resend_asking, run_to_the_end
from worker_process import PostsFile, WorkerProcess

PART = int(os.environ.get("COPYDESK_CLUSTER_PROOF", "0"))
"""1 for the whole size, 5 for a fifth of it, 0 for neither."""
SMALL = Load(sources=40, deliveries=80)
MEDIUM = Load(sources=400, deliveries=2000, users=4, accounts=40)
LARGE = Load(sources=10_000 // (PART or 1), deliveries=100_000 // (PART or 1), users=20, accounts=400)
CASES = {
    # Of one worker only the rate is needed.
    "large": [(1, False, LARGE.divided_by(10)), (2, True, LARGE), (4, True, LARGE)],
    "medium": [(1, False, MEDIUM), (2, False, MEDIUM), (4, False, MEDIUM), (2, True, MEDIUM), (4, True, MEDIUM)],
    "small": [(1, False, SMALL), (2, True, SMALL)],
}["large" if PART else "medium" if EXHAUSTIVE else "small"]
LIMIT = 3 * 3600 if PART else 1200 if EXHAUSTIVE else 120
"""Seconds."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database that is dropped after the test."""
    server = postgresql_server()
    assert server is not None
    return server.url_without_tables(tmp_path)


@pytest.fixture(scope="module")
def rates() -> dict[int, float]:
    """Deliveries a second, by the number of workers, of the cases so far in which none was killed."""
    return {}


@pytest.mark.parametrize(("workers", "kills", "load"), CASES)
async def test_nothing_is_lost_or_posted_twice(
    tmp_path: Path, url: str, rates: dict[int, float], workers: int, *, kills: bool, load: Load
) -> None:
    killer, posts = Killer(random.Random(workers), tmp_path, url), tmp_path / "posts.jsonl"
    with FeedServer("0.0.0.0") as server:
        await load.add_to(tmp_path, server)
        running = [WorkerProcess(tmp_path, url, posts) for _ in range(workers)]
        for process in running:
            process.wait_until_started()
        seconds = await run_to_the_end(tmp_path, running, LIMIT, killer if kills else None)

    asking = await resend_asking(tmp_path, PostsFile(posts))
    check_end(tmp_path, PostsFile(posts), load)
    rate = load.deliveries / seconds
    # Sources and deliveries are in the same proportion in all cases.
    ratio = f", {rate / rates[1]:.2f} times one worker" if 1 in rates else ""
    if not kills:
        rates[workers] = rate
    print(f"{workers} workers, {killer.count} killed: {seconds:.1f} s, {asking} ask you")
    print(f"{load.sources / seconds:.1f} sources and {rate:.1f} deliveries a second{ratio}")
    if kills:
        assert killer.count >= killer.expected_count(seconds)
    else:
        assert not asking
