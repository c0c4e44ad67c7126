"""Check processes that a test has started, and scripts that carry out one call after the other."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_running(pid: int) -> bool:
    """Return whether the process runs. A zombie counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        return False


class Script:
    """A script that reads a line of words for each call and prints a line about its outcome."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, *words: object) -> str:
        """Send the words on one line; return the line that the script prints."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def run_script(path: str) -> Iterator[Script]:
    """Run the script at `path` for the block."""
    command = [sys.executable, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Script(process)
