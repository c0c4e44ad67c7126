"""Tests for `draft post` when posting is interrupted or still in progress."""

import asyncio
import json
import re
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest

from cli_runner import run_in_process
from copydesk.desk.publishing.service import Posting
from copydesk.posting.fake import FakePlatform
from copydesk.posting.platform import LoginError, NotSentError
from desk_fixtures import execute_sql


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder of a sample desk with an approved draft, and the draft's id."""
    folder = tmp_path_factory.mktemp("prepared")
    created = json.loads(run_in_process(folder, "--sample", "draft", "new", "The harbour opens.", "--json").out)
    draft_id = created["drafts"][0]["id"]
    assert run_in_process(folder, "--sample", "draft", "approve", draft_id).code == 0
    return folder, draft_id


@pytest.fixture
def approved(tmp_path, prepared):
    """The id of an approved draft of a sample desk in `tmp_path`."""
    folder, draft_id = prepared
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return draft_id


def test_interrupt_points_to_deliveries(tmp_path, approved, monkeypatch):
    async def interrupted(*_):
        raise asyncio.CancelledError

    monkeypatch.setattr(Posting, "post", interrupted)
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 130
    assert f"`copydesk --sample delivery list {approved}`" in result.err


def fail_sending(monkeypatch, error):
    async def send(*_):
        raise error

    monkeypatch.setattr(FakePlatform, "send", send)


def test_unfinished_post_points_to_daemon(tmp_path, approved, monkeypatch):
    # In ten minutes, so that the command does not wait for it.
    fail_sending(monkeypatch, NotSentError("No connection.", retry_after=datetime.now(UTC) + timedelta(minutes=10)))
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 1
    assert "while `copydesk --sample daemon` runs or the console is open" in result.err
    assert f"`copydesk --sample delivery list {approved}`" in result.err


def test_post_that_waits_for_a_login_does_not_point_to_daemon(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, LoginError("Revoked.", hint="Sign in again."))
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert (result.code, result.err) == (1, "")
    assert re.fullmatch(
        r"fake:you: Revoked. Sign in again. It is sent once you sign in; after .+ it is given up.\n", result.out
    )


def test_post_that_will_be_too_late_is_given_up_at_once(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, NotSentError("Too many.", retry_after=datetime.now(UTC) + timedelta(seconds=90_000)))
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert (result.code, result.out) == (1, "")
    assert "fake:you: Given up: Too many. The next attempt would be in 25 hours" in result.err


def test_daemon_announces_what_it_gives_up(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, LoginError("Revoked."))
    run_in_process(tmp_path, "--sample", "draft", "post", approved)
    execute_sql(tmp_path / "sample", "UPDATE delivery SET due_at = 0")
    result = run_in_process(tmp_path, "--sample", "daemon", "--once", copydesk_jobs__pipeline="never")
    assert result.code == 1
    assert f"missed failed: {approved} to fake:you: Given up: Missed: more than 30 minutes late." in result.err
    again = run_in_process(tmp_path, "--sample", "daemon", "--once", copydesk_jobs__pipeline="never")
    assert (again.code, "missed" in again.err) == (0, False)


def test_daemon_fails_when_it_gives_up_while_sending(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, NotSentError("Too many.", retry_after=datetime.now(UTC) + timedelta(seconds=90_000)))
    run_in_process(tmp_path, "--sample", "draft", "schedule", approved, "--at", "in 2 minutes", "--yes")
    execute_sql(tmp_path / "sample", "UPDATE draft SET scheduled_at = ?", int(time.time() * 1_000_000))
    result = run_in_process(tmp_path, "--sample", "daemon", "--once", copydesk_jobs__pipeline="never")
    assert result.code == 1
    assert f"posting failed: {approved} to fake:you: Given up: Too many. The next attempt" in result.err


def test_post_edits_nothing_and_takes_one_draft(tmp_path, approved):
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved, approved)
    assert (result.code, result.out) == (2, "")
    posted = json.loads(run_in_process(tmp_path, "--sample", "draft", "post", approved, "--json").out)
    assert (posted["failed"], posted["draft"]["status"], posted["draft"]["text"]) == (
        [],
        "posted",
        "The harbour opens.",
    )
    assert (
        run_in_process(tmp_path, "--sample", "draft", "post", approved).err
        == "Error: Already posted there; nothing was sent.\n"
    )
