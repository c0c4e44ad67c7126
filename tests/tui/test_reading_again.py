"""Tests for failed reads: the screen displays the error in place and retries by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from copydesk.errors import StoreBusyError
from copydesk.tui.app import Console
from copydesk.tui.asking import Work
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.screens import desk_screen
from copydesk.tui.screens.desk_screen import DeskScreen
from furnished_desk import furnished_desk
from tui_fixtures import NOW, screen_text, settled

DEADLINE = 60


async def until(pilot: Pilot[int], there: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not there():
            await pilot.pause()


class Lock:
    """Makes every read of a desk fail while `locked` is set."""

    def __init__(self) -> None:
        self.closed = True
        self.tried = 0
        self.answers = asyncio.Event()
        """Failing reads wait until this is set."""
        self.answers.set()

    @asynccontextmanager
    async def desk(self, home: Path) -> AsyncIterator[Any]:
        async with furnished_desk(home) as desk:
            read = desk.ground.read

            async def guarded_read(*args: Any, **kwargs: Any) -> Any:
                self.tried += 1
                if self.closed:
                    await self.answers.wait()
                    raise StoreBusyError(hint="Is Copydesk open elsewhere?")
                return await read(*args, **kwargs)

            desk.ground.read = guarded_read  # type: ignore[method-assign, assignment]
            yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_screen_displays_read_error_and_retries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    monkeypatch.setattr(desk_screen, "AGAIN", 0.02)
    monkeypatch.setattr(Console, "DEFAULT_MODE", screen)
    lock = Lock()
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await until(pilot, lambda: "could not be read" in screen_text(app))
        assert "Opening the desk" not in screen_text(app)
        assert "Is Copydesk open elsewhere?" in screen_text(app)
        assert ". tries again" in screen_text(app)
        attempts = lock.tried
        await until(pilot, lambda: lock.tried > attempts + 3)
        assert sum("elsewhere" in entry.text for entry in app.log_of_toasts) == 1
        lock.closed = False
        await until(pilot, lambda: "could not be read" not in screen_text(app))
        await settled(pilot)
        assert isinstance(app.screen, DeskScreen)
        assert app.screen.has_read


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_screen_retries_after_two_failed_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    monkeypatch.setattr(desk_screen, "AGAIN", 0.02)
    monkeypatch.setattr(Console, "DEFAULT_MODE", screen)
    lock = Lock()
    lock.closed = False
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        lock.closed = True
        lock.answers.clear()
        for _ in range(2):
            cast("DeskScreen", app.screen).read()
            await pilot.pause()
        lock.answers.set()
        attempts = lock.tried
        await until(pilot, lambda: lock.tried > attempts + 3)


async def test_refresh_key_retries_and_keeps_content(tmp_path: Path) -> None:
    lock = Lock()
    lock.closed = False
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        text_before = screen_text(app)
        lock.closed = True
        await pilot.press("full_stop")
        await until(pilot, lambda: any("elsewhere" in entry.text for entry in app.log_of_toasts))
        assert "could not be read" not in screen_text(app)
        assert text_before.splitlines()[3] in screen_text(app)


@asynccontextmanager
async def refused() -> AsyncIterator[Any]:
    """Fail to open the desk with StoreBusyError."""
    raise StoreBusyError
    yield


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_screen_reports_open_error_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Textual calls a handler in every class of a screen: one that also calls `super()` runs it twice."""
    names = []
    monkeypatch.setattr(DeskScreen, "trouble_note", lambda self, _: names.append(self.NAME) or ())
    app = Console(refused, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await until(pilot, lambda: bool(names))
        await app.switch_mode(name)
        await settled(pilot)
    assert names == ["Review", name.capitalize()]


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_screen_loads_once_when_first_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    reads, original = [], DeskScreen.ask_for

    def count_reads(self: DeskScreen, work: Work, **kwargs: Any) -> None:
        reads.append(self.NAME)
        original(self, work, **kwargs)

    monkeypatch.setattr(DeskScreen, "ask_for", count_reads)
    app = Console(lambda: furnished_desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        await app.switch_mode(name)
        await settled(pilot)
    assert reads == ["Review", name.capitalize()]
