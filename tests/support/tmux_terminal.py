"""A real terminal: a tmux server with one window, whose screen is read back."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

TIMEOUT = 60.0
"""Seconds. A start takes less than one on an idle machine."""
HIDDEN_VARIABLES = ("COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "TEXTUAL_THEME", "COLORFGBG", "COPYDESK_HOME", "TMUX")
"""Variables that describe the machine's own terminal."""


class Terminal:
    """A tmux server with one window."""

    def __init__(self, socket: Path, size: tuple[int, int], term: str, environment: Mapping[str, str]) -> None:
        self._socket = socket
        self._environment = {name: value for name, value in os.environ.items() if name not in HIDDEN_VARIABLES} | dict(
            environment
        )
        width, height = map(str, size)
        session = ("new-session", "-d", "-x", width, "-y", height, "sh")
        # Without -u tmux reads back underscores in a locale that is not UTF-8.
        self.tmux("-u", "start-server", ";", "set", "-g", "default-terminal", term, ";", *session)

    def tmux(self, *arguments: str) -> str:
        """Run a tmux command and return its output."""
        command = ["tmux", "-S", str(self._socket), "-f", os.devnull, *arguments]
        completed = subprocess.run(command, capture_output=True, text=True, check=True, env=self._environment)
        return completed.stdout

    def start(self, *command: str) -> None:
        """Run a program in the window, which stays open afterwards."""
        self.tmux("send-keys", "-l", f"clear; {shlex.join(command)}; echo ended=$?")
        self.tmux("send-keys", "Enter")

    def start_console(self, home: Path) -> None:
        """Start the console on the sample desk in `home`."""
        self.start_copydesk("--home", str(home), "--sample")

    def start_copydesk(self, *arguments: str) -> None:
        """Start Copydesk with these arguments."""
        self.start(sys.executable, "-m", "copydesk", *arguments)

    def press(self, *keys: str) -> None:
        """Press keys, by their tmux names."""
        self.tmux("send-keys", *keys)

    def type_text(self, text: str) -> None:
        """Type a text."""
        self.tmux("send-keys", "-l", text)

    def resize(self, width: int, height: int) -> None:
        """Set the terminal's size."""
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    @property
    def screen(self) -> str:
        """The text on the screen."""
        return self.tmux("capture-pane", "-p")

    @property
    def styles(self) -> list[str]:
        """The escape sequences for colours and styles on the screen."""
        return re.findall(r"\x1b\[[\d;]*m", self.tmux("capture-pane", "-p", "-e"))

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from 0."""
        column, row = self.tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(column), int(row)

    @property
    def process_id(self) -> int:
        """The id of the process running in the window."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()
        return int(children[0])

    def respawn_shell(self) -> None:
        """Start a new shell in the window, as after a program that left the terminal in a bad state."""
        self.tmux("respawn-pane", "-k", "sh")

    def quit_console(self) -> str:
        """Quit the console from any pane; return the scrollback and screen left behind."""
        self.press("q")
        # On a narrow terminal the first q returns to the list.
        if "ended=" not in self.wait_for(r"ended=\d|─ (Queue|Sources|Metrics|Experiments|Setup)"):
            self.press("q")
        self.wait_for(r"ended=\d")
        return self.tmux("capture-pane", "-p", "-S", "-")

    def wait_for(self, pattern: str) -> str:
        """Wait until `pattern` matches the screen; return the screen."""
        deadline, pause = time.monotonic() + TIMEOUT, 0.02
        while not re.search(pattern, screen := self.screen):
            assert time.monotonic() < deadline, f"{pattern} never came:\n{screen}"
            time.sleep(pause)
            # Each look starts a process, which competes with the program that is waited for.
            pause = min(pause * 1.5, 0.15)
        return screen


@contextmanager
def open_terminal(
    size: tuple[int, int] = (120, 40), *, term: str = "screen-256color", **environment: str
) -> Iterator[Terminal]:
    """Open a terminal of `size` columns and lines. Without tmux the test is skipped, and fails in CI."""
    if shutil.which("tmux") is None:
        if os.environ.get("CI"):
            pytest.fail("In CI there has to be tmux: apt-get install tmux")
        pytest.skip("tmux is not installed")
    # A socket path is limited to about 100 characters, which pytest's own folders can exceed.
    with TemporaryDirectory(prefix="t") as folder:
        terminal = Terminal(Path(folder) / "s", size, term, environment)
        try:
            yield terminal
        finally:
            terminal.tmux("kill-server")
