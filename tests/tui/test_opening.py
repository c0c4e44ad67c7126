"""The desk is opened after the first paint, and closed when nobody asks it any more."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from copydesk.errors import CopydeskError, StoreBusyError, StoreDamagedError, StoreFullError, StoreNewerError
from copydesk.tui.app import Console
from tui_fixtures import NOW, FakeDesk, console, on_screen, screen_text, settled


async def test_the_screen_is_there_before_the_desk_is() -> None:
    desk = FakeDesk(3)
    let = asyncio.Event()

    @asynccontextmanager
    async def slowly():
        await let.wait()
        async with desk.open() as opened:
            yield opened

    app = console(desk)
    app._open_desk = slowly
    async with app.run_test(size=(120, 32)) as pilot:
        await pilot.pause()
        assert "Opening the desk" in screen_text(app)
        await pilot.press("j", "tab", "P", "full_stop", "o", "question_mark", "escape")
        let.set()
        await settled(pilot)
        assert "Queue · 3" in screen_text(app)


async def test_a_glance_shows_rows_before_the_desk_is_open() -> None:
    desk = FakeDesk(3)
    let = asyncio.Event()

    @asynccontextmanager
    async def slowly():
        await let.wait()
        async with desk.open() as opened:
            yield opened

    app = Console(slowly, glance=lambda: desk.drafts.all, clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        while "Quarrystone" not in screen_text(app):
            await pilot.pause(0)
        await pilot.press("j")
        assert "▌ N~ 89" in screen_text(app)
        assert "11 of 12 pass" in screen_text(app)
        assert not app._notifications
        let.set()
        await settled(pilot)
        assert "▌ N~ 89" in screen_text(app)
        assert "@quarrystonedb · X" in screen_text(app)


async def test_a_glance_that_sees_nothing_is_not_waited_for() -> None:
    app = Console(FakeDesk(3).open, glance=tuple, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        assert "Queue · 3" in screen_text(app)


async def test_what_opens_the_desk_may_import_for_long_and_is_called_away_from_the_keys() -> None:
    desk = FakeDesk(3)
    called = []

    def opening():
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        called.append(True)
        return desk.open()

    app = console(desk)
    app._open_desk = opening
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
    assert called


@pytest.mark.parametrize("error", [StoreBusyError, StoreFullError, StoreNewerError, StoreDamagedError])
async def test_a_desk_that_cannot_be_opened_says_why_and_the_screen_stays(error: type[CopydeskError]) -> None:
    desk = FakeDesk(3)
    desk.trouble = error(hint="Do this.")
    async with on_screen(desk, size=(160, 32)) as seen:
        assert "The desk could not be opened." in seen.text
        assert error().message[:40] in seen.text
        assert "Do this." in seen.text
        await seen.press("j", "P", "question_mark")
        assert seen.app.is_running


async def test_refresh_tries_again() -> None:
    desk = FakeDesk(3)
    desk.trouble = StoreBusyError()
    async with on_screen(desk) as seen:
        desk.trouble = None
        await seen.press("full_stop")
        assert "Queue · 3" in seen.text


async def test_an_unexpected_error_is_shown_too() -> None:
    app = console(FakeDesk(3))
    app._open_desk = lambda: 1 / 0
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        assert "did not expect this" in screen_text(app)


async def test_the_desk_is_closed_however_the_console_ends() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk):
        pass
    assert (desk.opened, desk.closed) == (1, 1)


async def test_the_desk_is_closed_only_when_the_last_question_is_answered() -> None:
    desk = FakeDesk(3)
    order: list[str] = []

    async def slow(*_: object, **__: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            order.append(f"asked, closed {desk.closed}")

    async with on_screen(desk) as seen:
        desk.drafts.window = slow
        await seen._pilot.press("full_stop")
        await seen._pilot.pause()
    assert order == ["asked, closed 0"]
    assert desk.closed == 1
