"""Tests for failed reads: the screen displays the error in place and retries by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from console_driver import NOW, screen_text, wait_until_idle
from copydesk.errors import StoreBusyError
from copydesk.tui import desk_app, desk_screen
from copydesk.tui.app import Console
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.runtime.desk_tasks import DeskWork
from populated_desk import open_populated_desk

DEADLINE = 60


async def wait_until(pilot: Pilot[int], is_ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not is_ready():
            await pilot.pause()


class ReadLock:
    """Makes every read of a desk fail while `locked` is set."""

    def __init__(self) -> None:
        self.locked = True
        self.attempts = 0
        self.release = asyncio.Event()
        """Failing reads wait until this is set."""
        self.release.set()

    @asynccontextmanager
    async def desk(self, home: Path) -> AsyncIterator[Any]:
        async with open_populated_desk(home) as desk:
            read = desk._context.read

            async def guarded_read(*args: Any, **kwargs: Any) -> Any:
                self.attempts += 1
                if self.locked:
                    await self.release.wait()
                    raise StoreBusyError(hint="Is Copydesk open elsewhere?")
                return await read(*args, **kwargs)

            desk._context.read = guarded_read  # type: ignore[method-assign, assignment]
            yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_screen_displays_read_error_and_retries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    monkeypatch.setattr(desk_screen, "RETRY_DELAY", 0.02)
    monkeypatch.setattr(Console, "DEFAULT_MODE", screen)
    lock = ReadLock()
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until(pilot, lambda: "Could not load" in screen_text(app))
        assert "Loading…" not in screen_text(app)
        assert "Is Copydesk open elsewhere?" in screen_text(app)
        assert ". retry" in screen_text(app)
        attempts = lock.attempts
        await wait_until(pilot, lambda: lock.attempts > attempts + 3)
        assert sum("elsewhere" in entry.text for entry in app.notification_log) == 1
        lock.locked = False
        await wait_until(pilot, lambda: "Could not load" not in screen_text(app))
        await wait_until_idle(pilot)
        assert isinstance(app.screen, DeskScreen)
        assert app.screen.is_loaded


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_screen_retries_after_two_failed_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    monkeypatch.setattr(desk_screen, "RETRY_DELAY", 0.02)
    monkeypatch.setattr(Console, "DEFAULT_MODE", screen)
    lock = ReadLock()
    lock.locked = False
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        lock.locked = True
        lock.release.clear()
        for _ in range(2):
            cast("DeskScreen", app.screen).refresh_data()
            await pilot.pause()
        lock.release.set()
        attempts = lock.attempts
        await wait_until(pilot, lambda: lock.attempts > attempts + 3)


async def test_refresh_key_retries_and_keeps_content(tmp_path: Path) -> None:
    lock = ReadLock()
    lock.locked = False
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        text_before = screen_text(app)
        lock.locked = True
        await pilot.press("full_stop")
        await wait_until(pilot, lambda: any("elsewhere" in entry.text for entry in app.notification_log))
        assert "Could not load" not in screen_text(app)
        assert text_before.splitlines()[3] in screen_text(app)


@asynccontextmanager
async def unopenable_desk() -> AsyncIterator[Any]:
    """Fail to open the desk with StoreBusyError."""
    raise StoreBusyError
    yield


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_screen_reports_open_error_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Textual calls a handler in every class of a screen: one that also calls `super()` runs it twice."""
    names = []
    monkeypatch.setattr(DeskScreen, "error_note", lambda self, _: names.append(self.NAME) or ())
    app = Console(unopenable_desk, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until(pilot, lambda: bool(names))
        await app.switch_mode(name)
        await wait_until_idle(pilot)
    assert names == ["Review", name.capitalize()]


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_screen_loads_once_when_first_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    reads, original = [], DeskScreen.load_with_retry

    def count_reads(self: DeskScreen, work: DeskWork, **kwargs: Any) -> None:
        reads.append(self.NAME)
        original(self, work, **kwargs)

    monkeypatch.setattr(DeskScreen, "load_with_retry", count_reads)
    # A change that is noticed meanwhile would load the screen again.
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 600.0)
    app = Console(lambda: open_populated_desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        await app.switch_mode(name)
        await wait_until_idle(pilot)
    assert reads == ["Review", name.capitalize()]
