"""Tests for `copydesk daemon`."""

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

from cli_runner import COMMAND, assert_one_line_error, make_environment, run_in_process
from desk_fixtures import entry, feed, query_db
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
    result = run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"))
    assert result.code == 0, result
    return tmp_path


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until `condition` is true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start_daemon(home: Path, **env: str) -> "subprocess.Popen[str]":
    """Start a daemon without waiting for it."""
    return subprocess.Popen(
        [*COMMAND, "daemon"],
        env=make_environment(home, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_once_runs_due_jobs_and_exits(home):
    result = run_in_process(home, "daemon", "--once")

    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(LINE + r"pipeline: succeeded: 3 drafts from 3 items\n", result.err)
    second = run_in_process(home, "daemon", "--once")
    assert (second.code, second.out, second.err) == (0, "", "")


def test_once_reports_failed_job(home, server):
    server.fail("/feed", 500)
    result = run_in_process(home, "daemon", "--once")

    assert (result.code, result.out) == (1, "")
    assert re.fullmatch(LINE + r"pipeline failed: .+\n", result.err)
    states = {state["name"]: state for state in json.loads(run_in_process(home, "daemon", "--status", "--json").out)}
    assert states["pipeline"]["error"] in result.err
    assert states["pipeline"]["owner"] is None
    status = run_in_process(home, "daemon", "--status")
    assert status.code == 0
    assert re.search(r"pipeline .* failed: ", status.out)


def test_status_without_daemon(tmp_path):
    result = run_in_process(tmp_path, "daemon", "--status")

    assert (result.code, result.out) == (0, "")
    assert "copydesk daemon" in result.err


@pytest.mark.parametrize("args", [["--json"], ["--once", "--status"], ["--once", "--json"]])
def test_conflicting_options_are_usage_error(tmp_path, args):
    assert_one_line_error(run_in_process(tmp_path, "daemon", *args), 2)


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_stops_daemon(home, signal_number, code):
    with start_daemon(home) as daemon:
        wait_until(lambda: query_db(home, "SELECT 1 FROM draft"))
        daemon.send_signal(signal_number)
        out, err = daemon.communicate(timeout=60)

    assert (daemon.returncode, out) == (code, "")
    lines = err.splitlines()
    assert lines[0].startswith("Running. Due jobs are checked every 30 seconds.")
    # Work that was in progress may finish before or after the signal.
    assert "Stopping after the jobs in progress. Ctrl-C again cancels them." in lines
    assert any(re.fullmatch(LINE + r"pipeline: succeeded: 3 drafts from 3 items", line) for line in lines)
    assert len(lines) == 3
    assert query_db(home, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


def test_two_daemons_fetch_source_once(home, server):
    before = len(server.requests_for("/feed"))
    with start_daemon(home) as first, start_daemon(home) as second:
        wait_until(lambda: query_db(home, "SELECT 1 FROM run WHERE status = 'succeeded'"))
        for daemon in (first, second):
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate(timeout=60)

    assert (first.returncode, second.returncode) == (0, 0)
    assert len(server.requests_for("/feed")) == before + 1
    assert query_db(home, "SELECT count(*) FROM run") == [(1,)]


def test_killed_daemon_is_replaced_at_once(home, server):
    page, release = server._routes["/feed"], threading.Event()

    async def delayed_page(request, writer):
        await asyncio.to_thread(release.wait)
        return await page(request, writer)

    server.route("/feed", delayed_page)
    before = len(server.requests_for("/feed"))
    with start_daemon(home) as daemon:
        wait_until(lambda: len(server.requests_for("/feed")) > before)
        daemon.kill()
        daemon.communicate(timeout=60)
    release.set()
    assert query_db(home, "SELECT status FROM run") == [("running",)]
    result = run_in_process(home, "daemon", "--once")

    assert result.code == 0
    assert "pipeline: succeeded: 3 drafts from 3 items" in result.err
    assert query_db(home, "SELECT status FROM run ORDER BY id") == [("interrupted",), ("succeeded",)]


def test_items_of_killed_run_are_drafted_before_their_source_is_due(home):
    with start_daemon(home) as daemon:
        wait_until(lambda: query_db(home, "SELECT 1 FROM item"))
        daemon.kill()
        daemon.communicate(timeout=60)
    assert run_in_process(home, "daemon", "--once").code == 0
    assert query_db(home, "SELECT count(*) FROM draft") == [(3,)]


def test_pipeline_interval_never_disables_fetching(home, server):
    before = len(server.requests_for("/feed"))
    assert run_in_process(home, "daemon", "--once", copydesk_jobs__pipeline="never").code == 0

    assert len(server.requests_for("/feed")) == before


def test_scheduler_is_imported_only_by_daemon():
    """APScheduler takes 80 ms to import; only the daemon and an open console may pay for it."""
    program = (
        "import sys, copydesk.cli.daemon, copydesk.cli.schedule, copydesk.cli.slot, copydesk.tui.app;"
        "from copydesk.desk import Desk;"
        "assert not [name for name in sys.modules if name.startswith(('apscheduler', 'copydesk.jobs'))]"
    )
    subprocess.run([COMMAND[0], "-c", program], check=True, timeout=60)
