"""The Sources screen on a real desk with fake pages and a fixed clock."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.desk import Desk
from copydesk.model.source import Health, Source, SourceConfig
from copydesk.tui.app import Console
from copydesk.tui.sources.screen import SourcesScreen
from desk_fixtures import NOW, URL_ONE, URL_THREE, URL_TWO, FakeWeb, Watch, create_source, entry, feed, open_desk_at

DeskSetup = Callable[[Desk], Awaitable[None]]


def make_source(**values: Any) -> Source:
    """Return a source with `values` in place of the defaults."""
    fields: dict[str, Any] = {
        "id": "s",
        "type": "rss",
        "name": "One",
        "url": "https://one.example/feed",
        "config": SourceConfig(weight=1.5, max_items=7, tags=("sea",)),
        "enabled": True,
        "last_fetch": None,
        "health": Health.UNKNOWN,
        "fail_count": 0,
        "last_error": None,
        "created_at": NOW,
        "updated_at": NOW,
        "item_count": 0,
    }
    return Source(**fields | values)


def sample_web() -> FakeWeb:
    """Return two feeds, and one URL that does not exist."""
    web = FakeWeb()
    web.put(
        URL_ONE, feed(*(entry(number, hours=number * number) for number in range(1, 13)), title="The Ferry Gazette")
    )
    web.put(URL_TWO, feed(entry(20, hours=3), entry(21, hours=70), title="Second Site"))
    return web


def make_sources_console(home: Path, web: FakeWeb) -> Console:
    """Return the console of the desk in `home`, two hours after NOW."""
    return Console(lambda: open_desk_at(home, web), clock=lambda: NOW + timedelta(hours=2))


async def add_three_sources(desk: Desk) -> None:
    """Create a healthy, a failing and a disabled source, and run the pipeline twice."""
    await create_source(desk, URL_ONE, name="The Ferry Gazette", weight=1.5, tags=["sea", "land"])
    await create_source(desk, URL_THREE, name="Gone Quiet")
    disabled = await create_source(desk, URL_TWO, name="Second Site")
    await desk.sources.update(disabled.id, {"enabled": False})
    await desk.pipeline.run()
    await desk.pipeline.run()


@asynccontextmanager
async def open_sources(
    home: Path, setup: DeskSetup | None = None, *, web: FakeWeb | None = None, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[ConsoleDriver]:
    """Open the Sources screen of a desk prepared by `setup`."""
    web = web or sample_web()
    if setup is not None:
        async with open_desk_at(home, web, Watch()) as desk:
            await setup(desk)
    app = make_sources_console(home, web)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("3")
        assert isinstance(app.screen, SourcesScreen)
        yield ui


def sources_screen(ui: ConsoleDriver) -> SourcesScreen:
    """Return the Sources screen, also from below a dialog."""
    (screen,) = (candidate for candidate in ui.app.screen_stack if isinstance(candidate, SourcesScreen))
    return screen
