"""The console's start on a million drafts: first paint, first rows and memory, against a bare Textual app."""

import os
import re
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_startup import BARE_APP, TIMEOUT, kill_program, make_row, run_alternately, start_program
from large_desk import build_database
from table_row import Row

from desk_fixtures import execute_sql
from store_fixtures import database_variables

DRAFTS = 1_000_000
CURSOR = "▌".encode()
"""Marks the first row; not on the screen before there are rows."""
IDLE_TIME = 6.0
"""Seconds without output after which a program counts as idle. The console imports what only keys need after the first
rows, and releases memory after some idle seconds.
"""
KEYS = b"j" * 30 + b"\x04" * 10 + b"G" + b"k" * 20 + b"\x15" * 10 + b"g"
"""Moves, half pages, to the end and back."""
MAX_EXTRA_MEMORY = 40.0
"""Megabytes that the console may take beyond the bare app."""


def measure() -> list[Row]:
    """Return the rows of the table."""
    bare = (sys.executable, "-c", BARE_APP)
    with TemporaryDirectory() as home:
        build_database(Path(home), DRAFTS)
        # None is left to be written: the console would work on it, and is to be idle here.
        execute_sql(Path(home), "UPDATE draft SET status = 'pending_review' WHERE status = 'pending_regeneration'")
        os.environ.update(database_variables(Path(home)))
        console = (sys.executable, "-m", "copydesk", "--home", home)
        (paint, rows), (bare_paint,) = run_alternately(console, bare, [b" Queue ", CURSOR], [b"bare-app"])
        memory, bare_memory = _measure_memory(console, CURSOR, KEYS), _measure_memory(bare, b"bare-app")
    extra = memory - bare_memory
    cells = (f"{memory:.0f} MB", f"{bare_memory:.0f} MB", f"{extra:+.0f} MB", f"at most {MAX_EXTRA_MEMORY:g} MB more")
    return [
        make_row(f"Console's first paint, {DRAFTS:,} drafts (against a bare Textual app's)", paint, bare_paint, 1.25),
        make_row(
            f"Console's first rows, {DRAFTS:,} drafts (against a bare Textual app's paint)", rows, bare_paint, 1.5
        ),
        Row(
            f"Console's memory at rest, {DRAFTS:,} drafts, after {len(KEYS)} moves",
            *cells,
            extra <= MAX_EXTRA_MEMORY,
            memory,
        ),
    ]


def _measure_memory(command: Sequence[str], mark: bytes, keys: bytes = b"") -> float:
    """Return the megabytes of a program that is idle after these keys."""
    pid, terminal = start_program(command)
    try:
        _read_until(terminal, mark)
        _read_until(terminal)
        for key in keys:
            os.write(terminal, bytes([key]))
            if select.select([terminal], [], [], 1)[0]:
                os.read(terminal, 1 << 16)
        _read_until(terminal)
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    finally:
        kill_program(pid, terminal)
    match = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert match
    return int(match[1]) / 1000


def _read_until(terminal: int, mark: bytes | None = None) -> None:
    """Read until `mark` was written, or until the program is idle."""
    deadline, output = time.monotonic() + TIMEOUT, b""
    while mark is None or mark not in output:
        if not select.select([terminal], [], [], IDLE_TIME)[0]:
            if mark is None:
                return
            assert time.monotonic() < deadline, output
            continue
        output += os.read(terminal, 1 << 16)


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
