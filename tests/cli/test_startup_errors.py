"""Tests for unusable databases and settings: one line says what to do, and nothing is changed."""

import asyncio
import errno
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import StatementError

from cli_runner import assert_one_line_error, error_text, run_in_process
from copydesk.cli import context
from copydesk.cli.context import Context
from copydesk.errors import StoreBusyError, StoreCorruptError, StoreTooNewError
from copydesk.model.run import RunStatus
from copydesk.store import database_file
from copydesk.store.migrate import HEAD_REVISION
from desk_fixtures import (
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    execute_sql,
    feed,
    item_states,
    open_desk_at,
    query_db,
    story_title,
)

WRITING = [("--run-pipeline", "--json"), ("source", "import", "{list}")]
READING = [("source", "list"), ("draft", "list"), ("run", "list")]
OPML = '<opml version="2.0"><body><outline text="One" xmlUrl="https://one.example/feed"/></body></opml>'


def lock_database(home: Path, mode: str) -> sqlite3.Connection:
    """Return a connection of another program that holds the database's lock."""
    other = sqlite3.connect(home / "copydesk.db", isolation_level=None)
    other.execute(f"BEGIN {mode}")
    return other


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
@pytest.mark.parametrize("args", WRITING)
def test_locked_database_is_busy_after_timeout(tmp_path, mode, args):
    (tmp_path / "list.opml").write_text(OPML)
    assert run_in_process(tmp_path, "run", "list").code == 0
    args = [arg.format(list=tmp_path / "list.opml") for arg in args]

    with closing(lock_database(tmp_path, mode)):
        result = run_in_process(tmp_path, *args, copydesk_database__busy_timeout="0.1")

    assert_one_line_error(result, 1)
    assert error_text(result) == "Another process has locked the database; nothing changed. Try again in a moment."
    assert query_db(tmp_path, "SELECT count(*) FROM source") == query_db(tmp_path, "SELECT count(*) FROM run") == [(0,)]
    assert run_in_process(tmp_path, *args).code == 0


@pytest.mark.parametrize("args", READING)
def test_reads_do_not_wait_for_writer(tmp_path, args):
    assert run_in_process(tmp_path, "run", "list").code == 0
    with closing(lock_database(tmp_path, "EXCLUSIVE")):
        assert run_in_process(tmp_path, *args, copydesk_database__busy_timeout="0").code == 0


async def test_locked_database_loses_no_items(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock, database__busy_timeout="0.05") as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        slow, first_is_in = web.hold(URL_TWO), asyncio.Event()
        work = asyncio.create_task(desk.pipeline.run(None, lambda step: step.done == 1 and first_is_in.set()))
        await asyncio.gather(slow.requested.wait(), first_is_in.wait())
        with closing(lock_database(tmp_path, "IMMEDIATE")):
            slow.released.set()
            with pytest.raises(StoreBusyError):
                await work
        clock.advance(60)
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert sorted(await draft_titles(desk)) == sorted([story_title(1), story_title(2)])

    assert set(item_states(tmp_path).values()) == {"drafted"}
    assert sorted(str(status) for (status,) in query_db(tmp_path, "SELECT status FROM run")) == ["failed", "succeeded"]


def test_non_database_file_is_left_unchanged(tmp_path):
    (tmp_path / "copydesk.db").write_bytes(b"these are my holiday notes\n" * 500)

    for args in (*READING, ("--run-pipeline",)):
        result = run_in_process(tmp_path, *args)
        assert_one_line_error(result, 1)
        assert "copydesk.db is not a readable database. There is no backup. Move it away to start over." in result.err

    assert (tmp_path / "copydesk.db").read_bytes() == b"these are my holiday notes\n" * 500


def test_foreign_database_is_left_unchanged(tmp_path):
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as other, other:
        other.execute("CREATE TABLE recipe (name TEXT)")
    before = (tmp_path / "copydesk.db").read_bytes()

    result = run_in_process(tmp_path, "source", "list")

    assert_one_line_error(result, 1)
    assert "is a database of another program. Move it away." in result.err
    assert (tmp_path / "copydesk.db").read_bytes() == before


