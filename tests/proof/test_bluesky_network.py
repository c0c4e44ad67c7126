"""Tests of metrics against a complete local Bluesky network."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

import bluesky_network
from bluesky_network import Network
from copydesk.model.draft import Format
from copydesk.network.transport import GuardedTransport
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import Account, NotSentError, Post, PostMetrics
from copydesk.store import accounts
from copydesk.store.ids import new_id
from desk_fixtures import NOW, Watch, query_db
from fault_proxy import FaultProxy
from faulty_server import RecordingSecrets
from pds_server import PdsAccount
from posting_fixtures import create_approved_draft, open_posting_desk

pytestmark = [
    pytest.mark.xdist_group("bsky_network"),
    pytest.mark.skipif(
        os.environ.get("COPYDESK_NETWORK_PROOF", "") in {"", "0"},
        reason="the whole Bluesky network is a proof of its own: make prove-network",
    ),
]
METRICS_REQUEST = "GET /xrpc/app.bsky.feed.getPosts"
SELECT_READINGS = "SELECT likes, replies, reposts, impressions, clicks, by_hand FROM engagement_reading ORDER BY rid"
HOLD_PROGRAM = """
import time, bluesky_network
with bluesky_network.run_network():
    print("ready", flush=True)
    time.sleep(60)
"""
_numbers = count(1)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """The running network; skip if it is unavailable."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(bluesky_network.run_network())
        except bluesky_network.UnavailableError as error:
            pytest.skip(f"no Bluesky network: {error}")
        yield started


@pytest.fixture(scope="module")
def readers(network: Network) -> list[PdsAccount]:
    """Accounts that react to posts."""
    return [network.pds.create_account(f"reader{number}") for number in range(4)]


class Author:
    """An account that posts through a proxy."""

    def __init__(self, network: Network, proxy: FaultProxy) -> None:
        self.writer = network.pds.create_account(f"author{next(_numbers)}")
        self.proxy = proxy
        self.transport = GuardedTransport(allow_private=True, concurrency=4)
        self.account = Account(platform="bluesky", server=proxy.url, id=self.writer.did, name=self.writer.handle)
        secrets = RecordingSecrets(password=self.writer.app_password)
        self.bluesky = Bluesky(PlatformClient(self.transport, timeout=5), secrets, clock=lambda: NOW)

    async def post(self, *parts: str) -> tuple[str, ...]:
        """Post one text or a thread; return the records' URIs."""
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        intent = self.bluesky.render(Post(format=kind, parts=parts, at=NOW), self.account, new_id(NOW))
        return (await self.bluesky.send(self.account, intent, ())).ids

    async def metrics(self, *uris: str) -> list[PostMetrics | None]:
        """Return the metrics of the posts, in the order of `uris`."""
        reported = await self.bluesky.metrics(self.account, uris)
        assert tuple(reported) == uris
        return [reported[uri] for uri in uris]

    def request_sizes(self) -> list[int]:
        """Return the number of posts in each metrics request."""
        return [
            request.path.count("uris=")
            for request in self.proxy.requests
            if f"GET {request.path}".startswith(METRICS_REQUEST)
        ]


@pytest.fixture
async def author(network: Network) -> AsyncIterator[Author]:
    async with FaultProxy(network.pds.url) as proxy:
        author = Author(network, proxy)
        yield author
        await author.transport.aclose()


async def test_reactions_are_reported_as_metrics(network, readers, author):
    liked, ignored = [(await author.post(text))[0] for text in ("Everybody sees this.", "Nobody sees this.")]
    for reader in readers[:3]:
        network.like(reader, liked)
    network.repost(readers[0], liked)
    for reader in readers[2:]:
        network.reply(reader, liked)
    network.quote(readers[3], liked)
    network.wait_for_appview()
    assert await author.metrics(liked, ignored) == [
        PostMetrics(likes=3, replies=2, reposts=1, impressions=None, clicks=None),
        PostMetrics(likes=0, replies=0, reposts=0, impressions=None, clicks=None),
    ]


async def test_removed_reactions_are_not_counted(network, readers, author):
    (uri,) = await author.post("Is this good?")
    likes = [network.like(reader, uri) for reader in readers[:2]]
    repost = network.repost(readers[0], uri)
    reply = network.reply(readers[1], uri)
    network.wait_for_appview()
    assert await author.metrics(uri) == [PostMetrics(likes=2, replies=1, reposts=1)]
    network.delete(readers[0], likes[0].uri)
    network.delete(readers[0], repost.uri)
    network.delete(readers[1], reply.uri)
    network.wait_for_appview()
    assert await author.metrics(uri) == [PostMetrics(likes=1, replies=0, reposts=0)]


