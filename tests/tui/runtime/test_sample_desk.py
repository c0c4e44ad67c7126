"""Tests for the console with the real sample desk in its own database."""

from datetime import UTC, datetime
from pathlib import Path

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.errors import StoreTooNewError
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import Settings, load
from copydesk.tui.app import Console

NOW = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)


def sample_console(home: Path) -> tuple[Settings, Console]:
    """Return the sample desk's settings and its console."""
    settings = sample_settings(load({}, home))
    return settings, Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW)


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
        assert "◉ you  fake" in ui.text
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