def test_newer_database_is_refused_unchanged(tmp_path):
    assert run_in_process(tmp_path, "run", "list").code == 0
    execute_sql(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    before = (tmp_path / "copydesk.db").read_bytes()

    result = run_in_process(tmp_path, "--run-pipeline", "--json")

    assert_one_line_error(result, 1)
    assert "A newer version of Copydesk created" in result.err
    assert "Install that version" in result.err
    assert (tmp_path / "copydesk.db").read_bytes() == before
    assert HEAD_REVISION != "9999"


async def test_core_raises_matching_errors(tmp_path):
    """The command line prints the same errors."""
    (tmp_path / "copydesk.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreCorruptError):
        async with open_desk_at(tmp_path):
            pass
    (tmp_path / "copydesk.db").unlink()
    async with open_desk_at(tmp_path):
        pass
    execute_sql(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreTooNewError):
        async with open_desk_at(tmp_path):
            pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[network\ntimeout = 5\n", "is not TOML: "),
        ("[network]\ntimeout = soon\n", "is not TOML: "),
        ("\ufeff[network]\n\n\ntimeout = 'soon'\n", "line 4: network.timeout takes a number, not text."),
        ("[network]\nproxy = 'nonsense'\n", "line 2: network.proxy is not valid. network.proxy: An HTTP proxy"),
        ("[network]\ntimeuot = 5\n", "line 2: unknown setting network.timeuot. Did you mean network.timeout?"),
        ("[ranking]\ninterests = ['a', 1]\n", "line 2: ranking.interests[1] takes text, not a whole number."),
        ("[netwrok]\n", "line 1: unknown section [netwrok]. Did you mean [network]?"),
        (
            "[network]\nmax_drafts = 1\n",
            "line 2: unknown setting network.max_drafts. Did you mean pipeline.max_drafts?",
        ),
        ("[twitter]\nbearer_token = 'x'\n", "line 2: twitter.bearer_token is a secret and cannot be set in a file."),
    ],
)
@pytest.mark.parametrize("args", [("source", "list"), ("--run-pipeline", "--json"), ("try", "https://example.com")])
def test_invalid_settings_are_reported_with_line(tmp_path, text, message, args):
    (tmp_path / "settings.toml").write_text(text)

    result = run_in_process(tmp_path, *args)

    assert_one_line_error(result, 2)
    assert "settings.toml" in error_text(result)
    assert message in error_text(result)
    assert "line " in error_text(result)
    assert not (tmp_path / "copydesk.db").exists()


def test_doctor_reports_invalid_settings_and_checks_what_needs_none(tmp_path):
    run_in_process(tmp_path, "draft", "list")
    (tmp_path / "settings.toml").write_text("[network]\ntimeout = 'soon'\n")

    result = run_in_process(tmp_path, "doctor", "--json")

    assert (result.code, result.err) == (1, "")
    settings, *others = json.loads(result.out)
    assert (settings["what"], settings["verdict"]) == ("settings", "error")
    assert settings["found"].endswith("settings.toml, line 2: network.timeout takes a number, not text.")
    assert settings["advice"].startswith("network.timeout: ")
    assert [finding["what"] for finding in others] == ["disk", "size", "backups", "database", "desk"]
    assert others[3]["found"].endswith("intact.")
    assert others[4]["found"].startswith("Not checked: ")


def test_doctor_creates_no_desk_where_the_settings_are_invalid(tmp_path):
    for options in ((), ("--sample",)):
        result = run_in_process(tmp_path, *options, "doctor", COPYDESK_NETWORK__TIMEOUT="soon")
        assert result.code == 1
        assert "ERROR    settings  COPYDESK_NETWORK__TIMEOUT is 'soon'. It takes a number." in result.out
        assert "  database  " not in result.out
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_the_keys_that_the_console_refuses(tmp_path):
    run_in_process(tmp_path, "draft", "list")
    (tmp_path / "settings.toml").write_text('[keys]\n"review.approve" = "hyper+space bar"\n')
    result = run_in_process(tmp_path, "doctor")
    assert result.code == 1
    assert "ERROR    settings" in result.out
    assert "'hyper+space bar' is no key" in result.out
    assert "No sources." in result.out


def test_doctor_names_files_that_the_console_leaves_out(tmp_path):
    (tmp_path / "themes").mkdir()
    (tmp_path / "themes" / "dusk.toml").write_text('primary = "blue"\n')
    (tmp_path / "console-theme").write_text("dusk\n")
    (tmp_path / "console-tabs.json").write_text("[1")
    run_in_process(tmp_path, "draft", "list")
    result = run_in_process(tmp_path, "doctor")
    assert result.code == 0
    assert "warning  console" in result.out
    assert "themes/dusk.toml is not used: primary is" in result.out
    assert "The chosen theme “dusk” does not exist" in result.out
    assert "The tabs that you saved are missing: console-tabs.json cannot be read" in result.out
    (tmp_path / "themes" / "dusk.toml").write_text('primary = "#00f"\nbackground = "#000"\nforeground = "#fff"\n')
    (tmp_path / "console-tabs.json").write_text("{}")
    assert "  console  " not in run_in_process(tmp_path, "doctor").out


def test_binary_settings_file_is_reported(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xff\xfe\x00[network]")

    result = run_in_process(tmp_path, "source", "list")

    assert_one_line_error(result, 2)
    assert "settings.toml is not UTF-8 text" in result.err


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("COPYDESK_NETWORK__TIMEOUT", "soon", "COPYDESK_NETWORK__TIMEOUT is 'soon'. It takes a number."),
        ("COPYDESK_PIPELINE__MAX_DRAFTS", "-1", "COPYDESK_PIPELINE__MAX_DRAFTS takes a whole number of at least 0."),
        (
            "COPYDESK_NETWORK__SPEED",
            "1",
            "COPYDESK_NETWORK__SPEED is set, but the setting does not exist: network.speed.",
        ),
    ],
)
def test_invalid_environment_variable_is_reported(tmp_path, variable, value, message):
    result = run_in_process(tmp_path, "source", "list", **{variable: value})

    assert_one_line_error(result, 2)
    assert message in result.err


