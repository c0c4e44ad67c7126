"""The Setup screen on a real desk with fake platforms and a fixed clock."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.tui.app import Console
from delayed_responses import WAIT_TIMEOUT
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed
from sign_in_platforms import sign_in_platforms
from store_fixtures import database_variables

Furnish = Callable[[Desk], Awaitable[None]]
LATER = NOW + timedelta(hours=2)


@asynccontextmanager
async def open_setup_desk(
    home: Path, *, plain: bool = True, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Desk]:
    """Open the desk in `home`. Credentials are stored in a plain file or an encrypted one.

    `transport` replaces the network, which has a feed only.
    """
    environment = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": f"{plain}".lower()}
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number) for number in range(1, 4)), title="The Ferry Gazette"))
    async with open_desk(
        load(database_variables(home) | environment, home),
        clock=lambda: NOW,
        transport=transport or web,
        platforms=sign_in_platforms(),
    ) as desk:
        yield desk


def make_setup_console(home: Path, *, plain: bool = True, transport: httpx.AsyncBaseTransport | None = None) -> Console:
    """Return the console of the desk in `home`."""
    return Console(lambda: open_setup_desk(home, plain=plain, transport=transport), clock=lambda: LATER)


async def add_sample_setup(desk: Desk) -> None:
    """Connect two accounts, one of them failing; set a voice, and create drafts."""
    await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    await desk.accounts.connect("keyed", {"handle": "locked", "password": "open"})
    await desk.voice.update(
        {
            "style": "Plain words.\nNo hype.",
            "avoid": ["game-changer", "unlock"],
            "examples": ["A ferry is a road that moves.", "Two lines,\none thought."],
            "formats": {"SHORT": {"hashtags": 1, "emoji": "never"}},
        }
    )
    await desk.schedule.set_zone("Europe/Prague")
    await create_source(desk)
    await desk.pipeline.run()


@asynccontextmanager
async def open_setup(
    home: Path,
    furnish: Furnish | None = None,
    *,
    size: tuple[int, int] = (120, 36),
    key: str = "6",
    plain: bool = True,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[ConsoleDriver]:
    """Open the Setup screen, or that of another `key`, on a desk prepared by `furnish`."""
    if furnish is not None:
        async with open_setup_desk(home) as desk:
            await furnish(desk)
    app = make_setup_console(home, plain=plain, transport=transport)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press(key)
        yield ui


async def wait_for_text(ui: ConsoleDriver, text: str) -> None:
    """Wait until `text` is on the screen or in a toast."""
    await _wait_until(ui, lambda: text in ui.text or any(text in message for message in ui.toasts), text, ui.wait)
    await ui.wait()  # a toast may precede the read that updates the screen


async def wait_for_prompt(ui: ConsoleDriver, text: str) -> None:
    """As `wait_for_text`, while a prompt is open: the console never becomes idle then."""
    await _wait_until(ui, lambda: text in ui.text, text, ui.pilot.pause)


async def type_answer(ui: ConsoleDriver, text: str) -> None:
    """As `type_text`, for `wait_for_prompt`."""
    key_names = {"\n": "enter", "\t": "tab"}
    for character in text:
        ui.app.simulate_key(key_names.get(character, character))
    await ui.pilot.pause()


async def wait_until_absent(ui: ConsoleDriver, text: str) -> None:
    """Wait until `text` is no longer on the screen."""
    await _wait_until(ui, lambda: text not in ui.text, text, ui.wait)


async def _wait_until(
    ui: ConsoleDriver, condition: Callable[[], bool], text: str, pause: Callable[[], Awaitable[None]]
) -> None:
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition():
                await pause()
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"{text!r}:\n{ui.text}\n{ui.toasts}") from None
