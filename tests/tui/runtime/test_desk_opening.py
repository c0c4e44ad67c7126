"""Tests for opening the desk after the first paint, and closing it after the last task."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console_driver import NOW, FakeDesk, make_console, open_console, pass_round, screen_text, wait_until_idle
from copydesk.errors import CopydeskError, StoreBusyError, StoreCorruptError, StoreFullError, StoreTooNewError
from copydesk.switch_interval import SWITCH_INTERVAL
from copydesk.tui.app import Console
from delayed_responses import wait_until
from desk_fixtures import execute_sql, open_desk_at
from review_driver import open_review


async def test_screen_appears_before_desk_is_open() -> None:
    desk = FakeDesk(3)
    release = asyncio.Event()

    @asynccontextmanager
    async def open_slowly():
        await release.wait()
        async with desk.open() as opened:
            yield opened

    app = make_console(desk)
    app._open_desk = open_slowly
    async with app.run_test(size=(120, 32)) as pilot:
        await pilot.pause()
        assert "Loading…" in screen_text(app)
        await pilot.press("j", "tab", "P", "full_stop", "o", "question_mark", "escape")
        release.set()
        await wait_until_idle(pilot)
        assert "Queue · 3" in screen_text(app)


async def test_first_page_appears_before_desk_is_open() -> None:
    desk = FakeDesk(3)
    release = asyncio.Event()

    @asynccontextmanager
    async def open_slowly():
        await release.wait()
        async with desk.open() as opened:
            yield opened

    app = Console(open_slowly, load_first_page=lambda: desk.drafts.all, clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        while "Quarrystone" not in screen_text(app):
            await pilot.pause(0)
        await pilot.press("j")
        assert "▌  ~ Quarrystone" in screen_text(app)
        assert "11 of 12 passed" in screen_text(app)
        assert not app._notifications
        release.set()
        await wait_until_idle(pilot)
        assert "▌  ~ Quarrystone" in screen_text(app)
        assert "@quarrystonedb · X" in screen_text(app)


async def test_empty_first_page_is_not_waited_for() -> None:
    app = Console(FakeDesk(3).open, load_first_page=tuple, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert "Queue · 3" in screen_text(app)


async def test_first_frames_do_not_wait_for_loading_threads() -> None:
    intervals = []
    app = Console(
        FakeDesk(3).open, load_first_page=lambda: intervals.append(sys.getswitchinterval()), clock=lambda: NOW
    )
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
    assert intervals == [pytest.approx(SWITCH_INTERVAL)]


async def test_desk_opener_runs_outside_event_loop() -> None:
    """The opener imports much, which would block the keys."""
    desk = FakeDesk(3)
    calls = []

    def open_desk():
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        calls.append(True)
        return desk.open()

    app = make_console(desk)
    app._open_desk = open_desk
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
    assert calls


@pytest.mark.parametrize("error", [StoreBusyError, StoreFullError, StoreTooNewError, StoreCorruptError])
async def test_open_error_is_displayed(error: type[CopydeskError]) -> None:
    desk = FakeDesk(3)
    desk.open_error = error(hint="Do this.")
    async with open_console(desk, size=(160, 32)) as ui:
        assert "Could not open the desk." in ui.text
        assert error().message[:40] in ui.text
        assert "Do this." in ui.text
        await ui.press("j", "P", "question_mark")
        assert ui.app.is_running


async def test_refresh_retries_opening() -> None:
    desk = FakeDesk(3)
    desk.open_error = StoreBusyError()
    async with open_console(desk) as ui:
        desk.open_error = None
        await ui.press("full_stop")
        assert "Queue · 3" in ui.text


async def test_refresh_loads_again_after_the_desk_was_lost() -> None:
    app, lost = make_console(FakeDesk(3)), asyncio.Event()
    run_jobs = app._run_jobs

    async def lose_desk(desk: Any) -> None:
        app._run_jobs = run_jobs  # type: ignore[method-assign]
        await lost.wait()
        raise StoreBusyError("The database is busy.")

    app._run_jobs = lose_desk  # type: ignore[method-assign]
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert "Queue · 3" in screen_text(app)
        lost.set()
        await wait_until_idle(pilot)
        assert "The database is busy." in screen_text(app)
        await pilot.press("full_stop")
        await wait_until_idle(pilot)
        assert "Queue · 3" in screen_text(app)
        assert "Loading…" not in screen_text(app)


async def test_unexpected_open_error_is_displayed() -> None:
    app = make_console(FakeDesk(3))
    app._open_desk = lambda: 1 / 0
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert "Unexpected error: " in screen_text(app)


async def test_desk_closes_when_console_exits() -> None:
    desk = FakeDesk(3)
    async with open_console(desk):
        pass
    assert (desk.open_count, desk.close_count) == (1, 1)


async def test_desk_closes_after_last_task() -> None:
    desk = FakeDesk(3)
    order: list[str] = []

    async def hang(*_: object, **__: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            order.append(f"asked, closed {desk.close_count}")

    async with open_console(desk) as ui:
        desk.drafts.views.window = hang
        await ui.pilot.press("full_stop")
        await ui.pilot.pause()
    assert order == ["asked, closed 0"]
    assert desk.close_count == 1


async def test_desk_closes_after_last_task_if_the_console_exits_while_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk(3)
    monkeypatch.setattr(desk.drafts, "interrupted_bulks", asyncio.Event().wait)
    closed: list[int] = []

    async def write(_: object) -> None:
        await asyncio.sleep(0.01)
        closed.append(desk.close_count)

    app = make_console(desk)
    async with app.run_test():
        await wait_until(lambda: app.desk is not None, lambda: pass_round(app))
        app.enqueue_write(write)
    assert closed == [0]
    assert desk.close_count == 1


async def test_console_opens_with_unknown_time_zone(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"text": "Kept."})
    execute_sql(tmp_path, "UPDATE \"user\" SET time_zone = 'Mars/Base'")
    async with open_review(tmp_path) as ui:
        assert "Kept." in ui.text
        assert ui.app.local_now().tzname() == "UTC"