def test_home_inside_file_is_reported(tmp_path):
    (tmp_path / "file").write_text("a file, no folder")

    result = run_in_process(tmp_path / "file" / "home", "source", "list")

    assert_one_line_error(result, 2)
    assert result.err.startswith("Error: Cannot read ")
    assert "settings.toml: Not a directory." in result.err


def test_directory_as_database_is_reported(tmp_path):
    (tmp_path / "copydesk.db").mkdir()

    result = run_in_process(tmp_path, "source", "list")

    assert_one_line_error(result, 1)
    assert "copydesk.db: Is a directory. Check the owner of the file and its folder." in result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_under_output_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            (sys.executable, "-m", "copydesk", "--version"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (result.returncode, result.stderr) == (1, "Error: Cannot write the output: no space left on device.\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "The system refuses: too many open files."),
        (RuntimeError("can't start new thread"), "The system refuses: no more threads."),
        (MemoryError(), "Out of memory."),
        (RuntimeError("can't allocate lock"), "Out of memory."),
        (StatementError("", None, None, MemoryError()), "Out of memory."),
    ],
)
def test_limit_of_the_system_is_named(tmp_path, monkeypatch, error, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(Context, "desk", fail)
    result = run_in_process(tmp_path, "draft", "list")
    assert_one_line_error(result, 1)
    assert result.err.startswith(f"Error: {message} End other programs")


def test_lost_callback_ends_the_process(tmp_path, monkeypatch):
    """Without memory a callback is lost, and what waits for it would wait for ever."""

    async def lose_callback(*_):
        asyncio.get_running_loop().call_exception_handler({"message": "lost", "exception": MemoryError()})

    def stop(code):
        raise SystemExit(code)

    monkeypatch.setattr(Context, "_run_on_desk", lose_callback)
    monkeypatch.setattr(context.os, "_exit", stop)
    result = run_in_process(tmp_path, "draft", "list")
    assert_one_line_error(result, 1)
    assert result.err == "Error: Out of memory. End other programs and try again.\n"


def test_folder_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    assert run_in_process(tmp_path, "run", "list").code == 0
    monkeypatch.setattr(database_file, "os", SimpleNamespace(**vars(os) | {"open": refuse}))
    result = run_in_process(tmp_path, "draft", "list")
    assert_one_line_error(result, 1)
    assert result.err == f"Error: Cannot open {tmp_path}: Permission denied. Check the owner of the folder.\n"
