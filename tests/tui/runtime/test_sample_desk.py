"""Tests for the console with the real sample desk in its own database."""

import asyncio
import gc
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, screen_text, wait_until_idle
from copydesk.cli.console import run_console
from copydesk.cli.context import Context
from copydesk.errors import StoreTooNewError
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import Settings, load
from copydesk.tui.app import Console

NOW = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)


def sample_console(home: Path) -> tuple[Settings, Console]:
    """Return the sample desk's settings and its console."""
    settings = sample_settings(load({}, home))
    return settings, Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW)


def start_console(home: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return the console of `copydesk --sample`, not running yet."""
    started: list[Console] = []

    def run(app: Console) -> None:
        started.append(app)

    monkeypatch.setattr(Console, "run", run)
    with pytest.raises(SystemExit):
        run_console(Context(home=home, sample=True, debug=False))
    # Otherwise it is enabled once the first rows are shown.
    gc.enable()
    return started[0]


async def test_first_start_says_that_desk_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start_console(tmp_path, monkeypatch)
    release = asyncio.Event()

    @asynccontextmanager
    async def open_slowly():
        await release.wait()
        async with FakeDesk(3).open() as opened:
            yield opened

    app._open_desk = open_slowly
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "Creating the sample desk (first time only)…" in screen_text(app)
        release.set()
        await wait_until_idle(pilot)
        assert "Queue · 3" in screen_text(app)
        assert app.opening_text == "Loading…"


async def test_later_start_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_sample(Context(home=tmp_path, sample=True, debug=False).settings(), with_history=True):
        pass
    assert start_console(tmp_path, monkeypatch).opening_text == "Loading…"


async def test_start_after_an_interrupted_creation_says_that_desk_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a first start does before it adds the history.
    async with open_sample(Context(home=tmp_path, sample=True, debug=False).settings()):
        pass
    assert start_console(tmp_path, monkeypatch).opening_text == "Creating the sample desk (first time only)…"


async def test_run_creates_drafts_on_screen(tmp_path: Path) -> None:
    _, app = sample_console(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        assert "Nothing to review" in ui.text
        await ui.press("P")
        assert "10 new drafts" in ui.text
        await ui.press("escape", "j")
        assert "Queue · 10" in ui.text
        assert "◉ you  Fake Social" in ui.text
        assert "https://" in ui.text


async def test_quitting_during_run_cancels_it(tmp_path: Path) -> None:
    settings, app = sample_console(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        app.simulate_key("P")
        while app.run_view is None or app.run_view.current is None:
            await pilot.pause(0)
        app.simulate_key("q")
    async with open_sample(settings, clock=lambda: NOW) as desk:
        (last,) = (await desk.pipeline.list()).items
        assert last.status == "cancelled"
        assert (await desk.pipeline.run()).status == "succeeded"


async def test_newer_database_is_refused(tmp_path: Path) -> None:
    settings, _ = sample_console(tmp_path)
    async with open_sample(settings, clock=lambda: NOW) as desk:
        newer = "update alembic_version set version_num = '9999'"
        await desk._context.database.write(lambda conn: conn.exec_driver_sql(newer).rowcount)
    _, app = sample_console(tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_until_idle(pilot)
        assert isinstance(app.open_error, StoreTooNewError)
        assert "newer version of Copydesk" in ConsoleDriver(app, pilot).text
