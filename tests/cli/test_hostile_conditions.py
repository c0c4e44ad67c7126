"""Tests for what the system may do to a command: closed or full output, endless files, no threads, signals."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE
from threading import Thread
from typing import Any

import pytest

from cli_runner import COMMAND, assert_one_line_error, error_text, make_environment, run_in_process
from copydesk.desk import open_desks
from copydesk.errors import ClockError
from copydesk.text import HIDDEN_CHARACTERS
from desk_fixtures import open_desk_at, query_db

Limit = Callable[[], object]


def run_with_streams(home: Path, *args: str, limit: Limit | None = None, **streams: Any) -> tuple[int, str, str]:
    """Run a command with these streams, by default pipes; return its exit code, output and errors."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [*COMMAND, *args]
    done = subprocess.run(
        command, env=make_environment(home), text=True, timeout=60, check=False, preexec_fn=limit, **streams
    )
    return done.returncode, done.stdout or "", done.stderr or ""


def close_stream(number: int) -> Limit:
    return lambda: os.close(number)


def test_closed_output_is_reported(tmp_path: Path) -> None:
    code, _, err = run_with_streams(tmp_path, "run", "list", "--json", limit=close_stream(1))
    assert (code, json.loads(err)["detail"]) == (1, "Cannot write the output: bad file descriptor.")


@pytest.mark.parametrize(("number", "args", "code"), [(0, ("run", "list", "--json"), 0), (2, ("run", "nothing"), 2)])
def test_command_works_without_input_or_errors(tmp_path: Path, number: int, args: tuple[str, ...], code: int) -> None:
    assert run_with_streams(tmp_path, *args, limit=close_stream(number))[0] == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_exit_code_stays_if_errors_cannot_be_written(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert run_with_streams(tmp_path, "run", "nothing", stderr=full)[0] == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["source", "engagement"])
def test_export_to_full_disk_is_not_reported_as_exported(tmp_path: Path, command: str) -> None:
    code, _, err = run_with_streams(tmp_path, command, "export", "/dev/full")
    assert (code, err) == (1, "Error: Cannot write the output: no space left on device.\n")


@pytest.mark.parametrize("command", ["source", "engagement"])
def test_export_replaces_a_file_in_one_step(tmp_path: Path, command: str) -> None:
    file = tmp_path / "exports" / "file"
    file.parent.mkdir()
    file.write_text("before")
    file.chmod(0o640)
    with file.open() as reader:
        assert run_with_streams(tmp_path, command, "export", str(file))[0] == 0
        assert reader.read() == "before"
    assert file.read_text() == run_with_streams(tmp_path, command, "export")[1]
    assert (S_IMODE(file.stat().st_mode), list(file.parent.iterdir())) == (0o640, [file])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_export_to_the_device_of_standard_output_writes_to_its_file(tmp_path: Path) -> None:
    # Not the device itself: run by root, a failing test would replace that of the machine.
    device = tmp_path / "stdout"
    device.symlink_to("/proc/self/fd/1")
    with (tmp_path / "file").open("w+") as output:
        assert run_with_streams(tmp_path, "source", "export", str(device), stdout=output)[0] == 0
        assert output.read().startswith("<?xml")


def test_gone_reader_ends_the_command_silently(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = run_with_streams(tmp_path, "run", "list", "--json", stdout=writer)
    os.close(writer)
    assert (code, err) == (1, "")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("draft\x1b[2J",), 2),
        (("--opt\x9b2J",), 2),
        (("draft", "list", "--x\u202e"), 2),
        (("draft", "list", "--limit", "1\x1b]0;x\x07"), 2),
        (("source", "import", "/not/there\x1b[2J"), 2),
        (("restore", "/not/there\x1b[2J", "--yes"), 1),
        (("account", "connect", "\x1b[2Jx"), 2),
    ],
    ids=ascii,
)
def test_control_characters_of_arguments_are_harmless(tmp_path: Path, args: tuple[str, ...], code: int) -> None:
    result = run_in_process(tmp_path, *args)
    assert_one_line_error(result, code)
    assert re.findall(HIDDEN_CHARACTERS, result.err.rstrip("\n")) == []


@pytest.mark.parametrize("target", ["/dev/zero", "fifo"])
def test_endless_settings_file_is_reported(tmp_path: Path, target: str) -> None:
    if target == "fifo":
        os.mkfifo(tmp_path / "settings.toml")
    else:
        (tmp_path / "settings.toml").symlink_to(target)
    result = run_in_process(tmp_path, "run", "list")
    assert_one_line_error(result, 2)
    assert result.err == f"Error: Cannot read {tmp_path}/settings.toml: it is not a file.\n"


