"""How long a start takes, as a person at a terminal sees it: the help, the console's first paint, its first rows.

Each program runs in a pseudo-terminal of its own and the clock stops when the text that is waited for has come out of
it. Ours and theirs take turns, and the best of several turns counts: what other programs do on the machine only ever
adds to a time.
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
from benchmarks_table import Row
from sqlalchemy import Connection

from copydesk.desk import open_desk
from copydesk.settings import load
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import Origin
from store_fixtures import add_item, add_source
from tui_fixtures import NOW, draft

TURNS = 15
DRAFTS = 200
PATIENCE = 30.0
SIZE = (32, 120)
"""Rows and columns of the terminal."""
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare-app-is-ready")
Bare().run()
"""


def measure() -> list[Row]:
    """The help against click itself, and the console against a Textual app with one line in it."""
    help_ours, help_theirs = in_turns(
        (sys.executable, "-m", "copydesk", "--help"),
        (sys.executable, "-c", "import click; print('Options')"),
        [b"Options"],
    )
    with TemporaryDirectory() as home:
        asyncio.run(_seed(Path(home)))
        ours = (sys.executable, "-m", "copydesk", "--home", home)
        (paint, rows), bare = in_turns(
            ours, (sys.executable, "-c", BARE), [b" Queue ", b"A missing index"], [b"bare-app"]
        )
    return [
        row("`copydesk --help` (against `import click`)", help_ours[0], help_theirs[0], 1.5),
        row(f"Console's first paint, {DRAFTS} drafts (against a bare Textual app's)", paint, bare[0], 1.3),
        row(f"Console's first rows, {DRAFTS} drafts (against a bare Textual app's paint)", rows, bare[0], 2.0),
    ]


def row(what: str, ours: list[float], theirs: list[float], target: float) -> Row:
    """The best of our times against the best of theirs."""
    ratio = min(ours) / min(theirs)
    return Row(what, _time(ours), _time(theirs), f"{ratio:.2f}", f"≤ {target}", ratio <= target)


def _time(times: list[float]) -> str:
    return f"{min(times) * 1000:.0f} ms (median {median(times) * 1000:.0f})"


def in_turns(
    ours: Sequence[str], theirs: Sequence[str], our_marks: Sequence[bytes], their_marks: Sequence[bytes] | None = None
) -> tuple[list[list[float]], list[list[float]]]:
    """For each mark, the times of all turns after one that warms the caches."""
    turns = [(_run(ours, our_marks), _run(theirs, their_marks or our_marks)) for _ in range(TURNS + 1)][1:]
    return tuple([list(times) for times in zip(*side, strict=True)] for side in zip(*turns, strict=True))  # type: ignore[return-value]


def _run(command: Sequence[str], marks: Sequence[bytes]) -> list[float]:
    """Seconds from the start of the program until each of `marks` was on its terminal."""
    begun = time.perf_counter()
    pid, terminal = start(command)
    found: list[float] = []
    written = b""
    try:
        while len(found) < len(marks):
            written += os.read(terminal, 1 << 16)
            while len(found) < len(marks) and marks[len(found)] in written:
                found.append(time.perf_counter() - begun)
            assert time.perf_counter() - begun < PATIENCE, written
    finally:
        end(pid, terminal)
    return found


def start(command: Sequence[str]) -> tuple[int, int]:
    """Run a program in a pseudo-terminal of its own; its process and the terminal's descriptor."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        os.execve(command[0], command, os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    return pid, terminal


def end(pid: int, terminal: int) -> None:
    """End it at once."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)


async def _seed(home: Path) -> None:
    """A desk with drafts to review."""
    async with open_desk(load({}, home)) as desk:
        await desk.ground.write(_add_drafts)


def _add_drafts(conn: Connection, user: str) -> None:
    source = add_source(conn, user, name="The Lighthouse")
    for number in range(DRAFTS):
        made = draft(number)
        item = add_item(conn, user, source, title=made.item.title, url="https://lighthouse.example")
        kept = msgspec.structs.replace(made, id=new_id(NOW), item_id=item)
        new = NewDraft(
            draft=kept, source_id=source, source_type=made.item.source_type, story_id=item, origin=Origin.PIPELINE
        )
        assert drafts.add(conn, user, new)


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
