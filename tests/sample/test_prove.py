"""Tests for `copydesk prove`: it counts right, kills processes that send, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli_runner import COMMAND, assert_one_line_error, make_environment, run_command
from copydesk.sample.prove import ProofResult, SenderResult, count
from sampling import EXHAUSTIVE

KILLS = 40 if EXHAUSTIVE else 2
A, B = ("plain:ben", "Post 1."), ("plain:ben", "Post 2.")


def post(account: str, text: str) -> dict[str, str]:
    return {"account": account, "text": text}


def is_running(group: int) -> bool:
    """Return True if a process of the group is running."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_post_that_arrived_twice_is_doubled() -> None:
    assert count([A, B], [post(*A), post(*B), post(*A), post(*A)], set(), kills=1) == SenderResult(1, 2, 0)


def test_missing_post_is_lost_unless_reported() -> None:
    assert count([A, B], [post(*A)], set(), kills=1) == SenderResult(1, 0, 1)
    assert count([A, B], [post(*A)], {B}, kills=1) == SenderResult(1, 0, 0, unknown=1)


@pytest.mark.parametrize(("doubled", "lost", "ok"), [(0, 0, True), (1, 0, False), (0, 1, False)])
def test_doubled_or_lost_post_fails_the_proof(doubled: int, lost: int, ok: bool) -> None:
    naive = SenderResult(1, 5, 5)
    assert ProofResult(3, 1.0, 1, SenderResult(1, doubled, lost), naive).ok is ok


def test_killed_senders_double_and_lose_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    arguments = ("--kills", str(KILLS), "--seconds", "50", "--seed", "3", "--json")
    # Not in tmp_path: a socket's path must be short.
    with TemporaryDirectory() as temporary:
        result = run_command(home, "prove", *arguments, tmpdir=temporary)
        assert (result.code, result.err) == (0, "")
        assert [path.name for path in Path(temporary).iterdir() if path.name.startswith("copydesk")] == []
    proof = json.loads(result.out)
    assert (proof["sender"]["doubled"], proof["sender"]["lost"], proof["seed"]) == (0, 0, 3)
    assert proof["sender"]["kills"] > 0
    assert proof["posts"] >= 3 * (1 + proof["sender"]["kills"])
    # The user's own folder is not even created.
    assert not home.exists()


def test_long_path_of_temporary_files_is_one_line(tmp_path: Path) -> None:
    temporary = tmp_path / ("long" * 25)
    temporary.mkdir()
    result = run_command(tmp_path / "home", "prove", "--kills", "1", tmpdir=str(temporary))
    assert_one_line_error(result, 1)
    assert "TMPDIR" in result.err


@pytest.mark.skipif(not EXHAUSTIVE, reason="a proof of its own")
def test_interrupted_proof_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "home", tmpdir=str(tmp_path))
    # A group of its own, to which the terminal's Ctrl+C is sent.
    with subprocess.Popen([*COMMAND, "prove"], env=environment, stderr=subprocess.PIPE, process_group=0) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("copydesk-prove-*/sent")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"Error: Interrupted.\n")
    assert list(tmp_path.glob("copydesk-*")) == []
    # The process from which senders are forked ends with its parent.
    while is_running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(process.pid)
