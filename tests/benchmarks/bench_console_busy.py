"""The console's keys while the pipeline reads two hundred sources in the same process, the feeds served from memory."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_console import Watched, frame, timed
from benchmarks_table import Row
from many_drafts import NOW, build
from textual.pilot import Pilot

from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.tui.screens.review import ReviewScreen
from desk_fixtures import Web, entry, feed
from tui_fixtures import settled

DRAFTS, SOURCES, ENTRIES, RUNS = 20_000, 200, 20, 3
TARGET = 50.0


def measure() -> list[Row]:
    """The row of the table."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        build(home / "copydesk.db", DRAFTS)
        # What stands there as a source has no address.
        with closing(sqlite3.connect(home / "copydesk.db", isolation_level=None)) as database:
            database.execute("UPDATE source SET enabled = 0")
        times = asyncio.run(_measured(home))
    return [frame(f"a key to the changed screen while {SOURCES} sources are read, {len(times):,} moves", times, TARGET)]


async def _measured(home: Path) -> list[float]:
    web = Web()
    async with _open(home, web) as desk:
        for number in range(SOURCES):
            await desk.sources.create("rss", _address(number), name=f"Site {number}", test=False)
    times: list[float] = []
    app = Watched(lambda: _open(home, web), clock=lambda: NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for run in range(RUNS):
            _publish(web, run)
            times += await _moves_while_it_runs(app, pilot)
            await settled(pilot)
    return times


@asynccontextmanager
async def _open(home: Path, web: Web) -> AsyncIterator[Desk]:
    async with open_desk(load({}, home), clock=lambda: NOW) as desk:
        desk.ground.transport = web
        yield desk


def _address(number: int) -> str:
    return f"https://site-{number}.example/feed"


def _publish(web: Web, run: int) -> None:
    """Something new at every source."""
    for number in range(SOURCES):
        first = (run * SOURCES + number) * ENTRIES
        entries = (entry(first + each, hours=1 + each, now=NOW) for each in range(ENTRIES))
        web.put(_address(number), feed(*entries, title=f"Site {number}"))


async def _moves_while_it_runs(app: Watched, pilot: Pilot[int]) -> list[float]:
    """Milliseconds of each; up and down, with a page now and then."""
    screen = app.screen
    assert isinstance(screen, ReviewScreen)
    app.simulate_key("P")
    while not _reads(app):
        await pilot.pause(0)
    times: list[float] = []
    while _reads(app):
        number = len(times) % 20
        key = "ctrl+d" if number == 9 else "ctrl+u" if number == 19 else "j" if number < 10 else "k"
        times.append(await timed(app, screen, key))
    return times


def _reads(app: Watched) -> bool:
    return app.run_view is not None and app.run_view.under_way and app.run_view.current is not None


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
