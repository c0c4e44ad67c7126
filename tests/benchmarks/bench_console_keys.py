"""The console on a million drafts: key presses, decisions, and memory after a thousand decisions.

In one process, with a driver that discards its output: from the key press to the change of the screen that shows its
effect, without the terminal's own drawing time. Compared with a bare Textual application that moves through a list of
100 rows, measured in the same process.
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

from large_desk import build_database
from table_row import Row
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import OptionList

from console_driver import wait_until_idle
from copydesk.desk import open_desk
from copydesk.tui.app import Console
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import settings_at
from store_fixtures import postgresql_server

DRAFTS = 1_000_000
MOVES, DECISIONS = 1_000, 1_000
TAB_CHANGES, TABS_EACH_WAY = 96, 4
BARE_ROWS, BARE_MOVES = 100, 1_000
BARE_LIST = f"a bare list of {BARE_ROWS} rows"
MAX_MOVE_RATIO, MAX_DECISION_RATIO = 1.5, 1.8
"""99th percentile against that of the bare application."""
MAX_SERVER_KEY = 50.0
"""Milliseconds: 99th percentile of all keys on PostgreSQL."""
WARM_UP = 1_100
SAMPLE_SIZE = 100
"""Decisions at either end of the series whose times are compared."""
MAX_SLOWDOWN, MAX_MEMORY_GROWTH = 1.5, 8.0
"""Ratio and megabytes by which the last decisions may exceed the first."""
TIMEOUT = 10.0
KEYS = (*("j",) * 30, *("k",) * 10, *("ctrl+d",) * 5, *("ctrl+u",) * 3, "G", "g")
"""A realistic mix: mostly down, sometimes a page, to the end and back."""


class ScreenTimes(App[int]):
    """An application that reports when its screen changed.

    Polling it instead would take part of the measured time.
    """

    is_headless = False
    """It writes what a terminal would get, though the driver discards it."""
    _awaited: tuple[Callable[[], bool], asyncio.Future[float]] | None = None

    def _display(self, screen: object, renderable: object) -> None:
        super()._display(screen, renderable)  # type: ignore[arg-type]
        if self._awaited is not None and self._awaited[0]():
            self._awaited[1].set_result(time.perf_counter())
            self._awaited = None

    async def wait_for_change(self, condition: Callable[[], bool]) -> float:
        """Return the time of the first screen change after which `condition` is true."""
        changed_at = asyncio.get_running_loop().create_future()
        self._awaited = (condition, changed_at)
        return await asyncio.wait_for(changed_at, TIMEOUT)


class InstrumentedConsole(ScreenTimes, Console):
    """The console, reporting when its screen changed."""


class BareList(ScreenTimes):
    """A list of 100 rows and nothing else."""

    def compose(self) -> ComposeResult:
        """Compose the list."""
        yield OptionList(*(f"Row {number}" for number in range(BARE_ROWS)))


async def time_bare_moves() -> list[float]:
    """Return the milliseconds of each move through the rows of the bare application, down and up again."""
    app, times = BareList(), []
    # Garbage collections would take longer than in an application of this size: the benchmarks import much more.
    gc.collect()
    gc.freeze()
    # As in the console: a scroll that is animated is drawn later.
    app.animation_level = "none"
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        rows = app.query_one(OptionList)
        # From the first row, so that no move leads from one end of the list to the other.
        rows.highlighted = 0
        await pilot.pause()
        for move in range(BARE_MOVES):
            row = rows.highlighted
            with record_draws(rows, lambda: rows.highlighted != row) as new_row:  # noqa: B023 - used in this iteration
                started = time.perf_counter()
                app.simulate_key("down" if move // (BARE_ROWS - 1) % 2 == 0 else "up")
                times.append((await app.wait_for_change(lambda: any(new_row)) - started) * 1000)
    return times


@contextmanager
def record_draws(widget: Widget, state: Callable[[], object]) -> Iterator[list[object]]:
    """Yield a growing list of the states in which the widget is drawn."""
    states: list[object] = []
    render_lines = widget.render_lines

    def record(crop: Region) -> list[Strip]:
        states.append(state())
        return render_lines(crop)

    widget.render_lines = record  # type: ignore[method-assign]
    try:
        yield states
    finally:
        del widget.render_lines


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder:
        if postgresql_server() is not None:
            build_database(Path(folder), DRAFTS)
        else:
            # In a process of its own, so that its memory is not measured.
            builder = Process(target=build_database, args=(Path(folder), DRAFTS))
            builder.start()
            builder.join()
        return asyncio.run(_measure(Path(folder)))


async def _measure(home: Path) -> list[Row]:
    bare = await time_bare_moves()
    app = InstrumentedConsole(lambda: open_desk(settings_at(home)))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        moves = await _time_moves(app, screen)
        await reset_list(app, screen, pilot)
        tabs = await _time_tabs(app, screen, pilot)
        # The first decisions import modules and fill the row window and the line cache.
        await _time_decisions(app, screen, WARM_UP)
        await wait_until_idle(pilot)
        before = _resident_memory()
        decisions = await _time_decisions(app, screen, DECISIONS)
        await wait_until_idle(pilot)
        growth = _resident_memory() - before
    first_ms, last_ms = statistics.median(decisions[:SAMPLE_SIZE]), statistics.median(decisions[-SAMPLE_SIZE:])
    ratio = last_ms / first_ms
    slowest_tab = percentile(tabs)
    server_rows = [] if postgresql_server() is None else [_absolute_row([*moves, *decisions, *tabs])]
    return [
        percentile_row(
            f"a key to the changed screen, {MOVES:,} moves among {DRAFTS:,} drafts", moves, bare, MAX_MOVE_RATIO
        ),
        Row(
            f"the key of another tab to its rows, {TAB_CHANGES} changes among {DRAFTS:,} drafts",
            f"99th percentile {slowest_tab:.1f} ms (median {statistics.median(tabs):.1f})",
            "",
            "",
            "",
            None,
            slowest_tab,
        ),
        *server_rows,
        percentile_row(
            f"approve to the next draft shown, {DECISIONS:,} of {DRAFTS:,} drafts", decisions, bare, MAX_DECISION_RATIO
        ),
        Row(
            f"the last of {DECISIONS:,} decisions in a row",
            f"{last_ms:.1f} ms",
            f"the first {first_ms:.1f} ms",
            f"{ratio:.2f}",
            f"at most {MAX_SLOWDOWN:g}",
            ratio <= MAX_SLOWDOWN,
            last_ms,
        ),
        Row(
            f"memory after {DECISIONS:,} decisions in a row",
            f"{growth:+.1f} MB",
            f"{before:.0f} MB before them",
            f"{(before + growth) / before:.2f}",
            f"at most {MAX_MEMORY_GROWTH:g} MB more",
            growth <= MAX_MEMORY_GROWTH,
        ),
    ]


async def _time_moves(app: InstrumentedConsole, screen: ReviewScreen) -> list[float]:
    rng = random.Random(1)
    times = []
    for _ in range(MOVES):
        key = rng.choice(KEYS)
        before = screen.queue.cursor
        if before == {"k": 0, "ctrl+u": 0, "g": 0}.get(key, -1):
            key = "j"
        if key in {"j", "ctrl+d", "G"} and before == len(screen.queue.window) - 1:
            key = "k"
        times.append(await time_key(app, screen, key))
    return times


async def _time_decisions(app: InstrumentedConsole, screen: ReviewScreen, count: int) -> list[float]:
    return [await time_key(app, screen, "a") for _ in range(count)]


async def _time_tabs(app: InstrumentedConsole, screen: ReviewScreen, pilot: Pilot[int]) -> list[float]:
    """Return the milliseconds from the key until the rows of another tab are drawn, to the fifth tab and back."""
    times = []
    for number in range(TAB_CHANGES):
        queue = screen.queue
        window = queue.window
        with record_draws(queue, lambda: queue.window is not window and bool(queue.window.rows)) as new_rows:  # noqa: B023 - used in this iteration
            started = time.perf_counter()
            app.simulate_key(f"{'right' if number // TABS_EACH_WAY % 2 == 0 else 'left'}_square_bracket")
            times.append((await app.wait_for_change(lambda: any(new_rows)) - started) * 1000)
        # What the tab loads afterwards is not to delay the next change.
        await wait_until_idle(pilot)
    return times


async def time_key(app: InstrumentedConsole, screen: ReviewScreen, key: str) -> float:
    """Return the milliseconds from the key until another draft's row and text are drawn."""
    queue, pane = screen.queue, screen.preview_pane.page
    row, text = queue.cursor, pane._blocks
    with (
        record_draws(queue, lambda: queue.current is not None and queue.cursor != row) as new_row,
        record_draws(pane, lambda: pane._blocks is not text) as new_text,
    ):
        started = time.perf_counter()
        app.simulate_key(key)
        return (await app.wait_for_change(lambda: any(new_row) and any(new_text)) - started) * 1000


