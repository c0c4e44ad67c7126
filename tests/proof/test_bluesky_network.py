"""Figures from the whole Bluesky network: what people did on it is what Copydesk reports, and nothing else."""

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

import bsky_network
from bsky_network import Network
from copydesk.model.draft import Format
from copydesk.network.transport import GuardedTransport
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.http import Caller
from copydesk.posting.platform import Account, Figures, NotSentError, Post
from copydesk.store import accounts
from copydesk.store.ids import new_id
from cutting_proxy import CuttingProxy
from desk_fixtures import NOW, Watch, rows
from faulty_server import KeptSecrets
from pds_server import Writer
from posting_fixtures import approved, open_posting

pytestmark = [
    pytest.mark.xdist_group("bsky_network"),
    pytest.mark.skipif(
        os.environ.get("COPYDESK_NETWORK_PROOF", "") in {"", "0"},
        reason="the whole Bluesky network is a proof of its own: make prove-network",
    ),
]
ASKED = "GET /xrpc/app.bsky.feed.getPosts"
READINGS = "SELECT likes, replies, reposts, impressions, clicks, by_hand FROM engagement_reading ORDER BY rid"
WITH_TESTS = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
HOLD = """
import time, bsky_network
with bsky_network.running():
    print("ready", flush=True)
    time.sleep(60)
"""
_numbers = count(1)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """The network, where it can be."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(bsky_network.running())
        except bsky_network.UnavailableError as error:
            pytest.skip(f"no Bluesky network: {error}")
        yield started


@pytest.fixture(scope="module")
def people(network: Network) -> list[Writer]:
    """Who reads what is posted."""
    return [network.pds.writer(f"reader{number}") for number in range(4)]


class Author:
    """An account that posts, and is asked for through a proxy."""

    def __init__(self, network: Network, proxy: CuttingProxy) -> None:
        self.writer = network.pds.writer(f"author{next(_numbers)}")
        self.proxy = proxy
        self.transport = GuardedTransport(allow_private=True, concurrency=4)
        self.account = Account(platform="bluesky", server=proxy.url, id=self.writer.did, name=self.writer.handle)
        secrets = KeptSecrets(password=self.writer.app_password)
        self.bluesky = Bluesky(Caller(self.transport, asking=5), secrets, clock=lambda: NOW)

    async def posts(self, *parts: str) -> tuple[str, ...]:
        """Post something; the addresses of the records."""
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        intent = self.bluesky.render(Post(format=kind, parts=parts, at=NOW), self.account, new_id(NOW))
        return (await self.bluesky.send(self.account, intent, ())).ids

    async def figures(self, *uris: str) -> list[Figures | None]:
        """What is reported of posts."""
        found = await self.bluesky.figures(self.account, uris)
        assert tuple(found) == uris
        return [found[uri] for uri in uris]

    def asked(self) -> list[int]:
        """For how many posts each request for figures was."""
        return [each.path.count("uris=") for each in self.proxy.seen if f"GET {each.path}".startswith(ASKED)]


@pytest.fixture
async def author(network: Network) -> AsyncIterator[Author]:
    async with CuttingProxy(network.pds.url) as proxy:
        author = Author(network, proxy)
        yield author
        await author.transport.aclose()


async def test_what_people_did_is_what_is_reported(network, people, author):
    seen, unseen = [(await author.posts(text))[0] for text in ("Everybody sees this.", "Nobody sees this.")]
    for reader in people[:3]:
        network.like(reader, seen)
    network.repost(people[0], seen)
    for reader in people[2:]:
        network.reply(reader, seen)
    network.quote(people[3], seen)
    network.settle()
    assert await author.figures(seen, unseen) == [
        Figures(likes=3, replies=2, reposts=1, impressions=None, clicks=None),
        Figures(likes=0, replies=0, reposts=0, impressions=None, clicks=None),
    ]


async def test_what_people_took_back_counts_no_more(network, people, author):
    (uri,) = await author.posts("Is this good?")
    likes = [network.like(reader, uri) for reader in people[:2]]
    repost = network.repost(people[0], uri)
    reply = network.reply(people[1], uri)
    network.settle()
    assert await author.figures(uri) == [Figures(likes=2, replies=1, reposts=1)]
    network.delete(people[0], likes[0].uri)
    network.delete(people[0], repost.uri)
    network.delete(people[1], reply.uri)
    network.settle()
    assert await author.figures(uri) == [Figures(likes=1, replies=0, reposts=0)]


async def test_who_likes_twice_counts_once(network, people, author):
    (uri,) = await author.posts("Again, again!")
    for _ in range(2):
        network.like(people[0], uri)
        network.repost(people[0], uri)
    network.settle()
    assert await author.figures(uri) == [Figures(likes=1, replies=0, reposts=1)]


async def test_the_next_post_of_a_thread_is_a_reply_to_the_one_before(network, people, author):
    first, second, last = await author.posts("One.", "Two.", "Three.")
    network.reply(people[0], second, first)
    network.settle()
    assert [each.replies for each in await author.figures(first, second, last)] == [1, 2, 0]


async def test_more_than_25_posts_are_asked_for_in_batches(network, people, author):
    uris = await author.posts(*[f"Part {number}." for number in range(60)])
    liked = {0: 1, 24: 2, 25: 3, 49: 1, 50: 2, 59: 4}
    for place, likes in liked.items():
        for reader in people[:likes]:
            network.like(reader, uris[place])
    network.settle()
    found = await author.figures(*uris)
    assert [each.likes for each in found] == [liked.get(place, 0) for place in range(60)]
    assert author.asked() == [25, 25, 10]


async def test_one_more_than_25_would_be_refused(author, monkeypatch):
    uris = await author.posts(*[f"Part {number}." for number in range(26)])
    monkeypatch.setattr("copydesk.posting.bluesky.platform.MOST_ASKED", 26)
    with pytest.raises(NotSentError):
        await author.figures(*uris)


async def test_a_deleted_post_is_gone_and_the_others_are_not(network, people, author):
    deleted, kept = [(await author.posts(text))[0] for text in ("A typpo.", "No typo.")]
    network.like(people[0], deleted)
    network.like(people[0], kept)
    network.delete(author.writer, deleted)
    network.settle()
    assert await author.figures(deleted, kept) == [None, Figures(likes=1, replies=0, reposts=0)]


async def test_a_post_is_not_gone_before_the_index_knows_of_it(author):
    # Nothing waits here: whether the index has it already is a matter of milliseconds.
    uris = [(await author.posts(f"Number {number}."))[0] for number in range(5)]
    assert None not in await author.figures(*uris)


async def test_a_desk_reads_what_its_posts_came_to_until_they_are_gone(network, people, author, tmp_path: Path):
    watch = Watch()
    async with open_posting(tmp_path, {"bluesky": author.bluesky}, clock=watch) as desk:
        await desk.ground.write(accounts.connect, new_id(NOW), author.account, NOW)
        draft = await approved(desk)
        uri = (await desk.posting.post(draft)).draft.post_id or ""
        network.like(people[0], uri)
        network.like(people[1], uri)
        network.repost(people[2], uri)
        network.settle()
        watch.now = NOW + timedelta(hours=1)
        assert (await desk.posting.read_figures(), await desk.posting.read_figures()) == (1, 0)
        network.like(people[2], uri)
        network.reply(people[3], uri)
        network.settle()
        watch.now = NOW + timedelta(hours=6)
        assert await desk.posting.read_figures() == 1
        read = [(2, 0, 1, None, None, 0), (3, 1, 1, None, None, 0)]
        assert rows(tmp_path, READINGS) == read

        network.delete(author.writer, uri)
        network.settle()
        watch.now = NOW + timedelta(days=1)
        assert await desk.posting.read_figures() == 1
        (report,) = await desk.posting.deliveries(draft)
        assert "It was not there any more on" in report.says
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.replies, top.reposts, top.impressions) == (3, 1, 1, None)
        watch.now = NOW + timedelta(days=30)
        assert await desk.posting.read_figures() == 0
    assert rows(tmp_path, READINGS) == read


def test_it_ends_with_whoever_started_it_even_where_that_is_killed(network):
    others = folders()
    with subprocess.Popen([sys.executable, "-c", HOLD], env=WITH_TESTS, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        assert len(folders() - others) == 2
        holder.send_signal(signal.SIGKILL)
    ends = time.monotonic() + 60
    while folders() - others:
        assert time.monotonic() < ends
        time.sleep(0.1)


def folders() -> set[Path]:
    """What the networks that run now keep; each removes its own when everything that it started has ended."""
    return {path for name in ("bsky", "postgres") for path in Path(tempfile.gettempdir()).glob(f"copydesk-{name}-*")}
