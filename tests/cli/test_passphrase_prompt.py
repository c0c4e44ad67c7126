"""Tests for the passphrase prompt on a terminal."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

TIMEOUT = 60
"""Seconds."""
PROMPT_PROGRAM = """
import asyncio, sys
from copydesk.cli.prompts import prompt_passphrase
try:
    print("heard:", asyncio.run(prompt_passphrase(new=False)))
except KeyboardInterrupt:
    print("left")
"""


@pytest.fixture
def terminal() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """A pseudo-terminal and the process that prompts on it."""
    master, slave = pty.openpty()
    attach_terminal = f"""
import fcntl, os, termios
os.setsid()
fcntl.ioctl({slave}, termios.TIOCSCTTY, 0)
for number in range(3):
    os.dup2({slave}, number)
"""
    process = subprocess.Popen([sys.executable, "-c", attach_terminal + PROMPT_PROGRAM], pass_fds=[slave])
    yield master, process
    process.kill()
    process.wait()
    os.close(master)
    os.close(slave)


def read_until(terminal: int, until: bytes) -> bytes:
    output = b""
    while until not in output:
        assert select.select([terminal], [], [], TIMEOUT)[0], output
        output += os.read(terminal, 1024)
    return output


def wait_for_prompt(terminal: int) -> None:
    """Wait for the prompt. Input typed before the terminal stops echoing is discarded."""
    read_until(terminal, b"credentials:")
    deadline = time.monotonic() + TIMEOUT
    while is_echo_on(terminal):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def is_echo_on(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def test_passphrase_is_read_without_echo(terminal: "tuple[int, subprocess.Popen[bytes]]") -> None:
    master, process = terminal
    wait_for_prompt(master)
    os.write(master, b"four words are good\n")
    assert read_until(master, b"heard: four words are good").count(b"four words") == 1
    assert process.wait(TIMEOUT) == 0


def test_ctrl_c_leaves_prompt_and_restores_terminal(
    terminal: "tuple[int, subprocess.Popen[bytes]]",
) -> None:
    master, process = terminal
    wait_for_prompt(master)
    os.write(master, b"\x03")
    assert b"Traceback" not in read_until(master, b"left")
    assert process.wait(TIMEOUT) == 0
    assert is_echo_on(master)