@pytest.mark.parametrize(
    ("args", "option"), [(("source", "import"), ""), (("voice", "set"), "--json-file"), (("voice", "set"), "--example")]
)
def test_endless_argument_is_reported(tmp_path: Path, args: tuple[str, ...], option: str) -> None:
    file = "@/dev/zero" if option == "--example" else "/dev/zero"
    result = run_in_process(tmp_path, *args, *[option] * bool(option), file)
    assert_one_line_error(result, 2)
    assert "/dev/zero is larger than 20 MiB." in result.err


@pytest.mark.parametrize(
    "args",
    [("run", "list"), ("draft", "post", "01a0b2c3-0000-7000-8000-000000000000"), ("backup", "--list")],
    ids=lambda args: args[0],
)
def test_large_settings_file_is_reported(tmp_path: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "settings.toml").write_text("#" * (2**20 + 1))
    result = run_in_process(tmp_path, *args)
    assert_one_line_error(result, 2)
    assert result.err == f"Error: {tmp_path}/settings.toml is larger than 1 MiB.\n"


@pytest.mark.parametrize("allowed", range(4))
def test_missing_threads_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    started: list[Thread] = []
    start = Thread.start

    def start_some(thread: Thread) -> None:
        started.append(thread)
        if len(started) > allowed:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", start_some)
    result = run_in_process(tmp_path, "doctor") if allowed == 3 else run_in_process(tmp_path, "run", "list", "--json")
    if result.code:
        assert_one_line_error(result, 1)
        assert error_text(result) == "The system refuses: no more threads. End other programs or raise the limit."
    assert result.code == (len(started) > allowed)


async def test_clock_before_1970_allows_reading_only(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"text": "The ferry sails at dawn."})
    async with open_desk_at(tmp_path, clock=lambda: datetime(1969, 12, 31, tzinfo=UTC)) as desk:
        assert len((await desk.drafts.list()).items) == 1
        await desk.pipeline.statistics()
        await desk.retention.prune()
        message = "The clock says 1969-12-31 00:00, which is before 1970; nothing changed. Set the clock."
        for change in (desk.drafts.create({"text": "Two."}), desk.pipeline.run()):
            with pytest.raises(ClockError) as caught:
                await change
            assert str(caught.value) == message


def test_clock_before_1970_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = open_desks.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]
    monkeypatch.setitem(defaults, "clock", lambda: datetime(1960, 1, 1, tzinfo=UTC))
    assert_one_line_error(run_in_process(tmp_path, "draft", "new", "The ferry sails."), 1)
    assert run_in_process(tmp_path, "doctor").code == 1


@pytest.mark.parametrize(
    "args",
    [
        ("source", "add", "rss", "https://one.example/feed", "--config"),
        ("experiment", "new", "Name", "hashtags", "--variants"),
        ("voice", "set", "--json-file"),
    ],
    ids=lambda args: args[0],
)
@pytest.mark.parametrize(
    "text", ["[]", "1", '"x"', "null", "{", '{"weight": []}', '{"style": 1}', '[{"id": {}}]', "[" * 5000, '{"a": NaN}']
)
def test_wrong_types_in_json_are_reported(tmp_path: Path, args: tuple[str, ...], text: str) -> None:
    value = text
    if args[-1] == "--json-file":
        (tmp_path / "value.json").write_text(text)
        value = str(tmp_path / "value.json")
    assert_one_line_error(run_in_process(tmp_path, *args, value), 2)


def test_sigterm_ends_a_command_that_waits_for_the_database(tmp_path: Path) -> None:
    assert run_in_process(tmp_path, "run", "list").code == 0
    script = (
        "import asyncio, os, signal, copydesk.store.opening as opening\n"
        "async def wait(*_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    await asyncio.sleep(60)\n"
        "opening.prepare_database = wait\n"
        "from copydesk.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "run", "list"],
        env=make_environment(tmp_path),
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "Error: Interrupted.\n")


@pytest.mark.parametrize(
    ("args", "prompt"),
    [
        (("draft", "archive", "--all-matching"), b"[y/N]"),
        (("account", "connect", "bluesky", "--set", "handle=me.example"), b"Privacy and security: "),
    ],
    ids=["question", "secret"],
)
def test_sigterm_ends_a_prompt(tmp_path: Path, args: tuple[str, ...], prompt: bytes) -> None:
    asyncio.run(_create_draft(tmp_path))
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args], env=make_environment(tmp_path), stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    output = b""
    while prompt not in output:
        output += os.read(master, 4096)
    while process.poll() is None:
        # Again if the signal came between the prompt and the reading of the answer.
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
    # A shell reports an end by the signal as 143 too.
    assert process.returncode in (143, -signal.SIGTERM)
    assert termios.tcgetattr(master)[3] & termios.ECHO
    os.close(master)
    assert query_db(tmp_path, "SELECT count(*) FROM draft WHERE archived_at IS NOT NULL") == [(0,)]


async def _create_draft(home: Path) -> None:
    async with open_desk_at(home) as desk:
        await desk.drafts.create({"text": "The ferry sails at dawn."})
