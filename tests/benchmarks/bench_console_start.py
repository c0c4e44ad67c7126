"""The console's start over a million drafts: its first paint and rows, and its memory, against a bare Textual app's."""

import os
import re
import select
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_start import BARE, PATIENCE, end, in_turns, row, start
from benchmarks_table import Row
from many_drafts import build

DRAFTS = 1_000_000
CURSOR = "▌".encode()
"""What stands before the first row, and nowhere before there are rows."""
CALM = 6.0
"""Seconds without a change after which a program is at rest: the console imports what only keys need after the rows,
and gives memory back when nobody has waited for some seconds."""
KEYS = b"j" * 30 + b"\x04" * 10 + b"G" + b"k" * 20 + b"\x15" * 10 + b"g"
"""Moves, half pages, to the end and back."""
MEMORY = 40.0
"""Megabytes that the console may have beyond the bare app's."""


def measure() -> list[Row]:
    """The rows of the table."""
    bare = (sys.executable, "-c", BARE)
    with TemporaryDirectory() as home:
        build(Path(home) / "copydesk.db", DRAFTS)
        _finish_writing(Path(home) / "copydesk.db")
        ours = (sys.executable, "-m", "copydesk", "--home", home)
        (paint, rows), (theirs,) = in_turns(ours, bare, [b" Queue ", CURSOR], [b"bare-app"])
        used, used_bare = _memory(ours, CURSOR, KEYS), _memory(bare, b"bare-app")
    more = used - used_bare
    figures = (f"{used:.0f} MB", f"{used_bare:.0f} MB", f"{more:+.0f} MB", f"at most {MEMORY:g} MB more")
    return [
        row(f"Console's first paint, {DRAFTS:,} drafts (against a bare Textual app's)", paint, theirs, 1.3),
        row(f"Console's first rows, {DRAFTS:,} drafts (against a bare Textual app's paint)", rows, theirs, 1.8),
        Row(f"Console's memory at rest, {DRAFTS:,} drafts, after {len(KEYS)} moves", *figures, more <= MEMORY),
    ]


def _finish_writing(database: Path) -> None:
    """Nothing waits to be written: an open console would be at it, and is to be at rest here."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE draft SET status = 'pending_review' WHERE status = 'pending_regeneration'")


def _memory(command: Sequence[str], mark: bytes, keys: bytes = b"") -> float:
    """Megabytes that a program has when it is at rest after these keys."""
    pid, terminal = start(command)
    try:
        _read(terminal, mark)
        _read(terminal)
        for key in keys:
            os.write(terminal, bytes([key]))
            if select.select([terminal], [], [], 1)[0]:
                os.read(terminal, 1 << 16)
        _read(terminal)
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    finally:
        end(pid, terminal)
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert found
    return int(found[1]) / 1000


def _read(terminal: int, mark: bytes | None = None) -> None:
    """Until `mark` was written, or nothing for a while."""
    until, written = time.monotonic() + PATIENCE, b""
    while mark is None or mark not in written:
        if not select.select([terminal], [], [], CALM)[0]:
            if mark is None:
                return
            assert time.monotonic() < until, written
            continue
        written += os.read(terminal, 1 << 16)


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
