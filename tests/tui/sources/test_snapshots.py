"""Snapshots of the Sources screen. `pytest --snapshot-update` accepts intended changes."""

import asyncio
from pathlib import Path

import pytest

from copydesk.errors import CopydeskError
from copydesk.tui.app import Console
from copydesk.tui.themes import LIGHT
from desk_fixtures import open_desk_at
from snapshots import Compare, press_keys
from sources_driver import add_three_sources, make_sources_console, sample_web


@pytest.fixture
def furnished_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return the console of a desk with three sources and two runs, whose stages took no time."""
    monkeypatch.setattr("copydesk.desk.pipeline.progress.monotonic", lambda: 0.0)

    async def furnish() -> None:
        async with open_desk_at(tmp_path, sample_web()) as desk:
            desk._context.jitter = lambda: 0.0  # type: ignore[method-assign]
            await add_three_sources(desk)

    asyncio.run(furnish())
    return make_sources_console(tmp_path, sample_web())


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_sources_and_runs(snap_compare: Compare, furnished_console: Console, theme: str) -> None:
    assert snap_compare(furnished_console, terminal_size=(120, 36), run_before=press_keys("3", "j", theme=theme))


def test_wide_terminal(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(180, 40), run_before=press_keys("3"))


@pytest.mark.parametrize("keys", [("j",), ("tab",), ("enter",)], ids=["sources", "runs", "detail"])
def test_narrow_terminal(snap_compare: Compare, furnished_console: Console, keys: tuple[str, ...]) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys("3", *keys))


def test_forty_columns(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(40, 24), run_before=press_keys("3"))


def test_no_sources(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        make_sources_console(tmp_path, sample_web()), terminal_size=(80, 24), run_before=press_keys("3")
    )


def test_desk_with_open_error(snap_compare: Compare) -> None:
    def fail() -> object:
        raise CopydeskError("The database is damaged.", hint="`copydesk doctor` says more.")

    assert snap_compare(Console(fail), terminal_size=(80, 24), run_before=press_keys("3"))  # type: ignore[arg-type]


def test_source_form(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys("3", "e"))


def test_source_test_fetch(snap_compare: Compare, furnished_console: Console) -> None:
    assert snap_compare(furnished_console, terminal_size=(80, 24), run_before=press_keys("3", "t"))
