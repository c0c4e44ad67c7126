"""Tests for `draft post` when posting fails or is still in progress, and for the commands to answer."""

import asyncio
import json
import re
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest

from cli_runner import run_in_process
from copydesk.desk.publishing.service import Posting
from copydesk.errors import StoreFullError
from copydesk.posting.fake import FakePlatform
from copydesk.posting.platform import DeliveryGuarantees, LoginError, NotSentError, UnknownOutcomeError
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


def test_unfinished_post_points_to_daemon_only_if_consoles_do_not_post(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, NotSentError("No connection.", retry_after=datetime.now(UTC) + timedelta(minutes=10)))
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved, COPYDESK_JOBS__POSTING="daemon")
    assert "while `copydesk --sample daemon` runs. To follow them" in result.err


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


@pytest.fixture
def unknown(tmp_path, approved, monkeypatch):
    """The id of a delivery whose outcome is unknown, and whose account could not be checked."""
    with monkeypatch.context() as patch:
        fail_sending(patch, UnknownOutcomeError("No response."))
        patch.setattr(FakePlatform, "find_post", FakePlatform.send)
        patch.setattr(FakePlatform, "guarantees", lambda *_: DeliveryGuarantees(can_read_back=False))
        posted = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert (posted.code, "continue" in posted.err) == (1, False)
    # So long ago that the request cannot arrive any more.
    execute_sql(tmp_path / "sample", "UPDATE delivery SET progress = json_remove(progress, '$.lastSentAt')")
    return json.loads(run_in_process(tmp_path, "--sample", "needs-you", "--json").out)["deliveries"][0]["delivery"][
        "id"
    ]


def test_empty_list_names_what_is_listed(tmp_path, approved):
    everything = ("--sample", "delivery", "list")
    assert run_in_process(tmp_path, *everything).err == "No pending or recently failed deliveries.\n"
    assert run_in_process(tmp_path, *everything, approved).err == "No deliveries.\n"


def test_needs_you_lists_what_is_known_and_the_answers(tmp_path, unknown):
    result = run_in_process(tmp_path, "--sample", "needs-you")
    assert (result.code, result.err) == (0, "")
    assert [" ".join(line.split()) for line in result.out.splitlines()] == [
        "fake:you: The harbour opens.",
        "Unknown whether it was posted. No response. Copydesk cannot check Fake Social.",
        "Profile https://fake.example/you",
        f"It is there copydesk --sample delivery posted {unknown[-6:]} --url URL",
        f"Send again copydesk --sample delivery resend {unknown[-6:]}",
        f"Discard copydesk --sample delivery discard {unknown[-6:]}",
    ]


def test_earlier_names_of_commands_still_work(tmp_path, unknown):
    listed = run_in_process(tmp_path, "delivery", "--help").out
    assert "discard" in listed
    assert "drop" not in listed
    assert run_in_process(tmp_path, "--sample", "delivery", "drop", unknown).code == 0
    assert run_in_process(tmp_path, "--sample", "needs-you").err == "Nothing needs you.\n"


def test_needs_you_names_a_missing_account(tmp_path):
    created = run_in_process(tmp_path, "draft", "new", "Harbour news.", "--platform", "mastodon", "--json")
    draft_id = json.loads(created.out)["drafts"][0]["id"]
    run_in_process(tmp_path, "draft", "approve", draft_id)
    assert [" ".join(line.split()) for line in run_in_process(tmp_path, "needs-you").out.splitlines()] == [
        "No account is connected: 1 approved draft cannot be posted. Harbour news.",
        "Connect one: copydesk account connect bluesky",
    ]


def test_draft_that_lacks_an_approval_is_named_by_its_short_id(tmp_path, approved):
    assert run_in_process(tmp_path, "--sample", "account", "approvals", "fake", "2").code == 0
    run_in_process(tmp_path, "--sample", "draft", "unapprove", approved)
    noted = run_in_process(tmp_path, "--sample", "draft", "approve", approved)
    assert f"of another reviewer: copydesk --sample draft countersign {approved[-6:]}\n" in noted.err


def test_sending_again_is_confirmed_if_it_may_be_online(tmp_path, unknown):
    declined = run_in_process(tmp_path, "--sample", "delivery", "again", unknown, stdin="n\n")
    assert declined.code == 1
    assert "It may be on fake:you already, and would be posted twice. Send it again?" in declined.err
    assert "Error: Nothing was sent." in declined.err
    assert run_in_process(tmp_path, "--sample", "delivery", "again", unknown).code == 1
    sent = run_in_process(tmp_path, "--sample", "delivery", "again", unknown, "--yes")
    assert (sent.code, sent.out) == (0, "fake:you: Posted: https://fake.example/you/1\n")
    assert run_in_process(tmp_path, "--sample", "needs-you").err == "Nothing needs you.\n"


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
        == "Error: Already posted to fake:you; nothing was sent.\n"
    )


def test_failure_after_the_start_points_to_deliveries(tmp_path, approved, monkeypatch):
    async def fail(*_):
        raise StoreFullError

    monkeypatch.setattr(Posting, "_send_until_ended", fail)
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 1
    assert "Deliveries continue while `copydesk --sample daemon` runs" in result.err
    assert "Error: The disk is full" in result.err


def test_failure_after_the_last_delivery_does_not_claim_that_nothing_changed(tmp_path, approved, monkeypatch):
    async def fail(*_):
        raise StoreFullError

    monkeypatch.setattr(Posting, "list_deliveries", fail)
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert (result.code, result.err) == (
        1,
        f"Error: The disk is full. What was sent is recorded. See: copydesk --sample delivery list {approved}\n",
    )


def test_repeated_post_says_what_continues_it(tmp_path, approved, monkeypatch):
    fail_sending(monkeypatch, NotSentError("No connection.", retry_after=datetime.now(UTC) + timedelta(minutes=10)))
    for _ in range(2):
        result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 4
    assert result.err == (
        "Error: Already posting. Unfinished deliveries continue while `copydesk --sample daemon` runs. "
        "See: copydesk --sample delivery list\n"
    )
