"""Tests of the Mastodon platform against mastodon-mock through a faulty network.

mastodon-mock honours idempotency keys as Mastodon 4.6 does. Behind a proxy that removes the key it acts as a server
without them.
"""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from msgspec.structs import replace

from copydesk.model.draft import Format
from copydesk.network.transport import GuardedTransport
from copydesk.posting.delivery import State
from copydesk.posting.http import Caller
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Account, Evidence, Figures, LoginError, Picture, Post
from cutting_proxy import GARBAGE, Cut, CuttingProxy, Instead
from fake_mastodon import Keys
from mastodon_runs import Clock, run
from mastodon_server import MockMastodon, running

NAMES = [f"writer{number}" for number in range(60)]
PARTS = ("First of three: a link, https://example.com/a?b=c&d=e\n\nand <b>no</b> markup.", "Second of three.", "Third.")
POSTING = "POST /api/v1/statuses"
SEEDS = count(1)
ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockMastodon]:
    with running(tmp_path_factory.mktemp("mastodon"), NAMES) as started:
        yield started


@pytest.fixture(scope="module")
def names() -> Iterator[str]:
    return iter(NAMES)


@pytest.fixture
def name(names: Iterator[str]) -> str:
    """An unused account."""
    return next(names)


@pytest_asyncio.fixture
async def caller() -> AsyncIterator[Caller]:
    transport = GuardedTransport(allow_private=True, concurrency=4)
    yield Caller(transport, asking=5)
    await transport.aclose()


def thread(*parts: str) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=Clock()())


def seed() -> str:
    return f"019c465e-6f00-7000-8000-{next(SEEDS):012x}"


async def connected(caller: Caller, url: str, name: str, clock: Clock) -> tuple[Mastodon, Account]:
    platform = Mastodon(caller, Keys({"token": MockMastodon.token(name)}), clock=clock)
    return platform, (await platform.connect(url, {"token": MockMastodon.token(name)})).account


async def test_connect_reads_server_information(server, name, caller):
    platform, account = await connected(caller, server.url, name, Clock())
    assert (account.name, account.software, account.longest) == (f"{name}@mock.example", "mastodon 4.6.0", 500)
    assert await platform.check(account) == account


