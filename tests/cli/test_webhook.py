"""Tests for `copydesk webhook`."""

import asyncio
import hmac
import json
import subprocess
import time
from base64 import b64decode, b64encode

import pytest

from cli_runner import COMMAND, assert_one_line_error, make_environment, run_in_process
from desk_fixtures import execute_sql, open_desk_at
from feed_server import FeedServer

URL = "https://hooks.example/copydesk"


def add_webhook(home, *args):
    result = run_in_process(home, "webhook", "add", URL, *args, "--json")
    assert result.code == 0, result
    return json.loads(result.out)


def create_drafts(home, count):
    async def create():
        async with open_desk_at(home) as desk:
            for number in range(count):
                await desk.drafts.create({"text": f"Ferry {number}."})

    asyncio.run(create())


def test_secret_is_printed_once(tmp_path):
    result = run_in_process(tmp_path, "webhook", "add", URL)
    assert result.code == 0
    assert result.out.startswith("whsec_")
    assert result.out.count("\n") == 1
    assert result.err == f"Added {URL}. Copy its secret now, it is not shown again:\n"
    assert "whsec_" not in run_in_process(tmp_path, "webhook", "list", "--json").out


def test_webhooks_are_listed_and_removed(tmp_path):
    empty = run_in_process(tmp_path, "webhook", "list")
    assert (empty.out, "copydesk webhook add URL" in empty.err) == ("", True)
    created = add_webhook(tmp_path, "--type", "draft.created", "--type", "run.ended")
    short_id = created["id"][-6:]
    listed = run_in_process(tmp_path, "webhook", "list")
    assert listed.out.split() == [short_id, URL, "draft.created,", "run.ended"]
    assert run_in_process(tmp_path, "webhook", "remove", short_id, "--yes").out == "Removed.\n"
    assert json.loads(run_in_process(tmp_path, "webhook", "list", "--json").out) == []


def test_removing_a_webhook_is_confirmed(tmp_path):
    webhook_id = add_webhook(tmp_path)["id"]
    declined = run_in_process(tmp_path, "webhook", "remove", webhook_id, stdin="n\n")
    assert (declined.code, declined.out) == (1, "")
    assert f"Remove {URL} with its secret and its log? [y/N]" in declined.err
    unanswered = run_in_process(tmp_path, "webhook", "remove", webhook_id)
    assert (unanswered.code, unanswered.err.splitlines()[-1]) == (
        1,
        "Error: Nothing changed. Use --yes to skip the confirmation.",
    )
    assert len(json.loads(run_in_process(tmp_path, "webhook", "list", "--json").out)) == 1
    accepted = run_in_process(tmp_path, "webhook", "remove", webhook_id, "--json", stdin="y\n")
    assert json.loads(accepted.out) == {"ok": True}


def test_log(tmp_path):
    created = add_webhook(tmp_path)
    assert run_in_process(tmp_path, "webhook", "log", created["id"]).err == "Nothing was sent yet.\n"
    create_drafts(tmp_path, 3)
    execute_sql(
        tmp_path,
        "UPDATE webhook_delivery SET attempts = 1, attempted_at = 0, status = 500, error = 'No.' WHERE event_id > 1",
    )
    execute_sql(tmp_path, "UPDATE webhook_delivery SET next_at = NULL WHERE event_id = 2")
    execute_sql(
        tmp_path,
        "UPDATE webhook_delivery SET delivered_at = 0, next_at = NULL, status = 204 WHERE event_id = 1",
    )
    result = run_in_process(tmp_path, "webhook", "log", created["id"])
    third, second, first = result.out.splitlines()
    assert "No. Next attempt" in third
    assert second.endswith("given up: No.")
    assert first.endswith("delivered 1970-01-01 00:00 UTC, status 204")
    page = json.loads(run_in_process(tmp_path, "webhook", "log", created["id"], "--limit", "2", "--json").out)
    assert [entry["eventId"] for entry in page["deliveries"]] == [3, 2]
    whole = json.loads(run_in_process(tmp_path, "webhook", "log", created["id"], "--all", "--json").out)
    assert [entry["eventId"] for entry in whole["deliveries"]] == [3, 2, 1]


def test_event_survives_a_killed_sender(tmp_path):
    """The request is on its way when the process is killed: nobody knows whether it arrived."""
    with FeedServer("0.0.0.0") as server:
        server.hang("/hook")
        result = run_in_process(tmp_path, "webhook", "add", server.url("/hook"))
        secret = result.out.strip()
        create_drafts(tmp_path, 1)
        command = [*COMMAND, "daemon", "--once"]
        with subprocess.Popen(command, env=make_environment(tmp_path), stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while not server.requests_for("/hook"):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()
        server.serve("/hook", b"")
        run_in_process(tmp_path, "daemon", "--once")
        run_in_process(tmp_path, "daemon", "--once")
        first, second = server.requests_for("/hook")
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert json.loads(first.body) == json.loads(second.body)
    for request in (first, second):
        headers = request.headers
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + request.body
        digest = hmac.digest(b64decode(secret.removeprefix("whsec_")), signed, "sha256")
        assert headers["webhook-signature"] == f"v1,{b64encode(digest).decode()}"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("add", "ftp://hooks.example"), 2),
        (("add", "https://user:password@hooks.example/"), 2),
        (("add", URL, "--type", "draft.eaten"), 2),
        (("remove", "unknown"), 3),
        (("log", "unknown"), 3),
    ],
)
def test_mistakes_are_told(tmp_path, args, code):
    assert_one_line_error(run_in_process(tmp_path, "webhook", *args), code)
