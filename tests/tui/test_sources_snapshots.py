"""How the screen Sources looks. `pytest --snapshot-update` takes over what is meant to change."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from copydesk.errors import CopydeskError
from copydesk.tui.app import Console
from copydesk.tui.themes import LIGHT
from desk_fixtures import open_at
from sources_on_screen import console_at, small_web, three_sources
from tui_fixtures import Seen, settled

Compare = Callable[..., bool]
Before = Callable[[Pilot[int]], Awaitable[None]]


@pytest.fixture
def furnished(tmp_path: Path) -> Console:
    """The console of a desk with three sources and two runs."""

    async def furnish() -> None:
        async with open_at(tmp_path, small_web()) as desk:
            desk.ground.jitter = lambda: 0.0  # type: ignore[method-assign]
            await three_sources(desk)

    asyncio.run(furnish())
    return console_at(tmp_path, small_web())


def after(*keys: str, theme: str = "") -> Before:
    """What to do before the picture is taken."""

    async def do(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        assert isinstance(pilot.app, Console)
        await Seen(pilot.app, pilot).press("3", *keys)

    return do


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_sources_and_runs(snap_compare: Compare, furnished: Console, theme: str) -> None:
    assert snap_compare(furnished, terminal_size=(120, 36), run_before=after("j", theme=theme))


def test_a_wide_terminal(snap_compare: Compare, furnished: Console) -> None:
    assert snap_compare(furnished, terminal_size=(180, 40), run_before=after())


@pytest.mark.parametrize("keys", [("j",), ("tab",), ("enter",)], ids=["sources", "runs", "detail"])
def test_a_narrow_terminal(snap_compare: Compare, furnished: Console, keys: tuple[str, ...]) -> None:
    assert snap_compare(furnished, terminal_size=(80, 24), run_before=after(*keys))


def test_forty_columns(snap_compare: Compare, furnished: Console) -> None:
    assert snap_compare(furnished, terminal_size=(40, 24), run_before=after())


def test_no_source_yet(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(console_at(tmp_path, small_web()), terminal_size=(80, 24), run_before=after())


def test_a_desk_that_cannot_be_opened(snap_compare: Compare) -> None:
    def fail() -> object:
        raise CopydeskError("The database is damaged.", hint="`copydesk doctor` says more.")

    assert snap_compare(Console(fail), terminal_size=(80, 24), run_before=after())  # type: ignore[arg-type]


def test_the_form_of_a_source(snap_compare: Compare, furnished: Console) -> None:
    assert snap_compare(furnished, terminal_size=(80, 24), run_before=after("e"))


def test_what_a_source_holds_now(snap_compare: Compare, furnished: Console) -> None:
    assert snap_compare(furnished, terminal_size=(80, 24), run_before=after("t"))