async def test_thread_is_posted_in_order(server, name, caller):
    clock = Clock()
    platform, account = await connected(caller, server.url, name, clock)
    delivery = await run(platform, account, platform.render(thread(*PARTS), account, seed()), clock)
    assert delivery.state is State.SENT
    assert server.said(name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [result.ids[0] for result in delivery.made] == [post["id"] for post in server.posts(name)]
    assert all(post["visibility"] == "public" for post in server.posts(name))


ONCE = [[Cut.BEFORE], [Cut.AFTER], [Cut.HALF], [Cut.LATE], [GARBAGE], [Instead(503)], [Instead(503, asked=True)]]
TWICE = [[Cut.AFTER, Cut.AFTER], [Cut.BEFORE, Cut.LATE], [Cut.LATE, Cut.BEFORE], [Cut.LATE, Cut.LATE]]
LATER = [[None, Cut.AFTER], [None, Cut.LATE], [None, None, Cut.HALF], [Cut.AFTER, None, Cut.BEFORE]]


@pytest.mark.parametrize("keyed", [True, False], ids=["keys", "no keys"])
@pytest.mark.parametrize("faults", [*ONCE, *TWICE, *LATER], ids=str)
async def test_post_is_created_once_in_order_under_faults(server, name, caller, faults, keyed):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        if not keyed:
            proxy.rewrite = lambda request: request.without("idempotency-key")
            account = replace(account, software="gotosocial 0.20.1")
        proxy.faults.extend(faults)
        intent = platform.render(thread(*PARTS), account, seed())
        delivery = await run(platform, account, intent, clock, waiting=proxy.arrive)
        await proxy.arrive()
        assert not proxy.faults
    assert delivery.state is State.SENT, delivery.error
    assert server.said(name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [result.ids[0] for result in delivery.made] == [post["id"] for post in server.posts(name)]


class NewKeys(Mastodon):
    """Uses a new key for each attempt."""

    async def send(self, account, intent, made, pictures=()):
        steps = [replace(step, keys=(seed(),)) for step in intent.steps]
        return await super().send(account, replace(intent, steps=tuple(steps)), made, pictures)


class NoReadBack(Mastodon):
    """Reports every post as absent without looking."""

    async def look_up(self, account, intent, made, since):
        return None


class NoQuiet(Mastodon):
    """Reports a post as absent without waiting for late arrivals."""

    def trust(self, account):
        return replace(super().trust(account), quiet=timedelta(0))


@pytest.mark.parametrize(
    ("wrong", "software", "fault", "copies"),
    [
        (Mastodon, "mastodon 4.6.0", Cut.LATE, 1),
        (Mastodon, "gotosocial 0.20.1", Cut.LATE, 1),
        (NewKeys, "mastodon 4.6.0", Cut.AFTER, 2),
        (NoReadBack, "gotosocial 0.20.1", Cut.AFTER, 2),
        (NoQuiet, "gotosocial 0.20.1", Cut.LATE, 2),
    ],
)
async def test_mutant_is_detected(server, name, caller, wrong, software, fault, copies):
    clock = Clock()

    async def arrive_after_settle_time() -> None:
        if clock.ahead > timedelta(seconds=70):
            await proxy.arrive()

    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform = wrong(caller, Keys({"token": MockMastodon.token(name)}), clock=clock)
        connection = await platform.connect(proxy.url, {"token": MockMastodon.token(name)})
        account = replace(connection.account, software=software)
        if not software.startswith("mastodon"):
            proxy.rewrite = lambda request: request.without("idempotency-key")
        proxy.faults.append(fault)
        await run(
            platform,
            account,
            platform.render(thread("Once."), account, seed()),
            clock,
            waiting=arrive_after_settle_time,
        )
        await proxy.arrive()
    assert server.said(name) == [("Once.", None)] * copies


async def test_lost_response_without_keys_is_found_by_search(server, name, caller):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        account = replace(account, software="")
        proxy.faults.append(Cut.AFTER)
        delivery = await run(platform, account, platform.render(thread("Once."), account, seed()), clock)
        assert len([request for request in proxy.seen if request.method == "POST"]) == 1
    assert (delivery.state, delivery.made[0].evidence) == (State.SENT, Evidence.READ_BACK)


async def test_refused_connection_is_retried(server, name, caller):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        intent = platform.render(thread("Once."), account, seed())
        refusing = proxy.refusing()
        await refusing.__aenter__()
        delivery = await run(platform, account, intent, clock, waiting=lambda: refusing.__aexit__(None, None, None))
    assert (delivery.state, server.said(name)) == (State.SENT, [("Once.", None)])


async def test_pictures_are_stored_with_alt_texts(server, name, caller):
    platform, account = await connected(caller, server.url, name, Clock())
    pictures = [Picture(content=ONE_PIXEL, media_type="image/png", width=1, height=1, alt=alt) for alt in ("A é", "B")]
    await platform.send(account, platform.render(thread("Look."), account, seed()), (), pictures)
    attachments = server.posts(name)[0]["media_attachments"]
    assert [(attachment["type"], attachment["description"]) for attachment in attachments] == [
        ("image", "A é"),
        ("image", "B"),
    ]


async def test_metrics_are_read_and_deleted_post_has_none(server, name, names, caller):
    clock, reader = Clock(), next(names)
    platform, account = await connected(caller, server.url, name, clock)
    delivery = await run(platform, account, platform.render(thread("Liked.", "Gone."), account, seed()), clock)
    first, second = delivery.made
    for action in ("favourite", "reblog"):
        assert server.ask("POST", f"/api/v1/statuses/{first.ids[0]}/{action}", reader).status_code == 200
    await platform.delete(account, second)
    await platform.delete(account, second)
    metrics = await platform.figures(account, [first.ids[0], second.ids[0]])
    liked = metrics[first.ids[0]]
    assert isinstance(liked, Figures)
    assert (liked.likes, liked.reposts, liked.impressions, liked.clicks) == (1, 1, None, None)
    assert metrics[second.ids[0]] is None


async def test_browser_sign_in_and_disconnect(server, name, caller):
    keys = Keys({})
    platform = Mastodon(caller, keys, clock=Clock())
    sign_in = await platform.begin(server.url, {}, "http://127.0.0.1:8765/back")
    authorization = {key: values[0] for key, values in parse_qs(urlsplit(sign_in.url).query).items()}
    redirect = server.agree(authorization, name)
    answer = parse_qs(urlsplit(redirect).query)
    assert (redirect.startswith(sign_in.redirect), answer["state"]) == (True, [sign_in.state])
    account, keys.held = await _finish_sign_in(platform, server.url, sign_in, answer["code"][0])
    assert account.name == f"{name}@mock.example"
    await platform.send(account, platform.render(thread("In."), account, seed()), ())
    assert server.said(name) == [("In.", None)]
    await platform.disconnect(account)
    with pytest.raises(LoginError):
        await platform.check(account)


async def _finish_sign_in(platform, url, sign_in, code):
    connection = await platform.finish(url, sign_in, code)
    return connection.account, connection.secrets
