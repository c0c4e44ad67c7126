"""`draft post`: what is said where it does not end at once."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from command_line import call_here
from copydesk.desk.posting import Posting


@pytest.fixture
def approved(tmp_path):
    """A draft of the sample desk that may be posted."""
    made = json.loads(call_here(tmp_path, "--sample", "draft", "new", "The harbour opens.", "--json").out)
    draft_id = made["drafts"][0]["id"]
    assert call_here(tmp_path, "--sample", "draft", "approve", draft_id).code == 0
    return draft_id


def test_whoever_interrupts_a_post_is_told_where_to_look(tmp_path, approved, monkeypatch):
    async def interrupted(*_):
        raise asyncio.CancelledError

    monkeypatch.setattr(Posting, "post", interrupted)
    said = call_here(tmp_path, "--sample", "draft", "post", approved)
    assert said.code == 130
    assert f"`copydesk --sample delivery list {approved}`" in said.err


def test_what_is_still_on_its_way_is_said_with_who_goes_on_with_it(tmp_path, approved, monkeypatch):
    really = Posting.post

    async def slow(*args):
        result = await really(*args)
        return replace(result, posted=(), under_way=result.posted)

    monkeypatch.setattr(Posting, "post", slow)
    said = call_here(tmp_path, "--sample", "draft", "post", approved)
    assert said.code == 1
    assert "while `copydesk --sample daemon` runs or the console is open" in said.err
    assert f"`copydesk --sample delivery list {approved}`" in said.err
