"""The passphrase is asked for on a terminal, and the question can be left."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

PATIENCE = 60
"""Seconds after which what did not come never comes."""
ASKING = """
import asyncio, sys
from copydesk.cli.context import _ask_passphrase
try:
    print("heard:", asyncio.run(_ask_passphrase(new=False)))
except KeyboardInterrupt:
    print("left")
"""


@pytest.fixture
def terminal() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """A terminal, and what asks on it."""
    ours, theirs = pty.openpty()
    taken = f"""
import fcntl, os, termios
os.setsid()
fcntl.ioctl({theirs}, termios.TIOCSCTTY, 0)
for number in range(3):
    os.dup2({theirs}, number)
"""
    asking = subprocess.Popen([sys.executable, "-c", taken + ASKING], pass_fds=[theirs])
    yield ours, asking
    asking.kill()
    asking.wait()
    os.close(ours)
    os.close(theirs)


def heard(terminal: int, until: bytes) -> bytes:
    said = b""
    while until not in said:
        assert select.select([terminal], [], [], PATIENCE)[0], said
        said += os.read(terminal, 1024)
    return said


def asked(terminal: int) -> None:
    """Wait for the question; what is typed before the terminal shows it no more is thrown away."""
    heard(terminal, b"accounts:")
    late = time.monotonic() + PATIENCE
    while echoes(terminal):
        assert time.monotonic() < late
        time.sleep(0.001)


def echoes(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def test_what_is_typed_is_heard_and_not_shown(terminal: "tuple[int, subprocess.Popen[bytes]]") -> None:
    ours, asking = terminal
    asked(ours)
    os.write(ours, b"four words are good\n")
    assert heard(ours, b"heard: four words are good").count(b"four words") == 1
    assert asking.wait(PATIENCE) == 0


def test_a_question_is_left_at_once_and_the_terminal_is_as_it_was(
    terminal: "tuple[int, subprocess.Popen[bytes]]",
) -> None:
    ours, asking = terminal
    asked(ours)
    os.write(ours, b"\x03")
    assert b"Traceback" not in heard(ours, b"left")
    assert asking.wait(PATIENCE) == 0
    assert echoes(ours)
