"""Tests for `copydesk serve`."""

import re
import signal
import subprocess
from datetime import UTC, datetime

from cli_runner import COMMAND, make_environment, run_in_process
from desk_fixtures import entry, feed, query_db
from feed_server import FeedServer


def test_jobs_of_all_users_run_until_the_server_stops(tmp_path):
    with FeedServer("0.0.0.0") as server:
        server.serve("/feed", feed(entry(1, now=datetime.now(UTC))))
        assert run_in_process(tmp_path, "user", "add", "anna").code == 0
        for user in ("owner", "anna"):
            result = run_in_process(tmp_path, "--user", user, "source", "add", "rss", server.url("/feed"))
            assert result.code == 0, result
        command = [*COMMAND, "serve", "--port", "0", "--jobs"]
        with subprocess.Popen(command, env=make_environment(tmp_path), stderr=subprocess.PIPE, text=True) as process:
            lines = []
            while sum("pipeline" in line for line in lines) < 2:
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=60)[1]
    assert process.returncode == 0, rest
    ended = [line for line in lines if "pipeline" in line]
    assert sorted(re.sub(r"^\S+ \S+ \S+ ", "", line) for line in ended) == [
        "anna pipeline: succeeded: 1 draft from 1 item\n",
        "owner pipeline: succeeded: 1 draft from 1 item\n",
    ]
    assert query_db(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]
