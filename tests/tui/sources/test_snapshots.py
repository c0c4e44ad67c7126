"""Snapshots of the Sources screen. `pytest --snapshot-update` accepts intended changes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.errors import CopydeskError
from copydesk.tui.app import Console
from copydesk.tui.themes import LIGHT
from desk_fixtures import open_desk_at
from sources_driver import add_three_sources, make_sources_console, sample_web

Compare = Callable[..., bool]
Before = Callable[[Pilot[int]], Awaitable[None]]


@pytest.fixture
def furnished_console(tmp_path: Path) -> Console:
    """Return the console of a desk with three sources and two runs."""

    async def furnish() -> None:
        async with open_desk_at(tmp_path, sample_web()) as desk:
            desk._context.jitter = lambda: 0.0  # type: ignore[method-assign]
            await add_three_sources(desk)

    asyncio.run(furnish())
    return make_sources_console(tmp_path, sample_web())


def press_keys(*keys: str, theme: str = "") -> Before:
    """Return a step to run before the snapshot: open Sources and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await wait_until_idle(pilot)
        assert isinstance(pilot.app, Console)
        await ConsoleDriver(pilot.app, pilot).press("3", *keys)

    return run


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_sources_and_runs(snap_compare: Compare, furnished_console: Console, theme: str) -> None:
    assert snap_compare(furnished_console, terminal_size=(120, 36), run_before=press_keys("j", theme=theme))


def test_wide_terminal(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(180, 40), run_before=press_keys())


@pytest.mark.parametrize("keys", [("j",), ("tab",), ("enter",)], ids=["sources", "runs", "detail"])
def test_narrow_terminal(snap_compare: Compare, furnished_console: Console, keys: tuple[str, ...]) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys(*keys))


def test_forty_columns(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(40, 24), run_before=press_keys())


def test_no_sources(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(make_sources_console(tmp_path, sample_web()), terminal_size=(80, 24), run_before=press_keys())


def test_desk_with_open_error(snap_compare: Compare) -> None:
    def fail() -> object:
        raise CopydeskError("The database is damaged.", hint="`copydesk doctor` says more.")

    assert snap_compare(Console(fail), terminal_size=(80, 24), run_before=press_keys())  # type: ignore[arg-type]


def test_source_form(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys("e"))


def test_source_test_fetch(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys("t"))
