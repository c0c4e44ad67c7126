"""Tests for `copydesk try`: what is read, what is shown, and that only kept sources reach the user's desk."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli_runner import CommandResult, run_in_process
from desk_fixtures import entry, feed
from feed_server import FeedServer


@pytest.fixture
def server():
    with FeedServer("0.0.0.0") as server:
        now = datetime.now(UTC)
        server.serve("/daily", feed(*(entry(number, now=now) for number in range(6)), title="Daily"))
        old = now - timedelta(days=12)
        server.serve("/monthly", feed(*(entry(number, now=old) for number in range(6, 8)), title="Monthly"))
        yield server


def sources_of(home: Path) -> list[str]:
    return [source["name"] for source in json.loads(run_in_process(home, "source", "list", "--json").out)]


def run_try(home: Path, *args: str, stdin: str = "") -> CommandResult:
    return run_in_process(home, "try", *args, stdin=stdin)


def test_three_drafts_are_shown_and_nothing_is_touched(tmp_path: Path, server: FeedServer) -> None:
    home = tmp_path / "home"
    result = run_try(home, server.url("/daily"))
    assert result.code == 0, result
    assert result.out.count("Daily · ") == 3
    assert "3 drafts from Daily." in result.err
    assert "Nothing was kept." in result.err
    assert not home.exists()


def test_drafts_are_broken_between_words(tmp_path: Path, server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_try(tmp_path, server.url("/daily")).out
    monkeypatch.setattr("copydesk.cli.output._available_columns", lambda _used, **_: 20)
    narrow = run_try(tmp_path, server.url("/daily")).out
    assert narrow.split() == whole.split()
    assert all(len(line) <= 20 or " " not in line for line in narrow.splitlines())


def test_old_items_are_drafted(tmp_path: Path, server: FeedServer) -> None:
    assert run_try(tmp_path, server.url("/monthly")).out.count("Monthly · ") == 2


def test_reason_for_no_draft_is_printed(tmp_path: Path, server: FeedServer) -> None:
    old = datetime.now(UTC) - timedelta(days=40)
    server.serve("/past", feed(*(entry(number, now=old) for number in range(2)), title="Past"))
    result = run_try(tmp_path, server.url("/past"))
    assert "0 drafts from Past." in result.err
    assert "2 items were too old when their source was first fetched." in result.err
    assert "Only items of the last 30 days are drafted." in result.err


@pytest.mark.parametrize(("args", "answer"), [(("--keep",), ""), ((), "y\n")])
def test_sources_are_kept_on_demand(
    tmp_path: Path, server: FeedServer, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], answer: str
) -> None:
    monkeypatch.setattr("copydesk.cli.try_sources.is_interactive", lambda: True)
    result = run_try(tmp_path, server.url("/daily"), server.url("/missing"), *args, stdin=answer)
    assert result.code == 0, result
    assert f"{server.url('/missing')}: " in result.err
    assert ("Keep this source?" in result.err) is bool(answer)
    assert "Kept 1 source. Next: copydesk --run-pipeline" in result.err
    assert sources_of(tmp_path) == ["Daily"]
    again = run_try(tmp_path, server.url("/daily"), "--keep")
    assert "Daily: " in again.err
    assert sources_of(tmp_path) == ["Daily"]


@pytest.mark.parametrize(("args", "answer"), [(("--no-keep",), ""), ((), "\n"), ((), "n\n"), ((), "")])
def test_sources_are_not_kept_otherwise(
    tmp_path: Path, server: FeedServer, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], answer: str
) -> None:
    monkeypatch.setattr("copydesk.cli.try_sources.is_interactive", lambda: True)
    run_try(tmp_path, server.url("/daily"), *args, stdin=answer)
    assert sources_of(tmp_path) == []


def test_unreadable_sources_fail_the_command(tmp_path: Path, server: FeedServer) -> None:
    result = run_try(tmp_path, server.url("/missing"), "--keep")
    assert (result.code, result.out) == (1, "")
    assert sources_of(tmp_path) == []


def test_refused_address_names_the_setting_that_allows_it(tmp_path: Path, server: FeedServer) -> None:
    result = run_in_process(tmp_path, "try", server.url("/daily"), copydesk_network__allow_private="false")
    assert result.code == 1
    assert "127.0.0.1 is not a public address. To allow this machine" in result.err
    assert "network.allow_private" in result.err


def test_json_has_sources_and_drafts(tmp_path: Path, server: FeedServer) -> None:
    found = json.loads(run_try(tmp_path, server.url("/daily"), server.url("/missing"), "--json").out)
    assert [source["name"] for source in found["sources"]] == ["Daily"]
    assert [failure["url"] for failure in found["failed"]] == [server.url("/missing")]
    assert len(found["drafts"]) == 3
    assert found["kept"] == []


def test_desk_on_a_server_is_not_touched(tmp_path: Path, server: FeedServer) -> None:
    arguments = ("try", server.url("/daily"), "--json")
    result = run_in_process(tmp_path, *arguments, copydesk_database__url="postgresql://nowhere.invalid/desk")
    assert result.code == 0, result
    assert len(json.loads(result.out)["drafts"]) == 3
