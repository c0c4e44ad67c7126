"""Tests that each post is published exactly once, and each thread completely and in order, under faults.

Not covered, because nothing can prevent it: a sender stopped (SIGSTOP) after its commit and before its first byte, for
longer than its lease and the settle time, that then continues on a server without idempotency keys.
"""

import asyncio
import signal
import subprocess
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from cli_runner import COMMAND, make_environment
from copydesk.desk import Desk, open_desk
from copydesk.posting.fake import Fault
from crash_points import DUE, CrashPoints, CrashPointTransport
from desk_fixtures import settings_at
from fault_proxy import GARBAGE, Cut, FaultProxy, ReplacedResponse, Restart
from killed_sender import STORE_FAILED, make_platform
from sampling import EXHAUSTIVE
from send_cases import find_problems, is_finished
from send_targets import SendCase

FAKE_SERVERS = ("fake with keys", "fake without keys")
MASTODON_SERVERS = ("mastodon with keys", "mastodon without keys")
REAL_SERVERS = (*MASTODON_SERVERS, "pds")
ALL_SERVERS = (*FAKE_SERVERS, *REAL_SERVERS)
WRITE_REQUEST = r"POST /xrpc/com\.atproto\.repo\.applyWrites"
FAULT_TARGETS = {
    "mastodon with keys": "POST /api/v1/statuses",
    "mastodon without keys": "POST /api/v1/statuses",
    "pds": WRITE_REQUEST,
}
REFRESH_REQUEST = r"POST /xrpc/com\.atproto\.server\.refreshSession"
POSTING_BOUNDARIES = ("before send", "before POST statuses", "before POST applyWrites")
NON_COMMIT_BOUNDARIES = ("send", "find post", "save secrets")

DAEMON_TIMEOUT = 300.0
"""Seconds. A daemon looks every 30 seconds for what is due, and asks for a lost answer 30 seconds later or more."""

SINGLE_FAULTS = [
    [Cut.BEFORE],
    [Cut.AFTER],
    [Cut.HALF],
    [Cut.LATE],
    [GARBAGE],
    [ReplacedResponse(500)],
    [ReplacedResponse(500, forwarded=True)],
    [ReplacedResponse(429, headers=(("retry-after", "70"),))],
    [ReplacedResponse(200, b"<html>", forwarded=True)],
]
DOUBLE_FAULTS = [[Cut.AFTER, Cut.AFTER], [Cut.BEFORE, Cut.AFTER], [Cut.LATE, Cut.LATE], [Cut.BEFORE, Cut.LATE]]
SAMPLE_FAULTS = [[Cut.AFTER], [Cut.LATE], SINGLE_FAULTS[6], SINGLE_FAULTS[7], SINGLE_FAULTS[8]]
FAULTS_AT_SECOND_POST = [[None, *faults] for faults in (*SINGLE_FAULTS, *DOUBLE_FAULTS)]
FAULTS = (
    [(name, parts, faults) for name in REAL_SERVERS for parts in (1, 3) for faults in (*SINGLE_FAULTS, *DOUBLE_FAULTS)]
    + [(name, 3, faults) for name in MASTODON_SERVERS for faults in FAULTS_AT_SECOND_POST]
    if EXHAUSTIVE
    else [(name, 1, faults) for name in REAL_SERVERS for faults in SAMPLE_FAULTS]
    + [(name, 3, [None, *faults]) for name in MASTODON_SERVERS for faults in SAMPLE_FAULTS[:2]]
)
FAKE_FAULTS = [
    (each,) for each in (Fault.NO_CONNECTION, Fault.THROTTLED, Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LATE)
] + [(Fault.CUT_AFTER, Fault.CUT_AFTER), (Fault.LATE, Fault.CUT_BEFORE), (Fault.CUT_BEFORE, Fault.NO_CONNECTION)]


def test_number_of_faults():
    assert len(FAULTS) == (3 * 2 * 13 + 2 * 13 if EXHAUSTIVE else 3 * 5 + 2 * 2)
    assert len(FAKE_FAULTS) == 8


@pytest.mark.parametrize(("name", "parts", "faults"), FAULTS, ids=str)
async def test_post_is_published_once_under_network_faults(desks, servers, name, parts, faults):
    server, proxy = await servers.behind_proxy(name, FAULT_TARGETS[name])
    case = await desks.create_case(server, parts)
    proxy.faults.extend(faults)
    result = await desks.run_to_end(case)
    assert result.problems == ()
    # The first fault was met; a second one is not met if the first request was found to have arrived.
    assert len(proxy.faults) < len([fault for fault in faults if fault])


