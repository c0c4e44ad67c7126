"""Whatever breaks while a draft is sent, the server holds each post once, each thread whole and in order.

What is not tried, for nothing can keep it from going wrong: a sender that is stopped (SIGSTOP) after its commit and
before its first byte, for longer than its lease and the quiet period, and then goes on, on a server that knows no keys.
"""

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from command_line import COMMAND, environment
from copydesk.desk import Desk, open_desk
from copydesk.posting.fake import Fault
from cutting_proxy import GARBAGE, Cut, CuttingProxy, Instead
from desk_fixtures import settings_at
from doomed_sender import NO_STORE, platform_of
from proof_desk import PROVE
from sending_boundaries import DUE, Boundaries, WatchedTransport
from sending_places import Case
from sending_runs import is_over, wrong_with

FAKES = ("fake with keys", "fake without keys")
MASTODONS = ("mastodon with keys", "mastodon without keys")
REAL = (*MASTODONS, "pds")
EVERYWHERE = (*FAKES, *REAL)
WRITES = r"POST /xrpc/com\.atproto\.repo\.applyWrites"
AIM = {"mastodon with keys": "POST /api/v1/statuses", "mastodon without keys": "POST /api/v1/statuses", "pds": WRITES}
REFRESHES = r"POST /xrpc/com\.atproto\.server\.refreshSession"
REQUESTS = ("before send", "before POST statuses", "before POST applyWrites")
NOT_COMMITS = ("send", "look up", "keep secrets")

ONCE = [
    [Cut.BEFORE],
    [Cut.AFTER],
    [Cut.HALF],
    [Cut.LATE],
    [GARBAGE],
    [Instead(500)],
    [Instead(500, asked=True)],
    [Instead(429, headers=(("retry-after", "70"),))],
    [Instead(200, b"<html>", asked=True)],
]
TWICE = [[Cut.AFTER, Cut.AFTER], [Cut.BEFORE, Cut.AFTER], [Cut.LATE, Cut.LATE], [Cut.BEFORE, Cut.LATE]]
SOME = [[Cut.AFTER], [Cut.LATE], ONCE[6], ONCE[7], ONCE[8]]
SECOND = [[None, *faults] for faults in (*ONCE, *TWICE)]
FAULTS = (
    [(name, parts, faults) for name in REAL for parts in (1, 3) for faults in (*ONCE, *TWICE)]
    + [(name, 3, faults) for name in MASTODONS for faults in SECOND]
    if PROVE
    else [(name, 1, faults) for name in REAL for faults in SOME]
    + [(name, 3, [None, *faults]) for name in MASTODONS for faults in SOME[:2]]
)
FAKE_FAULTS = [
    (each,) for each in (Fault.NO_CONNECTION, Fault.THROTTLED, Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LATE)
] + [(Fault.CUT_AFTER, Fault.CUT_AFTER), (Fault.LATE, Fault.CUT_BEFORE), (Fault.CUT_BEFORE, Fault.NO_CONNECTION)]


def test_no_fault_is_left_out():
    assert len(FAULTS) == (3 * 2 * 13 + 2 * 13 if PROVE else 3 * 5 + 2 * 2)
    assert len(FAKE_FAULTS) == 8


@pytest.mark.parametrize(("name", "parts", "faults"), FAULTS, ids=str)
async def test_whatever_the_network_does_it_is_there_once(desks, places, name, parts, faults):
    place, proxy = await places.behind(name, AIM[name])
    case = await desks.case(place, parts)
    proxy.faults.extend(faults)
    story = await desks.to_the_end(case)
    assert story.wrong == ()
    # The first one was met; a second one is not where the first one was found to have arrived.
    assert len(proxy.faults) < len([each for each in faults if each])


@pytest.mark.parametrize("place_in_thread", [0, 1, 2] if PROVE else [1])
@pytest.mark.parametrize("faults", FAKE_FAULTS, ids=str)
@pytest.mark.parametrize("name", FAKES)
async def test_whatever_a_request_comes_to_it_is_there_once(desks, places, name, faults, place_in_thread):
    case = await desks.case(await places.at(name), 3)
    story = await desks.to_the_end(case, faults=("",) * place_in_thread + tuple(faults))
    assert story.wrong == ()


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [1])
@pytest.mark.parametrize("name", REAL)
async def test_a_refused_connection_sends_nothing_and_is_tried_again(desks, places, name, parts):
    place, proxy = await places.behind(name)
    case = await desks.case(place, parts)
    async with proxy.refusing():
        await desks.send_once(case)
    assert (place.held(case) == [], is_over(case.home)) == (True, False)
    assert (await desks.to_the_end(case)).wrong == ()


