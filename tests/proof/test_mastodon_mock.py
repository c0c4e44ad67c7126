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
from copydesk.posting.client import PlatformClient
from copydesk.posting.delivery_states import DeliveryState
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Account, Evidence, LoginError, Post, PostImage, PostMetrics
from delivery_runner import ShiftedClock, run_delivery
from fake_mastodon import InMemorySecrets
from fault_proxy import GARBAGE, Cut, FaultProxy, ReplacedResponse
from mastodon_mock_server import MockMastodon, run_mastodon_mock

ACCOUNT_NAMES = [f"writer{number}" for number in range(60)]
PARTS = ("First of three: a link, https://example.com/a?b=c&d=e\n\nand <b>no</b> markup.", "Second of three.", "Third.")
POST_STATUS = "POST /api/v1/statuses"
SEEDS = count(1)
ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockMastodon]:
    with run_mastodon_mock(tmp_path_factory.mktemp("mastodon"), ACCOUNT_NAMES) as started:
        yield started


@pytest.fixture(scope="module")
def account_names() -> Iterator[str]:
    return iter(ACCOUNT_NAMES)


@pytest.fixture
def account_name(account_names: Iterator[str]) -> str:
    """An unused account."""
    return next(account_names)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[PlatformClient]:
    transport = GuardedTransport(allow_private=True, concurrency=4)
    yield PlatformClient(transport, timeout=5)
    await transport.aclose()


def make_thread(*parts: str) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=ShiftedClock()())


def next_seed() -> str:
    return f"019c465e-6f00-7000-8000-{next(SEEDS):012x}"


async def connect(client: PlatformClient, url: str, name: str, clock: ShiftedClock) -> tuple[Mastodon, Account]:
    platform = Mastodon(client, InMemorySecrets({"token": MockMastodon.token(name)}), clock=clock)
    return platform, (await platform.connect(url, {"token": MockMastodon.token(name)})).account


async def test_connect_reads_server_information(server, account_name, client):
    platform, account = await connect(client, server.url, account_name, ShiftedClock())
    assert (account.name, account.software, account.max_length) == (
        f"{account_name}@mock.example",
        "mastodon 4.6.0",
        500,
    )
    assert await platform.check(account) == account


