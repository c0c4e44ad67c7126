"""Tests that each post is published exactly once, and each thread completely and in order, under faults.

Not covered, because nothing can prevent it: a sender stopped (SIGSTOP) after its commit and before its first byte, for
longer than its lease and the settle time, that then continues on a server without idempotency keys.
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


def test_number_of_faults():
    assert len(FAULTS) == (3 * 2 * 13 + 2 * 13 if PROVE else 3 * 5 + 2 * 2)
    assert len(FAKE_FAULTS) == 8


@pytest.mark.parametrize(("name", "parts", "faults"), FAULTS, ids=str)
async def test_post_is_published_once_under_network_faults(desks, places, name, parts, faults):
    server, proxy = await places.behind(name, AIM[name])
    case = await desks.case(server, parts)
    proxy.faults.extend(faults)
    result = await desks.to_the_end(case)
    assert result.wrong == ()
    # The first fault was met; a second one is not met if the first request was found to have arrived.
    assert len(proxy.faults) < len([fault for fault in faults if fault])


@pytest.mark.parametrize("place_in_thread", [0, 1, 2] if PROVE else [1])
@pytest.mark.parametrize("faults", FAKE_FAULTS, ids=str)
@pytest.mark.parametrize("name", FAKES)
async def test_post_is_published_once_under_request_faults(desks, places, name, faults, place_in_thread):
    case = await desks.case(await places.at(name), 3)
    result = await desks.to_the_end(case, faults=("",) * place_in_thread + tuple(faults))
    assert result.wrong == ()


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [1])
@pytest.mark.parametrize("name", REAL)
async def test_refused_connection_is_retried(desks, places, name, parts):
    server, proxy = await places.behind(name)
    case = await desks.case(server, parts)
    async with proxy.refusing():
        await desks.send_once(case)
    assert (server.held(case) == [], is_over(case.home)) == (True, False)
    assert (await desks.to_the_end(case)).wrong == ()


@pytest.mark.parametrize("fault", [Cut.BEFORE, Cut.AFTER, Cut.LATE, Instead(500), GARBAGE], ids=str)
async def test_old_tokens_work_if_new_ones_are_lost(desks, places, fault):
    server, proxy = await places.behind("pds", REFRESHES)
    case = await desks.case(server, 3)
    proxy.faults.append(fault)
    assert (await desks.to_the_end(case)).wrong == ()
    assert not proxy.faults


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE if PROVE else ("fake without keys", "mastodon with keys", "pds"))
async def test_disk_full_at_any_commit_posts_nothing_twice(desks, places, name, parts):
    server = await places.at(name)
    passed = (await desks.to_the_end(await desks.case(server, parts))).passed
    commits = [boundary for boundary in passed if boundary.startswith("before ") and not _is_request(boundary)]
    assert len(commits) == 4 + 2 * (parts if name != "pds" else 1)
    for number, commit in enumerate(commits, 1):
        result = await desks.to_the_end(await desks.case(server, parts), full_from=number)
        first = result.runs[0]
        assert result.wrong == (), commit
        # Releasing the account lease may fail: it expires.
        assert first.code == (0 if commit == "before release" else NO_STORE), commit
        # From the fourth commit on there is a request between each two commits; after a failed commit none is sent.
        assert _requests(first.passed) == max(0, (number - 3) // 2), commit
        assert commit in first.passed


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE)
async def test_one_of_four_processes_sends(desks, places, name, parts):
    case = await desks.case(await places.at(name), parts)
    result = await desks.to_the_end(case, senders=4)
    assert result.wrong == ()
    request_counts = [_requests(run.passed) for run in result.runs[:4]]
    assert sum(request_counts) == (parts if name != "pds" else 1)


@pytest.mark.parametrize("parts", [1, 3] if PROVE else [3])
@pytest.mark.parametrize("name", EVERYWHERE)
async def test_one_of_four_desks_in_one_process_sends(desks, places, name, parts):
    case = await desks.case(await places.at(name), parts)
    async with AsyncExitStack() as stack:
        opened_desks = [await stack.enter_async_context(desk_of(case)) for _ in range(4)]
        await asyncio.gather(*[pick_up_and_send(desk) for desk in opened_desks])
    assert (await desks.to_the_end(case)).wrong == ()


class Answer(NamedTuple):
    """The withheld response to the first posting request."""

    given: asyncio.Event
    """Set when the server has created the post."""
    go: asyncio.Event


@asynccontextmanager
async def desk_of(case: Case) -> AsyncIterator[Desk]:
    """Open the desk of a case in this process, with the clock at DUE."""
    order = case.place.order(case.home)
    boundaries = Boundaries(-1, order)
    transport = WatchedTransport(boundaries)
    platforms = {order.platform: platform_of(order, boundaries, transport)}
    async with open_desk(settings_at(case.home), clock=lambda: DUE, platforms=platforms) as desk:
        yield desk
    await transport.aclose()


async def pick_up_and_send(desk: Desk) -> None:
    """Dispatch due drafts and send them, as the daemon does."""
    await desk.schedule.picking_up.pick_up()
    await desk.posting.send_due()


def keep_back(proxy: CuttingProxy) -> Answer:
    """Let the server process the posting request, and withhold its response until released."""
    answer, original = Answer(asyncio.Event(), asyncio.Event()), proxy._ask

    async def request_and_hold(request):
        response = await original(request)
        if request.method == "POST" and request.path.endswith(("/statuses", "applyWrites")):
            answer.given.set()
            await answer.go.wait()
        return response

    proxy._ask = request_and_hold
    return answer


@pytest.mark.parametrize("how", ["closed", "cancelled", "closed while posting now"])
@pytest.mark.parametrize("name", REAL if PROVE else REAL[1:])
async def test_closing_console_waits_for_outcome(desks, places, name, how):
    server, proxy = await places.behind(name)
    case, answer = await desks.case(server, 3), keep_back(proxy)
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
async def test_stopped_daemon_waits_for_outcome(desks, places, name, told):
    server, proxy = await places.behind(name)
    case, answer = await desks.case(server, 1, an_hour_that_is_due()), keep_back(proxy)
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
async def test_next_daemon_continues_after_killed_one(desks, places, parts):
    server, proxy = await places.behind("mastodon with keys")
    case, answer = await desks.case(server, parts, an_hour_that_is_due()), keep_back(proxy)
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
    """Return a creation time for a desk whose draft is due now."""
    now = datetime.now(UTC)
    return now.replace(microsecond=0) - timedelta(seconds=61)


def start_daemon(case: Case) -> "subprocess.Popen[bytes]":
    """Start `copydesk daemon` on the desk of a case."""
    secret = (case.home / "secrets.json").read_text(encoding="utf-8")
    variables = environment(case.home, copydesk_secret_mastodon=secret)
    return subprocess.Popen([*COMMAND, "daemon"], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_request(boundary: str) -> bool:
    name = boundary.partition(" ")[2]
    return name in NOT_COMMITS or name.startswith(("POST ", "GET "))


def _requests(passed: Sequence[str]) -> int:
    """Count the requests that create posts."""
    return sum(boundary in REQUESTS for boundary in passed)
