"""The console over a million drafts: a key to the changed screen, a decision to the next draft, a thousand decisions.

In one process, with a driver that throws away what it is given: from the key to the change of the screen that
shows it, without what a terminal takes to draw it. The targets are frames of a screen that is drawn 30 times a second.
"""

import asyncio
import gc
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks_table import Row
from many_drafts import build
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from copydesk.desk import open_desk
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.screens.review import ReviewScreen
from tui_fixtures import settled

DRAFTS = 1_000_000
MOVES, DECISIONS = 1_000, 1_000
FRAME = 33.0
WARM = 1_100
SOME = 100
"""Decisions at either end of the row, whose times are compared."""
GROWTH, MEMORY = 1.5, 8.0
"""Times, and megabytes, that the last decisions may take more than the first."""
PATIENCE = 10.0
KEYS = (*("j",) * 30, *("k",) * 10, *("ctrl+d",) * 5, *("ctrl+u",) * 3, "G", "g")
"""As one goes through a queue: mostly down, now and then a page, to the end and back."""


class Watched(Console):
    """A console that tells when it changed the screen.

    Nothing asks it again and again in the meantime: that would take part of the time that is measured.
    """

    is_headless = False
    """It writes what a terminal is sent, though the driver throws it away."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._awaited: tuple[Callable[[], bool], asyncio.Future[float]] | None = None

    def _display(self, screen: object, renderable: object) -> None:
        super()._display(screen, renderable)  # type: ignore[arg-type]
        if self._awaited is not None and self._awaited[0]():
            self._awaited[1].set_result(time.perf_counter())
            self._awaited = None

    async def changed(self, shown: Callable[[], bool]) -> float:
        """The moment after the first change of the screen after which `shown` is true."""
        moment = asyncio.get_running_loop().create_future()
        self._awaited = (shown, moment)
        return await asyncio.wait_for(moment, PATIENCE)


@contextmanager
def drawn(widget: Widget, state: Callable[[], object]) -> Iterator[list[object]]:
    """The states that the widget is drawn in from here on, in a list that grows."""
    states: list[object] = []
    draw = widget.render_lines

    def noting(crop: Region) -> list[Strip]:
        states.append(state())
        return draw(crop)

    widget.render_lines = noting  # type: ignore[method-assign]
    try:
        yield states
    finally:
        del widget.render_lines


def measure() -> list[Row]:
    """The rows of the table."""
    with TemporaryDirectory() as folder:
        # In a process of its own, whose memory is not measured.
        making = Process(target=build, args=(Path(folder) / "copydesk.db", DRAFTS))
        making.start()
        making.join()
        return asyncio.run(_measured(Path(folder)))


async def _measured(home: Path) -> list[Row]:
    app = Watched(lambda: open_desk(load({}, home)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        moves = await _moves(app, screen)
        await _rest(app, screen, pilot)
        # The first ones import what the others have, and fill the window and the lines that are kept.
        await _decisions(app, screen, WARM)
        await settled(pilot)
        before = _memory()
        decisions = await _decisions(app, screen, DECISIONS)
        await settled(pilot)
        grown = _memory() - before
    first, last = statistics.median(decisions[:SOME]), statistics.median(decisions[-SOME:])
    ratio = last / first
    return [
        frame(f"a key to the changed screen, {MOVES:,} moves among {DRAFTS:,} drafts", moves),
        frame(f"approve to the next draft shown, {DECISIONS:,} of {DRAFTS:,} drafts", decisions),
        Row(
            f"the last of {DECISIONS:,} decisions in a row",
            f"{last:.1f} ms",
            f"the first {first:.1f} ms",
            f"{ratio:.2f}",
            f"at most {GROWTH:g}",
            ratio <= GROWTH,
        ),
        Row(
            f"memory after {DECISIONS:,} decisions in a row",
            f"{grown:+.1f} MB",
            f"{before:.0f} MB before them",
            f"{(before + grown) / before:.2f}",
            f"at most {MEMORY:g} MB more",
            grown <= MEMORY,
        ),
    ]


async def _moves(app: Watched, screen: ReviewScreen) -> list[float]:
    chance = random.Random(1)
    times = []
    for _ in range(MOVES):
        key = chance.choice(KEYS)
        before = screen.queue.cursor
        if before == {"k": 0, "ctrl+u": 0, "g": 0}.get(key, -1):
            key = "j"
        if key in {"j", "ctrl+d", "G"} and before == len(screen.queue.window) - 1:
            key = "k"
        times.append(await timed(app, screen, key))
    return times


async def _decisions(app: Watched, screen: ReviewScreen, count: int) -> list[float]:
    return [await timed(app, screen, "a") for _ in range(count)]


async def timed(app: Watched, screen: ReviewScreen, key: str) -> float:
    """Milliseconds from the key until another draft is on the screen, row and text."""
    queue, pane = screen.queue, screen.draft_pane
    row, text = queue.cursor, pane._blocks
    with (
        drawn(queue, lambda: queue.current is not None and queue.cursor != row) as new_row,
        drawn(pane, lambda: pane._blocks is not text) as new_text,
    ):
        begin = time.perf_counter()
        app.simulate_key(key)
        return (await app.changed(lambda: any(new_row) and any(new_text)) - begin) * 1000


async def _rest(app: Watched, screen: ReviewScreen, pilot: Pilot[int]) -> None:
    """To the first draft, with nothing under way."""
    if screen.queue.cursor:
        app.simulate_key("g")
    await settled(pilot)


def frame(what: str, times: Sequence[float], target: float = FRAME) -> Row:
    """The 99th percentile of these milliseconds against a target."""
    worst, middle = statistics.quantiles(times, n=100)[98], statistics.median(times)
    return Row(
        what,
        f"99th percentile {worst:.1f} ms",
        f"median {middle:.1f} ms",
        f"{worst / middle:.1f}",
        f"at most {target:g} ms",
        worst <= target,
    )


def _memory() -> float:
    """Megabytes that the process has now, with nothing left to collect."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