async def test_thread_is_posted_in_order(server, account_name, client):
    clock = ShiftedClock()
    platform, account = await connect(client, server.url, account_name, clock)
    delivery = await run_delivery(platform, account, platform.render(make_thread(*PARTS), account, next_seed()), clock)
    assert delivery.state is DeliveryState.SENT
    assert server.posted_texts(account_name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [result.ids[0] for result in delivery.results] == [post["id"] for post in server.list_posts(account_name)]
    assert all(post["visibility"] == "public" for post in server.list_posts(account_name))


SINGLE_FAULTS = [
    [Cut.BEFORE],
    [Cut.AFTER],
    [Cut.HALF],
    [Cut.LATE],
    [GARBAGE],
    [ReplacedResponse(503)],
    [ReplacedResponse(503, forwarded=True)],
]
DOUBLE_FAULTS = [[Cut.AFTER, Cut.AFTER], [Cut.BEFORE, Cut.LATE], [Cut.LATE, Cut.BEFORE], [Cut.LATE, Cut.LATE]]
LATER_FAULTS = [[None, Cut.AFTER], [None, Cut.LATE], [None, None, Cut.HALF], [Cut.AFTER, None, Cut.BEFORE]]


@pytest.mark.parametrize("idempotent", [True, False], ids=["keys", "no keys"])
@pytest.mark.parametrize("faults", [*SINGLE_FAULTS, *DOUBLE_FAULTS, *LATER_FAULTS], ids=str)
async def test_post_is_created_once_in_order_under_faults(server, account_name, client, faults, idempotent):
    clock = ShiftedClock()
    async with FaultProxy(server.url, pattern=POST_STATUS) as proxy:
        platform, account = await connect(client, proxy.url, account_name, clock)
        if not idempotent:
            proxy.rewrite = lambda request: request.without_header("idempotency-key")
            account = replace(account, software="gotosocial 0.20.1")
        proxy.faults.extend(faults)
        intent = platform.render(make_thread(*PARTS), account, next_seed())
        delivery = await run_delivery(platform, account, intent, clock, on_wait=proxy.forward_late)
        await proxy.forward_late()
        assert not proxy.faults
    assert delivery.state is DeliveryState.SENT, delivery.error
    assert server.posted_texts(account_name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [result.ids[0] for result in delivery.results] == [post["id"] for post in server.list_posts(account_name)]


class NewKeyPerAttempt(Mastodon):
    """Uses a new key for each attempt."""

    async def send(self, account, intent, completed, images=()):
        steps = [replace(step, keys=(next_seed(),)) for step in intent.steps]
        return await super().send(account, replace(intent, steps=tuple(steps)), completed, images)


class NoReadBack(Mastodon):
    """Reports every post as absent without looking."""

    async def find_post(self, account, intent, completed, since):
        return None


class NoSettleTime(Mastodon):
    """Reports a post as absent without waiting for late arrivals."""

    def guarantees(self, account):
        return replace(super().guarantees(account), settle_time=timedelta(0))


@pytest.mark.parametrize(
    ("variant", "software", "fault", "copies"),
    [
        (Mastodon, "mastodon 4.6.0", Cut.LATE, 1),
        (Mastodon, "gotosocial 0.20.1", Cut.LATE, 1),
        (NewKeyPerAttempt, "mastodon 4.6.0", Cut.AFTER, 2),
        (NoReadBack, "gotosocial 0.20.1", Cut.AFTER, 2),
        (NoSettleTime, "gotosocial 0.20.1", Cut.LATE, 2),
    ],
)
async def test_mutant_is_detected(server, account_name, client, variant, software, fault, copies):
    clock = ShiftedClock()

    async def arrive_after_settle_time() -> None:
        if clock.offset > timedelta(seconds=70):
            await proxy.forward_late()

    async with FaultProxy(server.url, pattern=POST_STATUS) as proxy:
        platform = variant(client, InMemorySecrets({"token": MockMastodon.token(account_name)}), clock=clock)
        connection = await platform.connect(proxy.url, {"token": MockMastodon.token(account_name)})
        account = replace(connection.account, software=software)
        if not software.startswith("mastodon"):
            proxy.rewrite = lambda request: request.without_header("idempotency-key")
        proxy.faults.append(fault)
        await run_delivery(
            platform,
            account,
            platform.render(make_thread("Once."), account, next_seed()),
            clock,
            on_wait=arrive_after_settle_time,
        )
        await proxy.forward_late()
    assert server.posted_texts(account_name) == [("Once.", None)] * copies


async def test_lost_response_without_keys_is_found_by_search(server, account_name, client):
    clock = ShiftedClock()
    async with FaultProxy(server.url, pattern=POST_STATUS) as proxy:
        platform, account = await connect(client, proxy.url, account_name, clock)
        account = replace(account, software="")
        proxy.faults.append(Cut.AFTER)
        delivery = await run_delivery(
            platform, account, platform.render(make_thread("Once."), account, next_seed()), clock
        )
        assert len([request for request in proxy.requests if request.method == "POST"]) == 1
    assert (delivery.state, delivery.results[0].evidence) == (DeliveryState.SENT, Evidence.READ_BACK)


async def test_refused_connection_is_retried(server, account_name, client):
    clock = ShiftedClock()
    async with FaultProxy(server.url, pattern=POST_STATUS) as proxy:
        platform, account = await connect(client, proxy.url, account_name, clock)
        intent = platform.render(make_thread("Once."), account, next_seed())
        refusing = proxy.refuse_connections()
        await refusing.__aenter__()
        delivery = await run_delivery(
            platform, account, intent, clock, on_wait=lambda: refusing.__aexit__(None, None, None)
        )
    assert (delivery.state, server.posted_texts(account_name)) == (DeliveryState.SENT, [("Once.", None)])


async def test_pictures_are_stored_with_alt_texts(server, account_name, client):
    platform, account = await connect(client, server.url, account_name, ShiftedClock())
    pictures = [
        PostImage(content=ONE_PIXEL, media_type="image/png", width=1, height=1, alt=alt) for alt in ("A é", "B")
    ]
    await platform.send(account, platform.render(make_thread("Look."), account, next_seed()), (), pictures)
    attachments = server.list_posts(account_name)[0]["media_attachments"]
    assert [(attachment["type"], attachment["description"]) for attachment in attachments] == [
        ("image", "A é"),
        ("image", "B"),
    ]


async def test_metrics_are_read_and_deleted_post_has_none(server, account_name, account_names, client):
    clock, reader = ShiftedClock(), next(account_names)
    platform, account = await connect(client, server.url, account_name, clock)
    delivery = await run_delivery(
        platform, account, platform.render(make_thread("Liked.", "Gone."), account, next_seed()), clock
    )
    first, second = delivery.results
    for action in ("favourite", "reblog"):
        assert server.request("POST", f"/api/v1/statuses/{first.ids[0]}/{action}", reader).status_code == 200
    await platform.delete(account, second)
    await platform.delete(account, second)
    metrics = await platform.metrics(account, [first.ids[0], second.ids[0]])
    liked = metrics[first.ids[0]]
    assert isinstance(liked, PostMetrics)
    assert (liked.likes, liked.reposts, liked.impressions, liked.clicks) == (1, 1, None, None)
    assert metrics[second.ids[0]] is None


async def test_browser_sign_in_and_disconnect(server, account_name, client):
    keys = InMemorySecrets({})
    platform = Mastodon(client, keys, clock=ShiftedClock())
    sign_in = await platform.start_sign_in(server.url, {}, "http://127.0.0.1:8765/back")
    authorization = {key: values[0] for key, values in parse_qs(urlsplit(sign_in.url).query).items()}
    redirect = server.authorize(authorization, account_name)
    answer = parse_qs(urlsplit(redirect).query)
    assert (redirect.startswith(sign_in.redirect_uri), answer["state"]) == (True, [sign_in.state])
    account, keys.secrets = await _finish_sign_in(platform, server.url, sign_in, answer["code"][0])
    assert account.name == f"{account_name}@mock.example"
    await platform.send(account, platform.render(make_thread("In."), account, next_seed()), ())
    assert server.posted_texts(account_name) == [("In.", None)]
    await platform.disconnect(account)
    with pytest.raises(LoginError):
        await platform.check(account)


async def _finish_sign_in(platform, url, sign_in, code):
    connection = await platform.finish_sign_in(url, sign_in, code)
    return connection.account, connection.credentials