async def test_repeated_reaction_counts_once(network, readers, author):
    (uri,) = await author.post("Again, again!")
    for _ in range(2):
        network.like(readers[0], uri)
        network.repost(readers[0], uri)
    network.wait_for_appview()
    assert await author.metrics(uri) == [PostMetrics(likes=1, replies=0, reposts=1)]


async def test_next_thread_post_counts_as_reply(network, readers, author):
    first, second, last = await author.post("One.", "Two.", "Three.")
    network.reply(readers[0], second, first)
    network.wait_for_appview()
    assert [metrics.replies for metrics in await author.metrics(first, second, last)] == [1, 2, 0]


async def test_metrics_are_requested_in_batches_of_25(network, readers, author):
    uris = await author.post(*[f"Part {number}." for number in range(60)])
    liked = {0: 1, 24: 2, 25: 3, 49: 1, 50: 2, 59: 4}
    for position, likes in liked.items():
        for reader in readers[:likes]:
            network.like(reader, uris[position])
    network.wait_for_appview()
    found = await author.metrics(*uris)
    assert [metrics.likes for metrics in found] == [liked.get(position, 0) for position in range(60)]
    assert author.request_sizes() == [25, 25, 10]


async def test_batch_of_26_is_refused(author, monkeypatch):
    uris = await author.post(*[f"Part {number}." for number in range(26)])
    monkeypatch.setattr("copydesk.posting.bluesky.platform.MAX_IDS_PER_REQUEST", 26)
    with pytest.raises(NotSentError):
        await author.metrics(*uris)


async def test_only_deleted_post_has_no_metrics(network, readers, author):
    deleted, existing = [(await author.post(text))[0] for text in ("A typpo.", "No typo.")]
    network.like(readers[0], deleted)
    network.like(readers[0], existing)
    network.delete(author.writer, deleted)
    network.wait_for_appview()
    assert await author.metrics(deleted, existing) == [None, PostMetrics(likes=1, replies=0, reposts=0)]


async def test_unindexed_post_is_not_reported_as_deleted(author):
    # No waiting here: whether the index already has the post is a matter of milliseconds.
    uris = [(await author.post(f"Number {number}."))[0] for number in range(5)]
    assert None not in await author.metrics(*uris)


async def test_desk_reads_metrics_until_post_is_deleted(network, readers, author, tmp_path: Path):
    watch = Watch()
    async with open_posting_desk(tmp_path, {"bluesky": author.bluesky}, clock=watch) as desk:
        await desk._context.write(accounts.save, new_id(NOW), author.account, NOW)
        draft = await create_approved_draft(desk)
        uri = (await desk.posting.post(draft)).draft.post_id or ""
        network.like(readers[0], uri)
        network.like(readers[1], uri)
        network.repost(readers[2], uri)
        network.wait_for_appview()
        watch.now = NOW + timedelta(hours=1)
        assert (await desk.posting.collect_metrics(), await desk.posting.collect_metrics()) == (1, 0)
        network.like(readers[2], uri)
        network.reply(readers[3], uri)
        network.wait_for_appview()
        watch.now = NOW + timedelta(hours=6)
        assert await desk.posting.collect_metrics() == 1
        readings = [(2, 0, 1, None, None, 0), (3, 1, 1, None, None, 0)]
        assert query_db(tmp_path, SELECT_READINGS) == readings

        network.delete(author.writer, uri)
        network.wait_for_appview()
        watch.now = NOW + timedelta(days=1)
        assert await desk.posting.collect_metrics() == 1
        (report,) = await desk.posting.list_deliveries(draft)
        assert "No longer online as of" in report.says
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.replies, top.reposts, top.impressions) == (3, 1, 1, None)
        watch.now = NOW + timedelta(days=30)
        assert await desk.posting.collect_metrics() == 0
    assert query_db(tmp_path, SELECT_READINGS) == readings


def test_network_ends_when_starter_is_killed(network):
    earlier = network_folders()
    with subprocess.Popen([sys.executable, "-c", HOLD_PROGRAM], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        assert len(network_folders() - earlier) == 2
        holder.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while network_folders() - earlier:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def network_folders() -> set[Path]:
    """Return the data folders of running networks; each is removed when all its processes have ended."""
    return {path for name in ("bsky", "postgres") for path in Path(tempfile.gettempdir()).glob(f"copydesk-{name}-*")}
