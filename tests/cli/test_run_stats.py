"""The pipeline's statistics on the command line."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from command_line import call_here
from copydesk.cli.show import moment
from desk_fixtures import entry, feed
from feed_server import FeedServer


@pytest.fixture
def server():
    with FeedServer("0.0.0.0") as server:
        server.serve("/feed", feed(entry(1), title="The Ferry Gazette"))
        yield server


def test_statistics_are_printed_in_the_interfaces_shape_and_in_words(tmp_path, server):
    call_here(tmp_path, "source", "add", "rss", server.url("/feed"))
    call_here(tmp_path, "--run-pipeline")
    said = call_here(tmp_path, "run", "stats", "--json")

    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert list(found)[:7] == [
        *("totalRuns", "successRate", "averageDuration", "averageItemsPerRun", "averageDraftsPerRun", "topErrors"),
        "last30Days",
    ]
    assert (found["totalRuns"], found["successRate"], found["last30Days"]["runs"]) == (1, 1.0, 1)
    words = call_here(tmp_path, "run", "stats")
    assert (words.code, words.err) == (0, "")
    assert "100.0%" in words.out
    assert "a run brings  1 item, 0 drafts\n" in words.out


def test_without_runs_nothing_is_claimed(tmp_path):
    said = call_here(tmp_path, "run", "stats")

    assert said.code == 0
    assert said.out.count("unknown") == 2


def test_what_runs_fail_of_is_named(tmp_path, server):
    call_here(tmp_path, "source", "add", "rss", server.url("/feed"))
    server.serve("/feed", b"", status=404)
    call_here(tmp_path, "--run-pipeline")

    assert "missing, 1 time\n" in call_here(tmp_path, "run", "stats").out


def test_one_of_a_thing_is_not_many(tmp_path, server):
    call_here(tmp_path, "source", "add", "rss", server.url("/feed"))
    call_here(tmp_path, "--run-pipeline")

    assert "in 30 days    1 run, 1 item, 0 drafts\n" in call_here(tmp_path, "run", "stats").out
    line = call_here(tmp_path, "run", "list").out
    assert line.endswith("1 item  0 drafts\n")


def test_a_time_says_in_which_zone_it_is():
    at = datetime(2026, 7, 1, 12, 5, tzinfo=UTC)

    assert moment(at, ZoneInfo("Europe/Prague")) == "2026-07-01 14:05 CEST"
    assert moment(at, UTC) == "2026-07-01 12:05 UTC"
    assert moment(None) == "never"
