"""Console keys while the pipeline fetches two hundred sources in the same process, served from memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_console_keys import InstrumentedConsole, percentile_row, time_bare_moves, time_key
from large_desk import NOW, build_database
from table_row import Row
from textual.pilot import Pilot

from console_driver import wait_until_idle
from copydesk.desk import Desk, open_desk
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import FakeWeb, entry, execute_sql, feed, settings_at

DRAFTS, SOURCES, ENTRIES, RUNS = 20_000, 200, 20, 3
MAX_RATIO = 3.0


def measure() -> list[Row]:
    """Return the row of the table."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        build_database(home, DRAFTS)
        # The generated sources have no URL.
        execute_sql(home, "UPDATE source SET enabled = FALSE")
        bare, times = asyncio.run(time_bare_moves()), asyncio.run(_measure(home))
    label = f"a key to the changed screen while {SOURCES} sources are read"
    return [percentile_row(label, times, bare, MAX_RATIO)]


async def _measure(home: Path) -> list[float]:
    web = FakeWeb()
    async with _open_desk(home, web) as desk:
        for number in range(SOURCES):
            await desk.sources.create({"type": "rss", "url": _feed_url(number), "name": f"Site {number}"}, test=False)
    times: list[float] = []
    app = InstrumentedConsole(lambda: _open_desk(home, web), clock=lambda: NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        for run in range(RUNS):
            _publish(web, run)
            times += await _time_moves_during_run(app, pilot)
            await wait_until_idle(pilot)
    return times


@asynccontextmanager
async def _open_desk(home: Path, web: FakeWeb) -> AsyncIterator[Desk]:
    async with open_desk(settings_at(home), clock=lambda: NOW) as desk:
        desk._context.transport = web
        yield desk


def _feed_url(number: int) -> str:
    return f"https://site-{number}.example/feed"


def _publish(web: FakeWeb, run: int) -> None:
    """Publish new entries in every source."""
    for number in range(SOURCES):
        first = (run * SOURCES + number) * ENTRIES
        entries = (entry(first + offset, hours=1 + offset, now=NOW) for offset in range(ENTRIES))
        web.put(_feed_url(number), feed(*entries, title=f"Site {number}"))


async def _time_moves_during_run(app: InstrumentedConsole, pilot: Pilot[int]) -> list[float]:
    """Return the milliseconds of each move during the run: up and down, sometimes a page."""
    screen = app.screen
    assert isinstance(screen, ReviewScreen)
    app.simulate_key("P")
    while not _is_fetching(app):
        await pilot.pause(0)
    times: list[float] = []
    while _is_fetching(app):
        number = len(times) % 20
        key = "ctrl+d" if number == 9 else "ctrl+u" if number == 19 else "j" if number < 10 else "k"
        times.append(await time_key(app, screen, key))
    return times


def _is_fetching(app: InstrumentedConsole) -> bool:
    return app.run_view is not None and app.run_view.is_active and app.run_view.current is not None


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
