"""The Sources screen on a real desk with fake pages and a fixed clock."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from copydesk.desk import Desk
from copydesk.model.source import Health, Source, SourceConfig, SourceType
from copydesk.tui.app import Console
from copydesk.tui.screens.sources import SourcesScreen
from desk_fixtures import NOW, ONE, THREE, TWO, Watch, Web, add, entry, feed, open_at
from held_answers import so
from tui_fixtures import Seen, settled

Furnish = Callable[[Desk], Awaitable[None]]


def source(**values: Any) -> Source:
    """Return a source with `values` in place of the defaults."""
    fields: dict[str, Any] = {
        "id": "s",
        "type": SourceType.RSS,
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


def small_web() -> Web:
    """Return two feeds, and one URL that does not exist."""
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number * number) for number in range(1, 13)), title="The Ferry Gazette"))
    web.put(TWO, feed(entry(20, hours=3), entry(21, hours=70), title="Second Site"))
    return web


def console_at(home: Path, web: Web) -> Console:
    """Return the console of the desk in `home`, two hours after NOW."""
    return Console(lambda: open_at(home, web), clock=lambda: NOW + timedelta(hours=2))


async def three_sources(desk: Desk) -> None:
    """Create a healthy, a failing and a disabled source, and run the pipeline twice."""
    await add(desk, ONE, name="The Ferry Gazette", weight=1.5, tags=["sea", "land"])
    await add(desk, THREE, name="Gone Quiet")
    disabled = await add(desk, TWO, name="Second Site")
    await desk.sources.update(disabled.id, {"enabled": False})
    await desk.pipeline.run()
    await desk.pipeline.run()


@asynccontextmanager
async def on_sources(
    home: Path, furnish: Furnish | None = None, *, web: Web | None = None, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[Seen]:
    """Open the Sources screen of a desk prepared by `setup`."""
    web = web or small_web()
    if furnish is not None:
        async with open_at(home, web, Watch()) as desk:
            await furnish(desk)
    app = console_at(home, web)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        ui = Seen(app, pilot)
        await ui.press("3")
        assert isinstance(app.screen, SourcesScreen)
        yield ui


async def write(seen: Seen, text: str) -> None:
    """Type `text` into the focused widget."""
    key_names = {" ": "space"}
    for character in text:
        seen.app.simulate_key(key_names.get(character, character))
    await seen.wait()


def sources_screen(seen: Seen) -> SourcesScreen:
    """Return the Sources screen, also from below a dialog."""
    (screen,) = (candidate for candidate in seen.app.screen_stack if isinstance(candidate, SourcesScreen))
    return screen


async def until(seen: Seen, words: str) -> None:
    """Wait until `text` is on the screen or in a toast."""
    try:
        await so(lambda: words in seen.text or any(words in message for message in seen.toasts), seen.wait)
        await seen.wait()  # a toast may precede the read that updates the screen
    except TimeoutError:
        raise AssertionError(f"{words!r} never came:\n{seen.text}\n{seen.toasts}") from None
