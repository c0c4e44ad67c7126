"""The console in a real terminal."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
PATIENCE = 30.0
"""Seconds; a start takes less than one on an idle machine."""


class Terminal:
    """A tmux server of its own, with one window."""

    def __init__(self, socket: Path, size: tuple[int, int]) -> None:
        self._socket = socket
        self._size = size

    def tmux(self, *arguments: str) -> str:
        """Run a tmux command; what it prints."""
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def start(self, *command: str) -> None:
        """Run a program in the window, which stays when it ends."""
        width, height = map(str, self._size)
        self.tmux("new-session", "-d", "-x", width, "-y", height, "sh")
        self.tmux("send-keys", " ".join(command) + "; echo ended=$?", "Enter")

    def press(self, *keys: str) -> None:
        """Press keys."""
        self.tmux("send-keys", *keys)

    @property
    def screen(self) -> str:
        """What is on it."""
        return self.tmux("capture-pane", "-p")

    def wait_for(self, pattern: str) -> str:
        """Wait until this is on the screen; the screen then."""
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, shown := self.screen):
            assert time.monotonic() < until, f"{pattern} never came:\n{shown}"
            time.sleep(0.05)
        return shown


@pytest.fixture(params=[(80, 24), (120, 40)], ids=["80x24", "120x40"])
def terminal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal of this size."""
    # The path of a socket may have about 100 characters, which pytest's own folders can exceed.
    found = Terminal(tmp_path_factory.mktemp("t") / "s", request.param)
    yield found
    found.tmux("kill-server")


def test_the_sample_desk_from_nothing_to_drafts_and_out_again(terminal: Terminal, tmp_path: Path) -> None:
    terminal.start(sys.executable, "-m", "copydesk", "--home", str(tmp_path), "--sample")
    terminal.wait_for("Nothing to review")
    terminal.press("P")
    terminal.wait_for("10 new drafts")
    terminal.press("Escape")
    terminal.wait_for(r"Queue · 10[\s\S]*▌ N")
    terminal.press("Enter")
    terminal.wait_for("by its checks")
    terminal.press("?")
    terminal.wait_for("Keys · q closes")
    terminal.press("q")
    terminal.press("q")
    if terminal.wait_for(r"ended=0|─ Queue · 10 ─").count("ended=0") == 0:
        terminal.press("q")  # one pane at a time: the first one went back to the queue
    assert "Copydesk  Review" not in terminal.wait_for("ended=0")
