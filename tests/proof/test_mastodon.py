"""Posts to mastodon-mock through a network that breaks: each post is there once, each thread whole and in order.

mastodon-mock honours keys as Mastodon 4.6 does. Behind a proxy that takes the key away it is a server that does not
know them.
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
    """An account that nobody used before."""
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


async def test_it_says_who_it_is_and_what_it_takes(server, name, caller):
    platform, account = await connected(caller, server.url, name, Clock())
    assert (account.name, account.software, account.longest) == (f"{name}@mock.example", "mastodon 4.6.0", 500)
    assert await platform.check(account) == account


async def test_a_thread_is_there_in_order_and_each_post_at_its_address(server, name, caller):
    clock = Clock()
    platform, account = await connected(caller, server.url, name, clock)
    done = await run(platform, account, platform.render(thread(*PARTS), account, seed()), clock)
    assert done.state is State.SENT
    assert server.said(name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [made.ids[0] for made in done.made] == [post["id"] for post in server.posts(name)]
    assert all(post["visibility"] == "public" for post in server.posts(name))


ONCE = [[Cut.BEFORE], [Cut.AFTER], [Cut.HALF], [Cut.LATE], [GARBAGE], [Instead(503)], [Instead(503, asked=True)]]
TWICE = [[Cut.AFTER, Cut.AFTER], [Cut.BEFORE, Cut.LATE], [Cut.LATE, Cut.BEFORE], [Cut.LATE, Cut.LATE]]
LATER = [[None, Cut.AFTER], [None, Cut.LATE], [None, None, Cut.HALF], [Cut.AFTER, None, Cut.BEFORE]]


@pytest.mark.parametrize("keyed", [True, False], ids=["keys", "no keys"])
@pytest.mark.parametrize("faults", [*ONCE, *TWICE, *LATER], ids=str)
async def test_whatever_breaks_each_post_is_there_once_and_in_order(server, name, caller, faults, keyed):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        if not keyed:
            proxy.rewrite = lambda request: request.without("idempotency-key")
            account = replace(account, software="gotosocial 0.20.1")
        proxy.faults.extend(faults)
        intent = platform.render(thread(*PARTS), account, seed())
        done = await run(platform, account, intent, clock, waiting=proxy.arrive)
        await proxy.arrive()
        assert not proxy.faults
    assert done.state is State.SENT, done.error
    assert server.said(name) == [(PARTS[0], None), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])]
    assert [made.ids[0] for made in done.made] == [post["id"] for post in server.posts(name)]


class NewKeys(Mastodon):
    """A new key for each attempt."""

    async def send(self, account, intent, made, pictures=()):
        steps = [replace(step, keys=(seed(),)) for step in intent.steps]
        return await super().send(account, replace(intent, steps=tuple(steps)), made, pictures)


class NoReadBack(Mastodon):
    """Takes what it did not look for as absent."""

    async def look_up(self, account, intent, made, since):
        return None


class NoQuiet(Mastodon):
    """Takes what is not there yet as absent."""

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
async def test_what_is_done_wrongly_is_seen(server, name, caller, wrong, software, fault, copies):
    clock = Clock()

    async def later() -> None:
        if clock.ahead > timedelta(seconds=70):
            await proxy.arrive()

    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform = wrong(caller, Keys({"token": MockMastodon.token(name)}), clock=clock)
        found = await platform.connect(proxy.url, {"token": MockMastodon.token(name)})
        account = replace(found.account, software=software)
        if not software.startswith("mastodon"):
            proxy.rewrite = lambda request: request.without("idempotency-key")
        proxy.faults.append(fault)
        await run(platform, account, platform.render(thread("Once."), account, seed()), clock, waiting=later)
        await proxy.arrive()
    assert server.said(name) == [("Once.", None)] * copies


async def test_where_keys_are_not_known_a_lost_answer_is_settled_by_looking(server, name, caller):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        account = replace(account, software="")
        proxy.faults.append(Cut.AFTER)
        done = await run(platform, account, platform.render(thread("Once."), account, seed()), clock)
        assert len([each for each in proxy.seen if each.method == "POST"]) == 1
    assert (done.state, done.made[0].evidence) == (State.SENT, Evidence.READ_BACK)


async def test_a_refused_connection_sends_nothing_and_is_tried_again(server, name, caller):
    clock = Clock()
    async with CuttingProxy(server.url, aim=POSTING) as proxy:
        platform, account = await connected(caller, proxy.url, name, clock)
        intent = platform.render(thread("Once."), account, seed())
        refusing = proxy.refusing()
        await refusing.__aenter__()
        done = await run(platform, account, intent, clock, waiting=lambda: refusing.__aexit__(None, None, None))
    assert (done.state, server.said(name)) == (State.SENT, [("Once.", None)])


async def test_pictures_are_there_with_their_descriptions(server, name, caller):
    platform, account = await connected(caller, server.url, name, Clock())
    pictures = [Picture(content=ONE_PIXEL, media_type="image/png", width=1, height=1, alt=alt) for alt in ("A é", "B")]
    await platform.send(account, platform.render(thread("Look."), account, seed()), (), pictures)
    attachments = server.posts(name)[0]["media_attachments"]
    assert [(each["type"], each["description"]) for each in attachments] == [("image", "A é"), ("image", "B")]


async def test_figures_are_those_of_the_server_and_a_deleted_post_is_gone(server, name, names, caller):
    clock, reader = Clock(), next(names)
    platform, account = await connected(caller, server.url, name, clock)
    done = await run(platform, account, platform.render(thread("Liked.", "Gone."), account, seed()), clock)
    first, second = done.made
    for action in ("favourite", "reblog"):
        assert server.ask("POST", f"/api/v1/statuses/{first.ids[0]}/{action}", reader).status_code == 200
    await platform.delete(account, second)
    await platform.delete(account, second)
    figures = await platform.figures(account, [first.ids[0], second.ids[0]])
    liked = figures[first.ids[0]]
    assert isinstance(liked, Figures)
    assert (liked.likes, liked.reposts, liked.impressions, liked.clicks) == (1, 1, None, None)
    assert figures[second.ids[0]] is None


async def test_the_browser_leads_into_an_account_and_the_way_is_closed_again(server, name, caller):
    keys = Keys({})
    platform = Mastodon(caller, keys, clock=Clock())
    begun = await platform.begin(server.url, {}, "http://127.0.0.1:8765/back")
    asked = {key: values[0] for key, values in parse_qs(urlsplit(begun.url).query).items()}
    back = server.agree(asked, name)
    answer = parse_qs(urlsplit(back).query)
    assert (back.startswith(begun.redirect), answer["state"]) == (True, [begun.state])
    account, keys.held = await _finished(platform, server.url, begun, answer["code"][0])
    assert account.name == f"{name}@mock.example"
    await platform.send(account, platform.render(thread("In."), account, seed()), ())
    assert server.said(name) == [("In.", None)]
    await platform.disconnect(account)
    with pytest.raises(LoginError):
        await platform.check(account)


async def _finished(platform, url, begun, code):
    found = await platform.finish(url, begun, code)
    return found.account, found.secrets