@pytest.mark.parametrize("fault", [Cut.BEFORE, Cut.AFTER, Cut.LATE, Instead(500), GARBAGE], ids=str)
async def test_when_new_tokens_are_lost_the_old_ones_do(desks, places, fault):
    place, proxy = await places.behind("pds", REFRESHES)
    case = await desks.case(place, 3)
    proxy.faults.append(fault)
    assert (await desks.to_the_end(case)).wrong == ()
    assert not proxy.faults


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE if PROVE else ("fake without keys", "mastodon with keys", "pds"))
async def test_a_disk_that_is_full_at_any_commit_makes_nothing_twice(desks, places, name, parts):
    place = await places.at(name)
    passed = (await desks.to_the_end(await desks.case(place, parts))).passed
    commits = [each for each in passed if each.startswith("before ") and not _is_request(each)]
    assert len(commits) == 4 + 2 * (parts if name != "pds" else 1)
    for number, commit in enumerate(commits, 1):
        story = await desks.to_the_end(await desks.case(place, parts), full_from=number)
        first = story.runs[0]
        assert story.wrong == (), commit
        # What lets go of the account may fail: nobody waits for it.
        assert first.code == (0 if commit == "before release" else NO_STORE), commit
        # Of each two commits from the fourth on a request is between: after one that failed nothing is asked.
        assert _requests(first.passed) == max(0, (number - 3) // 2), commit
        assert commit in first.passed


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE)
async def test_of_four_processes_at_once_one_sends_it(desks, places, name, parts):
    case = await desks.case(await places.at(name), parts)
    story = await desks.to_the_end(case, senders=4)
    assert story.wrong == ()
    asked = [_requests(run.passed) for run in story.runs[:4]]
    assert sum(asked) == (parts if name != "pds" else 1)


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE)
async def test_of_four_desks_in_one_process_one_sends_it(desks, places, name, parts):
    case = await desks.case(await places.at(name), parts)
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(desk_of(case)) for _ in range(4)]
        await asyncio.gather(*[pick_up_and_send(desk) for desk in opened])
    assert (await desks.to_the_end(case)).wrong == ()


class Answer(NamedTuple):
    """The answer to the first request that posts something, which is kept back."""

    given: asyncio.Event
    """The server has made it."""
    go: asyncio.Event


@asynccontextmanager
async def desk_of(case: Case) -> AsyncIterator[Desk]:
    """The desk of a case, in this process, at DUE."""
    order = case.place.order(case.home)
    boundaries = Boundaries(-1, order)
    transport = WatchedTransport(boundaries)
    given = {order.platform: platform_of(order, boundaries, transport)}
    async with open_desk(settings_at(case.home), clock=lambda: DUE, platforms=given) as desk:
        yield desk
    await transport.aclose()


async def pick_up_and_send(desk: Desk) -> None:
    """What a daemon does."""
    await desk.schedule.picking_up.pick_up()
    await desk.posting.send_due()


def keep_back(proxy: CuttingProxy) -> Answer:
    """Let the server make it, and keep the answer back until it may go."""
    answer, ask = Answer(asyncio.Event(), asyncio.Event()), proxy._ask

    async def slow(request):
        said = await ask(request)
        if request.method == "POST" and request.path.endswith(("/statuses", "applyWrites")):
            answer.given.set()
            await answer.go.wait()
        return said

    proxy._ask = slow
    return answer


@pytest.mark.parametrize("how", ["closed", "cancelled", "closed while posting now"])
@pytest.mark.parametrize("name", REAL if PROVE else REAL[1:])
async def test_a_console_that_is_left_while_it_sends_ends_when_it_is_known_what_came_of_it(desks, places, name, how):
    place, proxy = await places.behind(name)
    case, answer = await desks.case(place, 3), keep_back(proxy)
    async with desk_of(case) as desk:
        if "now" in how:
            draft = (await desk.drafts.list()).items[0].id
            sending = asyncio.create_task(desk.posting.post(draft))
        else:
            sending = asyncio.create_task(pick_up_and_send(desk))
        await answer.given.wait()
        if how != "closed":
            sending.cancel()
        asyncio.get_running_loop().call_later(0.05, answer.go.set)
    await asyncio.gather(sending, return_exceptions=True)
    assert is_over(case.home)
    assert list(wrong_with(case)) == []
    assert (await desks.to_the_end(case)).wrong == ()


@pytest.mark.parametrize("told", [(signal.SIGTERM,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,)], ids=str)
@pytest.mark.parametrize("name", MASTODONS if PROVE else MASTODONS[1:])
async def test_a_daemon_that_is_told_to_end_while_it_sends_ends_when_it_is_known(desks, places, name, told):
    place, proxy = await places.behind(name)
    case, answer = await desks.case(place, 1, an_hour_that_is_due()), keep_back(proxy)
    daemon = start_daemon(case)
    await asyncio.wait_for(answer.given.wait(), 60)
    for number in told:
        daemon.send_signal(number)
        await asyncio.sleep(0.1)
    answer.go.set()
    await asyncio.to_thread(daemon.communicate, timeout=60)
    assert is_over(case.home)
    assert list(wrong_with(case)) == []


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
async def test_after_a_daemon_that_was_killed_while_it_sent_the_next_one_goes_on(desks, places, parts):
    place, proxy = await places.behind("mastodon with keys")
    case, answer = await desks.case(place, parts, an_hour_that_is_due()), keep_back(proxy)
    daemon = start_daemon(case)
    await asyncio.wait_for(answer.given.wait(), 60)
    daemon.kill()
    await asyncio.to_thread(daemon.communicate, timeout=60)
    answer.go.set()
    daemon = start_daemon(case)
    await asyncio.to_thread(until, lambda: is_over(case.home))
    daemon.terminate()
    await asyncio.to_thread(daemon.communicate, timeout=60)
    assert list(wrong_with(case)) == []


def an_hour_that_is_due() -> datetime:
    """When a desk was made whose draft is due now."""
    now = datetime.now(UTC)
    return now.replace(microsecond=0) - timedelta(seconds=61)


def start_daemon(case: Case) -> "subprocess.Popen[bytes]":
    """`copydesk daemon` on the desk of a case."""
    secret = (case.home / "secrets.json").read_text(encoding="utf-8")
    named = environment(case.home, copydesk_secret_mastodon=secret)
    return subprocess.Popen([*COMMAND, "daemon"], env=named, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _is_request(boundary: str) -> bool:
    name = boundary.partition(" ")[2]
    return name in NOT_COMMITS or name.startswith(("POST ", "GET "))


def _requests(passed: Sequence[str]) -> int:
    """How many requests were made that make something."""
    return sum(each in REQUESTS for each in passed)