@pytest.mark.parametrize("fault_position", [0, 1, 2] if EXHAUSTIVE else [1])
@pytest.mark.parametrize("faults", FAKE_FAULTS, ids=str)
@pytest.mark.parametrize("name", FAKE_SERVERS)
async def test_post_is_published_once_under_request_faults(desks, servers, name, faults, fault_position):
    case = await desks.create_case(await servers.get(name), 3)
    result = await desks.run_to_end(case, faults=("",) * fault_position + tuple(faults))
    assert result.problems == ()


@pytest.mark.parametrize("parts", [1, 3] if EXHAUSTIVE else [1])
@pytest.mark.parametrize("name", REAL_SERVERS)
async def test_refused_connection_is_retried(desks, servers, name, parts):
    server, proxy = await servers.behind_proxy(name)
    case = await desks.create_case(server, parts)
    async with proxy.refuse_connections():
        await desks.send_once(case)
    assert (server.stored_posts(case) == [], is_finished(case.home)) == (True, False)
    assert (await desks.run_to_end(case)).problems == ()


RESTARTS = [Restart(), Restart(Cut.BEFORE), Restart(Cut.AFTER), Restart(ReplacedResponse(503))]


@pytest.mark.parametrize("restart", RESTARTS if EXHAUSTIVE else RESTARTS[::2], ids=str)
@pytest.mark.parametrize("name", REAL_SERVERS)
async def test_restarted_server_gets_each_post_once(desks, servers, name, restart):
    """After the request of the first post, on a PDS before that of the whole thread, connections are refused."""
    server, proxy = await servers.behind_proxy(name, REFRESH_REQUEST if name == "pds" else FAULT_TARGETS[name])
    case = await desks.create_case(server, 3)
    proxy.faults.append(restart)
    for seconds in (0, 60, 400):
        await desks.send_once(case, ahead=seconds)
    assert (len(server.stored_posts(case)) <= 1, is_finished(case.home), proxy.faults) == (True, False, deque())
    await proxy.listen()
    assert (await desks.run_to_end(case)).problems == ()


@pytest.mark.parametrize("fault", [Cut.BEFORE, Cut.AFTER, Cut.LATE, ReplacedResponse(500), GARBAGE], ids=str)
async def test_old_tokens_work_if_new_ones_are_lost(desks, servers, fault):
    server, proxy = await servers.behind_proxy("pds", REFRESH_REQUEST)
    case = await desks.create_case(server, 3)
    proxy.faults.append(fault)
    assert (await desks.run_to_end(case)).problems == ()
    assert not proxy.faults


@pytest.mark.parametrize("parts", [1, 3] if EXHAUSTIVE else [3])
@pytest.mark.parametrize("name", ALL_SERVERS if EXHAUSTIVE else ("fake without keys", "mastodon with keys", "pds"))
async def test_disk_full_at_any_commit_posts_nothing_twice(desks, servers, name, parts):
    server = await servers.get(name)
    passed = (await desks.run_to_end(await desks.create_case(server, parts))).crash_points
    commits = [point for point in enumerate(passed) if point[1].startswith("before ") and not _is_request(point[1])]
    assert len(commits) == 5 + 3 * (parts if name != "pds" else 1)
    for number, (position, commit) in enumerate(commits, 1):
        # These two write the file of marks, which is smaller than the limit that simulates the full disk.
        if commit in ("before start marks", "before confirm start"):
            continue
        result = await desks.run_to_end(await desks.create_case(server, parts), full_from=number)
        first = result.runs[0]
        assert result.problems == (), commit
        # Releasing the account lease may fail: it expires.
        assert first.code == (0 if commit == "before release lease" else STORE_FAILED), commit
        # After a failed commit nothing is sent.
        assert _requests(first.crash_points) == _requests(passed[:position]), commit
        assert commit in first.crash_points


@pytest.mark.parametrize("parts", [1, 3] if EXHAUSTIVE else [3])
@pytest.mark.parametrize("name", ALL_SERVERS)
async def test_one_of_four_processes_sends(desks, servers, name, parts):
    case = await desks.create_case(await servers.get(name), parts)
    result = await desks.run_to_end(case, senders=4)
    assert result.problems == ()
    request_counts = [_requests(run.crash_points) for run in result.runs[:4]]
    assert sum(request_counts) == (parts if name != "pds" else 1)


@pytest.mark.parametrize("parts", [1, 3] if EXHAUSTIVE else [3])
@pytest.mark.parametrize("name", ALL_SERVERS)
async def test_one_of_four_desks_in_one_process_sends(desks, servers, name, parts):
    case = await desks.create_case(await servers.get(name), parts)
    async with AsyncExitStack() as stack:
        opened_desks = [await stack.enter_async_context(open_case_desk(case)) for _ in range(4)]
        await asyncio.gather(*[dispatch_and_send(desk) for desk in opened_desks])
    assert (await desks.run_to_end(case)).problems == ()


class HeldResponse(NamedTuple):
    """The withheld response to the first posting request."""

    received: asyncio.Event
    """Set when the server has created the post."""
    release: asyncio.Event


