"""Tests for `draft post` when posting is interrupted or still in progress."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from cli_runner import run_in_process
from copydesk.desk.publishing.service import Posting


@pytest.fixture
def approved(tmp_path):
    """The id of an approved draft of the sample desk."""
    created = json.loads(run_in_process(tmp_path, "--sample", "draft", "new", "The harbour opens.", "--json").out)
    draft_id = created["drafts"][0]["id"]
    assert run_in_process(tmp_path, "--sample", "draft", "approve", draft_id).code == 0
    return draft_id


def test_interrupt_points_to_deliveries(tmp_path, approved, monkeypatch):
    async def interrupted(*_):
        raise asyncio.CancelledError

    monkeypatch.setattr(Posting, "post", interrupted)
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 130
    assert f"`copydesk --sample delivery list {approved}`" in result.err


def test_unfinished_post_points_to_daemon(tmp_path, approved, monkeypatch):
    original_post = Posting.post

    async def slow(*args):
        outcome = await original_post(*args)
        return replace(outcome, posted=(), under_way=outcome.posted)

    monkeypatch.setattr(Posting, "post", slow)
    result = run_in_process(tmp_path, "--sample", "draft", "post", approved)
    assert result.code == 1
    assert "while `copydesk --sample daemon` runs or the console is open" in result.err
    assert f"`copydesk --sample delivery list {approved}`" in result.err


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
