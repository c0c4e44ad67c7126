"""Tests for `copydesk worker` as a process."""

import asyncio
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from cli_runner import COMMAND, error_text, make_environment, run_in_process
from copydesk.desk.context import utc_now
from desk_fixtures import create_source, entry, feed, open_desk_at, query_db
from feed_server import FeedServer
from next_version import upgrade_to_next_version
from store_fixtures import postgresql_server


def test_worker_runs_jobs_and_stops_on_sigterm(tmp_path: Path) -> None:
    server = postgresql_server()
    assert server is not None
    server.url_without_tables(tmp_path)
    with FeedServer("0.0.0.0") as web:
        web.serve("/feed", feed(entry(1, now=datetime.now(UTC)), title="The Ferry Gazette"))
        assert run_in_process(tmp_path, "source", "add", "rss", web.url("/feed")).code == 0
        process = subprocess.Popen(
            [*COMMAND, "worker"], env=make_environment(tmp_path), stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)

    assert lines[0] == "Running. Ctrl-C stops.\n"
    assert lines[1].endswith("owner pipeline: succeeded: 1 draft from 1 item\n")
    assert (process.returncode, rest) == (0, "Stopping after the jobs in progress. Ctrl-C again cancels them.\n")
    # Nothing is left in its name.
    assert query_db(tmp_path, "SELECT count(*) FROM procrastinate_workers") == [(0,)]
    doctor = run_in_process(tmp_path, "doctor")
    assert "0 workers, " in doctor.out


def test_worker_goes_on_after_an_upgrade_until_it_is_stopped(tmp_path: Path) -> None:
    """A newer version upgrades the tables while the worker of this one runs."""
    server = postgresql_server()
    assert server is not None
    url = server.url_without_tables(tmp_path)

    async def upgrade_and_add_source(feed_url: str) -> None:
        # Opened before: a process that starts later is refused.
        async with open_desk_at(tmp_path, clock=utc_now, network__allow_private="true") as desk:
            await upgrade_to_next_version(url)
            await create_source(desk, feed_url)

    with FeedServer("0.0.0.0") as web:
        web.serve("/feed", feed(entry(1, now=datetime.now(UTC)), title="The Ferry Gazette"))
        process = subprocess.Popen(
            [*COMMAND, "worker"], env=make_environment(tmp_path), stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        asyncio.run(upgrade_and_add_source(web.url("/feed")))
        lines.append(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    refused = run_in_process(tmp_path, "worker")

    assert lines[1].endswith("owner pipeline: succeeded: 1 draft from 1 item\n")
    assert (process.returncode, rest) == (0, "Stopping after the jobs in progress. Ctrl-C again cancels them.\n")
    assert query_db(tmp_path, "SELECT mood FROM draft") == [("calm",)]
    assert (refused.code, error_text(refused)) == (
        1,
        "A newer version of Copydesk created the tables (revision 9000); nothing changed. Install that version.",
    )
