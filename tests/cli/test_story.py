"""Tests for `copydesk story`."""

import json
from datetime import UTC, datetime

import pytest

from cli_runner import run_in_process
from desk_fixtures import entry, feed
from feed_server import FeedServer


@pytest.fixture
def home(tmp_path):
    with FeedServer("0.0.0.0") as server:
        for number in (1, 2):
            server.serve(f"/{number}", feed(entry(number, now=datetime.now(UTC)), title=f"Gazette {number}"))
            run_in_process(tmp_path, "source", "add", "rss", server.url(f"/{number}"))
        run_in_process(tmp_path, "--run-pipeline")
    return tmp_path


def story_of(home, id):
    return json.loads(run_in_process(home, "story", "show", id, "--json").out)


def test_items_are_given_by_the_ends_that_are_listed(home):
    drafts = json.loads(run_in_process(home, "draft", "list", "--json").out)["drafts"]
    run_in_process(home, "story", "merge", drafts[0]["id"][-4:], drafts[1]["id"][-6:])
    items = [item["id"] for item in story_of(home, drafts[0]["id"])]
    listed = run_in_process(home, "story", "show", items[1][-4:].upper()).out
    assert [line.split()[0] for line in listed.splitlines()] == [item_id[-6:] for item_id in items]
    assert run_in_process(home, "story", "split", items[1][-6:]).out == "1 item split off.\n"
    assert [item["id"] for item in story_of(home, items[1])] == items[1:]


def test_merge_and_split_undo_each_other(home):
    drafts = json.loads(run_in_process(home, "draft", "list", "--json").out)["drafts"]
    one, two = (draft["id"] for draft in drafts)
    merged = run_in_process(home, "story", "merge", one, two)
    assert merged.out == "1 item merged.\n"
    members = story_of(home, one)
    assert [list(member) for member in members] == [["id", "source", "published", "state", "title", "url"]] * 2
    assert members[1]["title"] in run_in_process(home, "story", "show", two).out

    undo = merged.err.strip().removeprefix("Undo: ").split(" ")
    split = run_in_process(home, *undo[undo.index("story") :])
    assert split.out == "1 item split off.\n"
    assert len(story_of(home, one)) == 1
    again = run_in_process(home, "story", "split", one)
    assert again.code == 4
    assert "The story has no other items; nothing to split." in again.err
