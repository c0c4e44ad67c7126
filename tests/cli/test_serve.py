"""Tests for `copydesk serve`."""

import json
import re
import signal
import subprocess
from datetime import UTC, datetime

import httpx

from cli_runner import COMMAND, assert_one_line_error, error_text, make_environment, run_command, run_in_process
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


def test_access_log_names_token_and_operation_but_no_secrets(tmp_path):
    token = run_command(tmp_path, "token", "create", "--name", "phone", "--scope", "read").out.strip()
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--jobs", "--access-log"],
        env=make_environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        started = re.search(r"http://\S+", process.stderr.readline())
        assert started
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": "r1"}
        response = httpx.get(f"{started[0]}/drafts", params={"tags": "private"}, headers=headers)
        process.send_signal(signal.SIGTERM)
        output = process.stderr.read()
    assert (response.status_code, process.returncode) == (200, 0)
    (line,) = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert line["time"].endswith("Z")
    assert line["seconds"] < 10
    facts = {name: value for name, value in line.items() if name not in {"time", "seconds"}}
    assert facts == {
        "requestId": "r1",
        "level": "info",
        "method": "GET",
        "path": "/drafts",
        "operation": "list_drafts",
        "status": 200,
        "user": "owner",
        "token": "phone",
        "client": "127.0.0.1",
    }
    assert token not in output
    assert "private" not in output


def test_foreign_address_is_refused(tmp_path):
    assert run_in_process(tmp_path, "token", "create", "--name", "phone", "--scope", "read").code == 0
    result = run_in_process(tmp_path, "serve", "--host", "192.0.2.1")
    assert_one_line_error(result, 2)
    assert error_text(result).startswith("Cannot listen on 192.0.2.1 port 8470: ")
    assert error_text(result).endswith(" Pass an address of this machine.")
