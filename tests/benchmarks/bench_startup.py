"""Start times as seen at a terminal: the help, the console's first paint, and its first rows.

Each program runs in its own pseudo-terminal; the clock stops when the expected text appears. Both sides alternate and
the best of several rounds counts, because other load on the machine can only add to a time.
"""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
from sqlalchemy import Connection
from table_row import Row

from console_driver import NOW, make_draft
from copydesk.desk import open_desk
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from desk_fixtures import settings_at
from store_fixtures import add_item, add_source, database_variables

ROUNDS = 15
DRAFTS = 200
TIMEOUT = 30.0
TERMINAL_SIZE = (32, 120)
"""Rows and columns of the terminal."""
BARE_APP = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare-app-is-ready")
Bare().run()
"""


def measure() -> list[Row]:
    """Return the help against click alone, and the console against a Textual app with one line."""
    help_ours, help_theirs = run_alternately(
        (sys.executable, "-m", "copydesk", "--help"),
        (sys.executable, "-c", "import click; print('Options')"),
        [b"Options"],
    )
    with TemporaryDirectory() as home:
        asyncio.run(_seed(Path(home)))
        os.environ.update(database_variables(Path(home)))
        command = (sys.executable, "-m", "copydesk", "--home", home)
        (paint, rows), bare = run_alternately(
            command, (sys.executable, "-c", BARE_APP), [b" Queue ", b"A missing index"], [b"bare-app"]
        )
    return [
        make_row("`copydesk --help` (against `import click`)", help_ours[0], help_theirs[0], 1.5),
        make_row(f"Console's first paint, {DRAFTS} drafts (against a bare Textual app's)", paint, bare[0], 1.25),
        make_row(f"Console's first rows, {DRAFTS} drafts (against a bare Textual app's paint)", rows, bare[0], 1.5),
    ]


def make_row(label: str, ours: list[float], theirs: list[float], target: float) -> Row:
    """Return a row with our best time against the other best time."""
    ratio = min(ours) / min(theirs)
    return Row(label, _time(ours), _time(theirs), f"{ratio:.2f}", f"≤ {target}", ratio <= target, min(ours))


def _time(times: list[float]) -> str:
    return f"{min(times) * 1000:.0f} ms (median {median(times) * 1000:.0f})"


def run_alternately(
    ours: Sequence[str], theirs: Sequence[str], our_marks: Sequence[bytes], their_marks: Sequence[bytes] | None = None
) -> tuple[list[list[float]], list[list[float]]]:
    """Return, for each mark, the times of all rounds after one that warms the caches."""
    rounds = [(_run(ours, our_marks), _run(theirs, their_marks or our_marks)) for _ in range(ROUNDS + 1)][1:]
    return tuple([list(times) for times in zip(*side, strict=True)] for side in zip(*rounds, strict=True))  # type: ignore[return-value]


def _run(command: Sequence[str], marks: Sequence[bytes]) -> list[float]:
    """Return the seconds from the program's start until each of `marks` was on its terminal."""
    started = time.perf_counter()
    pid, terminal = start_program(command)
    times: list[float] = []
    output = b""
    try:
        while len(times) < len(marks):
            output += os.read(terminal, 1 << 16)
            while len(times) < len(marks) and marks[len(times)] in output:
                times.append(time.perf_counter() - started)
            assert time.perf_counter() - started < TIMEOUT, output
    finally:
        kill_program(pid, terminal)
    return times


def start_program(command: Sequence[str]) -> tuple[int, int]:
    """Run a program in a pseudo-terminal; return its process id and the terminal's descriptor."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *TERMINAL_SIZE, 0, 0))
        os.execve(command[0], command, os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    return pid, terminal


def kill_program(pid: int, terminal: int) -> None:
    """Kill the program."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)


async def _seed(home: Path) -> None:
    """Create a desk with drafts to review."""
    async with open_desk(settings_at(home)) as desk:
        await desk._context.write(_add_drafts)


def _add_drafts(conn: Connection, user: str) -> None:
    source = add_source(conn, user, name="The Lighthouse")
    for number in range(DRAFTS):
        example = make_draft(number)
        item_id = add_item(conn, user, source, title=example.item.title, url="https://lighthouse.example")
        row = msgspec.structs.replace(example, id=new_id(NOW), item_id=item_id)
        new_draft = NewDraft(
            draft=row,
            source_id=source,
            source_type=example.item.source_type,
            story_id=item_id,
            origin=DraftOrigin.PIPELINE,
        )
        assert drafts.add(conn, user, new_draft)


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
