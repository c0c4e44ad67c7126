"""A terminal that disappears."""

import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from select import select

TIMEOUT = 60.0


def test_console_exits_when_its_terminal_is_gone(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    # In a session of its own, without a controlling terminal: nobody sends SIGHUP.
    command = [sys.executable, "-m", "copydesk", "--home", str(tmp_path), "--sample"]
    environment = os.environ | {"TERM": "xterm-256color"}
    console = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    )
    os.close(theirs)
    try:
        _wait_for_output(ours, b"Review")
        os.close(ours)
        assert console.wait(TIMEOUT) == 128 + signal.SIGHUP
    finally:
        console.kill()
        console.wait()


def _wait_for_output(terminal: int, text: bytes) -> None:
    output = b""
    while text not in output:
        assert select([terminal], [], [], TIMEOUT)[0], output
        with suppress(OSError):
            output += os.read(terminal, 65_536)
