"""Preparing the console for a snapshot."""

from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.tui.app import Console

Compare = Callable[..., bool]
"""The fixture `snap_compare`."""
Before = Callable[[Pilot[int]], Awaitable[None]]
"""What is run before a snapshot."""


def press_keys(*keys: str, theme: str = "", then: Callable[[ConsoleDriver], Awaitable[object]] | None = None) -> Before:
    """Return a step that presses keys in this theme, each once the console is idle, and then runs `then`."""

    async def run(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await wait_until_idle(pilot)
        assert isinstance(pilot.app, Console)
        ui = ConsoleDriver(pilot.app, pilot)
        await ui.press(*keys)
        if then is not None:
            await then(ui)

    return run
