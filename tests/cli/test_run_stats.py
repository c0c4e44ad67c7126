"""Tests for `copydesk run stats`."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cli_runner import run_in_process
from copydesk.cli.output import format_time
from desk_fixtures import entry, feed
from feed_server import FeedServer


@pytest.fixture
def server():
    with FeedServer("0.0.0.0") as server:
        server.serve("/feed", feed(entry(1), title="The Ferry Gazette"))
        yield server


def test_stats_as_json_and_text(tmp_path, server):
    run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"))
    run_in_process(tmp_path, "--run-pipeline")
    result = run_in_process(tmp_path, "run", "stats", "--json")

    assert (result.code, result.err) == (0, "")
    stats = json.loads(result.out)
    assert list(stats)[:7] == [
        *("totalRuns", "successRate", "averageDuration", "averageItemsPerRun", "averageDraftsPerRun", "topErrors"),
        "last30Days",
    ]
    assert (stats["totalRuns"], stats["successRate"], stats["last30Days"]["runs"]) == (1, 1.0, 1)
    text = run_in_process(tmp_path, "run", "stats")
    assert (text.code, text.err) == (0, "")
    assert "100.0%" in text.out
    assert "average result    1 item, 0 drafts\n" in text.out


def test_stats_without_runs(tmp_path):
    result = run_in_process(tmp_path, "run", "stats")

    assert result.code == 0
    assert result.out.count("unknown") == 2


def test_stats_list_run_errors(tmp_path, server):
    run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"))
    server.serve("/feed", b"", status=404)
    run_in_process(tmp_path, "--run-pipeline")

    assert "missing, 1 time\n" in run_in_process(tmp_path, "run", "stats").out


def test_singular_forms(tmp_path, server):
    run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"))
    run_in_process(tmp_path, "--run-pipeline")

    assert "last 30 days      1 run, 1 item, 0 drafts\n" in run_in_process(tmp_path, "run", "stats").out
    line = run_in_process(tmp_path, "run", "list").out
    assert line.endswith("1 item  0 drafts\n")


def test_time_includes_zone():
    at = datetime(2026, 7, 1, 12, 5, tzinfo=UTC)

    assert format_time(at, ZoneInfo("Europe/Prague")) == "2026-07-01 14:05 CEST"
    assert format_time(at, UTC) == "2026-07-01 12:05 UTC"
    assert format_time(None) == "never"