async def reset_list(app: InstrumentedConsole, screen: ReviewScreen, pilot: Pilot[int]) -> None:
    """Move to the first draft and wait until idle."""
    if screen.queue.cursor:
        app.simulate_key("g")
    await wait_until_idle(pilot)


def percentile_row(
    label: str, times: Sequence[float], bare: Sequence[float], max_ratio: float, *, baseline: str = BARE_LIST
) -> Row:
    """Return a row with the 99th percentile of these milliseconds against that of the baseline, the bare list's."""
    slowest, bare_percentile = percentile(times), percentile(bare)
    ratio = slowest / bare_percentile
    return Row(
        label,
        f"99th percentile {slowest:.1f} ms (median {statistics.median(times):.1f})",
        f"{baseline} {bare_percentile:.1f} ms (median {statistics.median(bare):.1f})",
        f"{ratio:.2f}",
        f"at most {max_ratio:g}",
        ratio <= max_ratio,
        slowest,
    )


def percentile(times: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(times, n=100)[98]


def _absolute_row(times: Sequence[float]) -> Row:
    """Return the row on all keys together, whose target is a time."""
    slowest = percentile(times)
    return Row(
        f"{len(times):,} keys of a console on PostgreSQL among {DRAFTS:,} drafts: moves, approvals, tabs",
        f"99th percentile {slowest:.1f} ms (median {statistics.median(times):.1f})",
        "",
        "",
        f"under {MAX_SERVER_KEY:g} ms",
        slowest < MAX_SERVER_KEY,
    )


def _resident_memory() -> float:
    """Return the process's resident megabytes after a garbage collection."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
