"""The daemon: a line for each thing done, and an end when it is told."""

import asyncio
import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from command_line import COMMAND, assert_one_line, call_here, environment
from desk_fixtures import entry, feed, rows
from feed_server import FeedServer

LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ "


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer("0.0.0.0") as server:
        now = datetime.now(UTC)
        server.serve("/feed", feed(*(entry(number, now=now) for number in range(3)), title="The Ferry Gazette"))
        yield server


@pytest.fixture
def home(tmp_path: Path, server: FeedServer) -> Path:
    """A desk with one source."""
    said = call_here(tmp_path, "source", "add", "rss", server.url("/feed"))
    assert said.code == 0, said
    return tmp_path


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def start(home: Path, **named: str) -> "subprocess.Popen[str]":
    """Start a daemon, and do not wait."""
    return subprocess.Popen(
        [*COMMAND, "daemon"], env=environment(home, **named), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_once_does_what_is_due_and_ends(home):
    said = call_here(home, "daemon", "--once")

    assert (said.code, said.out) == (0, "")
    assert re.fullmatch(LINE + r"pipeline: succeeded: 3 drafts from 3 items\n", said.err)
    again = call_here(home, "daemon", "--once")
    assert (again.code, again.out, again.err) == (0, "", "")


def test_once_says_what_failed_and_how_it_stands(home, server):
    server.fail("/feed", 500)
    said = call_here(home, "daemon", "--once")

    assert (said.code, said.out) == (1, "")
    assert re.fullmatch(LINE + r"pipeline failed: .+\n", said.err)
    states = {state["name"]: state for state in json.loads(call_here(home, "daemon", "--status", "--json").out)}
    assert states["pipeline"]["error"] in said.err
    assert states["pipeline"]["owner"] is None
    shown = call_here(home, "daemon", "--status")
    assert shown.code == 0
    assert re.search(r"pipeline .* failed: ", shown.out)


def test_a_desk_without_a_daemon_says_so(tmp_path):
    said = call_here(tmp_path, "daemon", "--status")

    assert (said.code, said.out) == (0, "")
    assert "copydesk daemon" in said.err


@pytest.mark.parametrize("args", [["--json"], ["--once", "--status"], ["--once", "--json"]])
def test_what_does_not_go_together_is_wrong_usage(tmp_path, args):
    assert_one_line(call_here(tmp_path, "daemon", *args), 2)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_when_it_is_told(home, number, code):
    with start(home) as daemon:
        until(lambda: rows(home, "SELECT 1 FROM draft"))
        daemon.send_signal(number)
        out, err = daemon.communicate(timeout=60)

    assert (daemon.returncode, out) == (code, "")
    lines = err.splitlines()
    assert lines[0].startswith("Looking for what is due")
    # What was under way may be done before or after the signal.
    assert "Ending, after what is under way." in lines
    assert any(re.fullmatch(LINE + r"pipeline: succeeded: 3 drafts from 3 items", line) for line in lines)
    assert len(lines) == 3
    assert rows(home, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


def test_two_daemons_read_a_source_once(home, server):
    before = len(server.asked("/feed"))
    with start(home) as one, start(home) as two:
        until(lambda: rows(home, "SELECT 1 FROM run WHERE status = 'succeeded'"))
        for daemon in (one, two):
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate(timeout=60)

    assert (one.returncode, two.returncode) == (0, 0)
    assert len(server.asked("/feed")) == before + 1
    assert rows(home, "SELECT count(*) FROM run") == [(1,)]


def test_a_killed_daemons_work_is_taken_over_at_once(home, server):
    page, go = server._routes["/feed"], threading.Event()

    async def wait(request, writer):
        await asyncio.to_thread(go.wait)
        return await page(request, writer)

    server.route("/feed", wait)
    before = len(server.asked("/feed"))
    with start(home) as daemon:
        until(lambda: len(server.asked("/feed")) > before)
        daemon.kill()
        daemon.communicate(timeout=60)
    go.set()
    assert rows(home, "SELECT status FROM run") == [("running",)]
    said = call_here(home, "daemon", "--once")

    assert said.code == 0
    assert "pipeline: succeeded: 3 drafts from 3 items" in said.err
    assert rows(home, "SELECT status FROM run ORDER BY id") == [("interrupted",), ("succeeded",)]


def test_no_source_is_read_where_nobody_is_to(home, server):
    before = len(server.asked("/feed"))
    assert call_here(home, "daemon", "--once", copydesk_jobs__pipeline="never").code == 0

    assert len(server.asked("/feed")) == before


def test_the_start_costs_no_command_the_scheduler():
    """APScheduler takes 80 ms to import; nobody but the daemon and an open console is to pay for it."""
    program = (
        "import sys, copydesk.cli.daemon, copydesk.cli.schedule, copydesk.cli.slot, copydesk.tui.app;"
        "from copydesk.desk import Desk;"
        "assert not [name for name in sys.modules if name.startswith(('apscheduler', 'copydesk.jobs'))]"
    )
    subprocess.run([COMMAND[0], "-c", program], check=True, timeout=60)