@asynccontextmanager
async def open_case_desk(case: SendCase) -> AsyncIterator[Desk]:
    """Open the desk of a case in this process, with the clock at DUE."""
    order = case.target.make_order(case.home)
    boundaries = CrashPoints(-1, order)
    transport = CrashPointTransport(boundaries)
    platforms = {order.platform: make_platform(order, boundaries, transport)}
    async with open_desk(settings_at(case.home), clock=lambda: DUE, platforms=platforms) as desk:
        yield desk
    await transport.aclose()


async def dispatch_and_send(desk: Desk) -> None:
    """Dispatch due drafts and send them, as the daemon does."""
    await desk.schedule.due_drafts.dispatch_due()
    await desk.posting.send_due()


def hold_response(proxy: FaultProxy) -> HeldResponse:
    """Let the server process the posting request, and withhold its response until released."""
    answer, original = HeldResponse(asyncio.Event(), asyncio.Event()), proxy._forward

    async def request_and_hold(request):
        response = await original(request)
        if request.method == "POST" and request.path.endswith(("/statuses", "applyWrites")):
            answer.received.set()
            await answer.release.wait()
        return response

    proxy._forward = request_and_hold
    return answer


@pytest.mark.parametrize("ending", ["closed", "cancelled", "closed while posting now"])
@pytest.mark.parametrize("name", REAL_SERVERS if EXHAUSTIVE else REAL_SERVERS[1:])
async def test_closing_console_waits_for_outcome(desks, servers, name, ending):
    server, proxy = await servers.behind_proxy(name)
    case, answer = await desks.create_case(server, 3), hold_response(proxy)
    async with open_case_desk(case) as desk:
        if "now" in ending:
            draft = (await desk.drafts.list()).items[0].id
            sending = asyncio.create_task(desk.posting.post(draft))
        else:
            sending = asyncio.create_task(dispatch_and_send(desk))
        await answer.received.wait()
        if ending != "closed":
            sending.cancel()
        asyncio.get_running_loop().call_later(0.05, answer.release.set)
    await asyncio.gather(sending, return_exceptions=True)
    assert is_finished(case.home)
    assert list(find_problems(case)) == []
    assert (await desks.run_to_end(case)).problems == ()


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,)], ids=str)
@pytest.mark.parametrize("name", MASTODON_SERVERS if EXHAUSTIVE else MASTODON_SERVERS[1:])
async def test_stopped_daemon_waits_for_outcome(desks, servers, name, signals):
    server, proxy = await servers.behind_proxy(name)
    case, answer = await desks.create_case(server, 1, due_start_time()), hold_response(proxy)
    daemon = start_daemon(case)
    await asyncio.wait_for(answer.received.wait(), DAEMON_TIMEOUT)
    for number in signals:
        daemon.send_signal(number)
        await asyncio.sleep(0.1)
    answer.release.set()
    await asyncio.to_thread(daemon.communicate, timeout=DAEMON_TIMEOUT)
    assert is_finished(case.home)
    assert list(find_problems(case)) == []


@pytest.mark.parametrize("parts", [1, 3] if EXHAUSTIVE else [3])
async def test_next_daemon_continues_after_killed_one(desks, servers, parts):
    server, proxy = await servers.behind_proxy("mastodon with keys")
    case, answer = await desks.create_case(server, parts, due_start_time()), hold_response(proxy)
    daemon = start_daemon(case)
    await asyncio.wait_for(answer.received.wait(), DAEMON_TIMEOUT)
    daemon.kill()
    await asyncio.to_thread(daemon.communicate, timeout=DAEMON_TIMEOUT)
    answer.release.set()
    daemon = start_daemon(case)
    await asyncio.to_thread(wait_until, lambda: is_finished(case.home))
    daemon.terminate()
    await asyncio.to_thread(daemon.communicate, timeout=DAEMON_TIMEOUT)
    assert list(find_problems(case)) == []


def due_start_time() -> datetime:
    """Return a creation time for a desk whose draft is due now."""
    now = datetime.now(UTC)
    return now.replace(microsecond=0) - timedelta(seconds=61)


def start_daemon(case: SendCase) -> "subprocess.Popen[bytes]":
    """Start `copydesk daemon` on the desk of a case."""
    secret = (case.home / "secrets.json").read_text(encoding="utf-8")
    variables = make_environment(case.home, copydesk_secret_mastodon=secret)
    return subprocess.Popen([*COMMAND, "daemon"], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + DAEMON_TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_request(boundary: str) -> bool:
    name = boundary.partition(" ")[2]
    return name in NON_COMMIT_BOUNDARIES or name.startswith(("POST ", "GET "))


def _requests(passed: Sequence[str]) -> int:
    """Count the requests that create posts."""
    return sum(boundary in POSTING_BOUNDARIES for boundary in passed)
