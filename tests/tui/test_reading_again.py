"""What the desk could not be read for is said in its place, and read again without being asked for."""

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
    """Keeps a desk from being read as long as it is closed."""

    def __init__(self) -> None:
        self.closed = True
        self.tried = 0
        self.answers = asyncio.Event()
        """Whether it says at once that it is closed."""
        self.answers.set()

    @asynccontextmanager
    async def desk(self, home: Path) -> AsyncIterator[Any]:
        async with furnished_desk(home) as desk:
            read = desk.ground.read

            async def behind_it(*given: Any, **named: Any) -> Any:
                self.tried += 1
                if self.closed:
                    await self.answers.wait()
                    raise StoreBusyError(hint="Is Copydesk open elsewhere?")
                return await read(*given, **named)

            desk.ground.read = behind_it  # type: ignore[method-assign, assignment]
            yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_a_screen_says_what_failed_and_is_read_again_by_itself(
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
        tried = lock.tried
        await until(pilot, lambda: lock.tried > tried + 3)
        assert sum("elsewhere" in told.text for told in app.log_of_toasts) == 1
        lock.closed = False
        await until(pilot, lambda: "could not be read" not in screen_text(app))
        await settled(pilot)
        assert isinstance(app.screen, DeskScreen)
        assert app.screen.has_read


@pytest.mark.parametrize("screen", SCREEN_NAMES)
async def test_a_screen_that_was_asked_twice_in_vain_is_read_again_by_itself(
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
        tried = lock.tried
        await until(pilot, lambda: lock.tried > tried + 3)


async def test_a_key_reads_again_at_once_and_what_stands_there_stays(tmp_path: Path) -> None:
    lock = Lock()
    lock.closed = False
    app = Console(lambda: lock.desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        before = screen_text(app)
        lock.closed = True
        await pilot.press("full_stop")
        await until(pilot, lambda: any("elsewhere" in told.text for told in app.log_of_toasts))
        assert "could not be read" not in screen_text(app)
        assert before.splitlines()[3] in screen_text(app)


@asynccontextmanager
async def refused() -> AsyncIterator[Any]:
    """A desk that cannot be opened."""
    raise StoreBusyError
    yield


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_a_screen_says_once_why_the_desk_is_not_open(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Textual calls the handlers of every class of a screen: one that calls those above itself does it twice."""
    said = []
    monkeypatch.setattr(DeskScreen, "trouble_note", lambda self, _: said.append(self.NAME) or ())
    app = Console(refused, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await until(pilot, lambda: bool(said))
        await app.switch_mode(name)
        await settled(pilot)
    assert said == ["Review", name.capitalize()]


@pytest.mark.parametrize("name", SCREEN_NAMES[1:])
async def test_a_screen_is_read_once_when_it_is_first_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    read, ask_for = [], DeskScreen.ask_for

    def counted(self: DeskScreen, work: Work, **how: Any) -> None:
        read.append(self.NAME)
        ask_for(self, work, **how)

    monkeypatch.setattr(DeskScreen, "ask_for", counted)
    app = Console(lambda: furnished_desk(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        await app.switch_mode(name)
        await settled(pilot)
    assert read == ["Review", name.capitalize()]
